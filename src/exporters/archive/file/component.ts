import type { FileHandle } from "node:fs/promises";
import { resolve } from "node:path";
import { ERROR_CODES } from "#contract/errors";
import { SliceTimer } from "#work";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  type Logger,
  Refusal,
  SIGNALS,
  StartError,
} from "../../../plugin.js";
import { AppendFile } from "./append-file.js";
import { createBackups } from "./backups.js";
import { type FileConfig, fileSchema, maxBytesOf } from "./config.js";
import { type Framing, jsonLines, lengthPrefixed } from "./framing.js";
import { PartitionedFiles, refusalOfWrite } from "./partitioned-files.js";

/**
 * Appends batches to a file, as lines of OTLP/JSON or as length-prefixed protobuf. A batch is acknowledged when it is
 * in the file.
 */
export const fileExporter = defineExporter<FileConfig>({
  type: "file",
  summary: "Appends batches to a file as lines of OTLP/JSON (or length-prefixed protobuf), or writes files by time.",
  signals: SIGNALS,
  // The file is as durable as a queue in front of it would be. Without a queue, the sender waits for the write and
  // learns at once when the disk is full.
  defaults: { sending_queue: { enabled: false } },
  workers: "one",
  schema: fileSchema,
  create: (config, context) =>
    config.partition === undefined
      ? new FileExporter(config, context)
      : new PartitionedFiles(config, config.partition, context),
});

interface PendingWrite {
  readonly batch: Batch;
  /** The batch as it is written. Undefined until it is its turn. */
  frame: Buffer | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Two writers of the same file would cut off each other's lines. */
const pathsInUse = new Set<string>();

/** While a write is under way, further sends are collected for the next one. */
export class FileExporter implements Exporter {
  private readonly config: FileConfig;
  private readonly path: string;
  private readonly file: AppendFile;
  private readonly framing: Framing;
  private readonly logger: Logger;
  /** True once the file has been opened and prepared since the start. */
  private wasOpened = false;
  private pending: PendingWrite[] = [];
  private writing: Promise<void> | undefined;

  constructor(config: FileConfig, context: ExporterContext, open?: (path: string) => Promise<FileHandle>) {
    this.config = config;
    this.path = resolve(config.path);
    this.framing = config.format === "proto" ? lengthPrefixed : jsonLines;
    this.logger = context.logger;
    const now = () => context.clock.now();
    this.file = new AppendFile({
      path: this.path,
      framing: this.framing,
      maxBytes: maxBytesOf(config),
      backups: createBackups(this.path, backupLimits(config), now),
      fsync: config.fsync,
      directoryMode: createsDirectory(config) ? Number.parseInt(config.directory_permissions, 8) : undefined,
      fileMode: Number.parseInt(config.file_permissions, 8),
      logger: context.logger,
      now,
      ...(open && { open }),
    });
  }

  async start(): Promise<void> {
    if (pathsInUse.has(this.path)) throw new StartError(`another file exporter writes to ${this.path}`, ["path"]);
    await this.begin().catch((error: NodeJS.ErrnoException) => this.reportNoFile(error));
    pathsInUse.add(this.path);
  }

  send(batch: Batch, abort: AbortSignal): Promise<undefined> {
    return new Promise((resolve, reject) => {
      const onAbort = () => this.cancelWrite(write);
      const settle = (outcome: () => void) => {
        abort.removeEventListener("abort", onAbort);
        outcome();
      };
      const write: PendingWrite = {
        batch,
        frame: undefined,
        resolve: () => settle(() => resolve(undefined)),
        reject: (error) => settle(() => reject(error)),
      };
      if (abort.aborted) return onAbort();
      abort.addEventListener("abort", onAbort);
      this.pending.push(write);
      this.writing ??= this.writePending();
    });
  }

  async stop(): Promise<void> {
    await this.writing;
    await this.file.close();
    pathsInUse.delete(this.path);
  }

  private async begin(): Promise<void> {
    if (this.wasOpened) return;
    try {
      await this.file.open();
      if (!this.config.append) await this.file.rotate();
      this.wasOpened = true;
    } catch (error) {
      await this.file.close().catch(() => {});
      throw error;
    }
  }

  /**
   * A folder that is missing or not mounted yet is treated like a server that does not answer: batches are refused
   * until it exists.
   */
  private reportNoFile(error: NodeJS.ErrnoException): void {
    const message = `cannot write to ${this.path}: ${error.message}`;
    if (!isFolderMissing(error)) throw new StartError(message, ["path"], { cause: error });
    this.logger.warn({ path: this.path }, `${message}; batches are refused until the folder exists`);
  }

  private async writePending(): Promise<void> {
    while (this.pending.length > 0) {
      let writes = this.pending;
      this.pending = [];
      try {
        await this.begin();
        const frames = await this.framesOf(writes);
        const count = await this.file.countThatFits(frames);
        this.pending = [...writes.slice(count), ...this.pending];
        writes = writes.slice(0, count);
        await this.file.write(frames.slice(0, count));
        for (const entry of writes) entry.resolve();
      } catch (error) {
        this.refuse(writes, error);
      }
    }
    this.writing = undefined;
  }

  /** Encodes what was not encoded yet, in the order of the sends and in turns: many may have come during a write. */
  private async framesOf(writes: readonly PendingWrite[]): Promise<Buffer[]> {
    const timer = new SliceTimer();
    const frames: Buffer[] = [];
    for (const write of writes) {
      if (write.frame === undefined && timer.isOver) await timer.nextSlice();
      write.frame ??= await this.framing.encode(write.batch);
      frames.push(write.frame);
    }
    return frames;
  }

  private refuse(writes: readonly PendingWrite[], error: unknown): void {
    const refusal = refusalOfWrite(this.path, error);
    for (const entry of writes) entry.reject(refusal);
  }

  /** Cancels a write that has not started yet. If it has started, its outcome is ignored. */
  private cancelWrite(write: PendingWrite): void {
    const index = this.pending.indexOf(write);
    if (index >= 0) this.pending.splice(index, 1);
    write.reject(new Refusal("transient", `gave up writing to ${this.path}`, { code: ERROR_CODES.SLUICE_ABORTED }));
  }
}

/** Also true if the folder could not be created for lack of permission. */
function isFolderMissing({ code, syscall }: NodeJS.ErrnoException): boolean {
  return code === "ENOENT" || (syscall === "mkdir" && /^(EACCES|EPERM|EROFS)$/.test(code ?? ""));
}

/** With rotation, the Collector creates the folder without being asked to. */
function createsDirectory({ create_directory, rotation }: FileConfig): boolean {
  return create_directory || rotation !== undefined;
}

function backupLimits({ rotation }: FileConfig) {
  return {
    maxBackups: rotation?.max_backups ?? 0,
    maxDays: rotation?.max_days ?? 0,
    localTime: rotation?.localtime ?? false,
  };
}
