import { open, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { ERROR_CODES } from "#contract/errors";
import { type Batch, type Exporter, type ExporterContext, Refusal, type SendOptions } from "../../../plugin.js";
import { ObjectBody } from "../object-body.js";
import { ObjectNames } from "../object-names.js";
import { createDirectories, createDirectoriesIn, syncDirectory, writeAll } from "./append-file.js";
import type { FileConfig } from "./config.js";

/**
 * Writes each batch as a file of its own, laid out as objects in S3 are. A file is written under a hidden name and then
 * renamed, so that readers never see a part of it. The same records again have the same name.
 */
export class PartitionedFiles implements Exporter {
  readonly sealsEntries = true;
  private readonly config: FileConfig;
  private readonly context: ExporterContext;
  private readonly folder: string;
  private readonly body: ObjectBody;
  private readonly names: ObjectNames;

  constructor(config: FileConfig, partition: NonNullable<FileConfig["partition"]>, context: ExporterContext) {
    this.config = config;
    this.context = context;
    this.folder = resolve(config.path);
    this.body = new ObjectBody(config.format === "proto" ? "otlp_proto" : "otlp_json", partition.compression);
    this.names = new ObjectNames({
      basePrefix: "",
      prefix: "",
      partitionFormat: partition.format,
      timezone: partition.timezone,
      filePrefix: partition.file_prefix,
      extension: this.body.extension,
      uniqueKey: "hash",
    });
  }

  /** A folder that is missing or not mounted yet is treated like a server that does not answer. */
  async start(): Promise<void> {
    if (this.config.create_directory || (await stat(this.folder).catch(() => undefined)) !== undefined) return;
    const message = `the folder ${this.folder} does not exist; batches are refused until it does`;
    this.context.logger.warn({ path: this.folder }, message);
  }

  async send(batch: Batch, _abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const { clock, random } = this.context;
    const key = options?.idempotencyKey ?? `${clock.now()} ${random()}`;
    const at = options?.delivery?.firstSeenAt ?? clock.now();
    const path = join(this.folder, this.names.nameOf({ signal: batch.signal, key, at }));
    const body = await this.body.encode(batch);
    await this.write(path, body).catch((error: unknown) => {
      throw refusalOfWrite(path, error);
    });
  }

  private async write(path: string, body: Uint8Array): Promise<void> {
    const { fsync, create_directory: createsFolder, directory_permissions: permissions } = this.config;
    const directory = dirname(path);
    const mode = Number.parseInt(permissions, 8);
    if (createsFolder) await createDirectories(directory, mode, fsync);
    else await createDirectoriesIn(this.folder, directory, mode, fsync);
    const hidden = join(directory, `.${basename(path)}.part`);
    try {
      await this.writeHidden(hidden, body);
      await rename(hidden, path);
    } catch (error) {
      // Without a queue the next attempt has another name. Parts must not stay behind and fill the disk.
      await unlink(hidden).catch(() => {});
      throw error;
    }
    if (fsync) await syncDirectory(directory);
  }

  private async writeHidden(path: string, body: Uint8Array): Promise<void> {
    const { fsync, file_permissions: fileMode } = this.config;
    const file = await open(path, "w", Number.parseInt(fileMode, 8));
    try {
      await writeAll(file, body);
      if (fsync) await file.datasync();
    } finally {
      await file.close();
    }
  }
}

/** The refusal for a file that could not be written. The disk may have room again later. */
export function refusalOfWrite(path: string, error: unknown): Refusal {
  const { code, message } = error as NodeJS.ErrnoException;
  return new Refusal("transient", `cannot write to ${path}: ${message}`, {
    code: ERROR_CODES.SLUICE_FILE_WRITE,
    ...(code !== undefined && { status: code }),
    cause: error,
  });
}
