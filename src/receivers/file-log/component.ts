import { stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type CutterSettings, createCutter, encodeAttributes, textEncoding } from "#logs/entries";
import { pause } from "#resilience";
import { compilePattern } from "#text/patterns";
import { defineReceiver, limitedLog, type Receiver, type ReceiverContext, SIGNALS, StartError } from "../../plugin.js";
import { BatchSender } from "./batch-sender.js";
import { type FileLogConfig, fileLogSchema, type OtlpJsonFileConfig, otlpJsonFileSchema } from "./config.js";
import { FileAttributes } from "./file-attributes.js";
import { FileHeader } from "./file-header.js";
import { FileReader, type RecordOutput } from "./file-reader.js";
import { FileTable, type FoundFile } from "./file-table.js";
import { FileFinder, pathMatcher } from "./find-files.js";
import { followsLinksByDefault, LinkGuard } from "./link-guard.js";
import { type FileMark, OffsetStore } from "./offset-store.js";
import { OperatorOutput } from "./operator-output.js";
import { chooseFiles } from "./ordering.js";
import { OtlpJsonOutput } from "./otlp-json-output.js";
import { PlainOutput } from "./plain-output.js";
import { inodeKey, START, TrackedFile } from "./tracked-file.js";

/**
 * Reads lines of files as log records. The offset of each file is kept on disk and advances only once every exporter in
 * the pipeline has the records, so after a crash unfinished records are read again and none are skipped.
 */
export const fileLogReceiver = defineReceiver<FileLogConfig>({
  type: "file_log",
  aliases: ["filelog"],
  summary: "Reads files as they grow and rotate, one record per line, and remembers how far their records are safe.",
  signals: ["logs"],
  workers: "one",
  schema: fileLogSchema,
  create: (config, context) =>
    new FileLogReceiver(config, context, () =>
      needsEntries(config) ? new OperatorOutput(config, context) : new PlainOutput(config),
    ),
});

/** Reads lines of files as requests of OTLP/JSON, in the same way. */
export const otlpJsonFileReceiver = defineReceiver<OtlpJsonFileConfig>({
  type: "otlp_json_file",
  aliases: ["otlpjsonfile"],
  summary: "Reads files with a request of OTLP/JSON on every line, as the exporter file writes them.",
  signals: SIGNALS,
  workers: "one",
  schema: otlpJsonFileSchema,
  create: (config, context) =>
    new FileLogReceiver({ ...config, ...NO_ENTRIES }, context, (sender) => new OtlpJsonOutput(sender, context)),
});

/** Keys of log entries, which `otlp_json_file` does not have. */
const NO_ENTRIES = {
  operators: [],
  attributes: {},
  resource: {},
  include_file_record_number: false,
  include_file_record_offset: false,
};

type CreateOutput = (sender: BatchSender) => RecordOutput;

class FileLogReceiver implements Receiver {
  private readonly config: FileLogConfig;
  private readonly context: ReceiverContext;
  private readonly store: OffsetStore;
  private readonly table: FileTable;
  private readonly finder: FileFinder;
  private readonly attributes: FileAttributes;
  private readonly sender: BatchSender;
  private readonly output: RecordOutput;
  private readonly reader: FileReader;
  private readonly logProblem: (event: { readonly path: string; readonly reason: string }) => void;
  private readonly logTruncated: (event: { readonly path: string; readonly action: string }) => void;
  private isWatchedBefore: (path: string) => boolean = () => false;
  private isFirstLook = true;
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private removeGauge = () => {};

  constructor(config: FileLogConfig, context: ReceiverContext, createOutput: CreateOutput) {
    this.config = config;
    this.context = context;
    const { clock, logger } = context;
    this.logProblem = limitedLog(clock, ({ path, reason }, suppressed) =>
      logger.warn({ path, reason, suppressed }, "cannot be read; it will be retried"),
    );
    this.logTruncated = limitedLog(clock, ({ path, action }, suppressed) =>
      logger.warn(
        { path, on_truncate: action, suppressed },
        "a file was truncated: it is shorter than before and has the same first bytes",
      ),
    );
    const onProblem = (path: string, error: unknown) =>
      this.logProblem({ path, reason: error instanceof Error ? error.message : String(error) });
    const now = () => clock.monotonic();
    this.store = new OffsetStore(join(config.offsets_directory, storeName(context.id)), context);
    this.table = new FileTable(
      {
        fingerprintSize: config.fingerprint_size,
        maxOpenFiles: config.max_concurrent_files,
        compression: config.compression,
        onTruncate: config.on_truncate,
      },
      {
        store: this.store,
        now,
        onProblem,
        onTruncated: ({ path }, action) => this.logTruncated({ path, action }),
        checkOpened: openedFileCheck(config),
      },
    );
    this.finder = new FileFinder(config.include, config.exclude, onProblem);
    this.attributes = new FileAttributes(config);
    this.sender = new BatchSender(context, this.store);
    this.output = createOutput(this.sender);
    const { table, sender, output } = this;
    const cutter = createCutter(cutterSettings(config));
    const header = config.header && new FileHeader(config.header, textEncoding(config.encoding)!, context);
    const describe = (file: TrackedFile) => this.describe(file);
    const services = { table, sender, output, cutter, header, describe, context, onProblem };
    this.reader = new FileReader(config.force_flush_period, services);
  }

  async start(): Promise<void> {
    await this.loadOffsets();
    this.removeGauge = this.context.metrics.gauge(
      "otelcol_fileconsumer_open_files",
      { description: "Number of files that are held open.", unit: "1" },
      () => this.table.openFiles.count,
      { receiver: this.context.id },
    );
    // Find the files first: everything written from now on is read, even in files where reading starts at the end.
    const files = await this.look();
    this.running = this.run(files);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.reader.isStopping = true;
    const stopped = this.sender.stop(); // the reading loop may be waiting for room
    await this.running;
    await stopped;
    await this.store.close();
    await this.table.openFiles.closeAll();
    this.removeGauge();
  }

  private async loadOffsets(): Promise<void> {
    const { include, exclude, offsets_directory: directory } = this.config;
    const excluded = exclude.map((pattern) => `!${pattern}`);
    try {
      const { files, patterns, isDamaged } = await this.store.load();
      const isSameExclude = String(patterns.filter((each) => each.startsWith("!"))) === String(excluded);
      const known = isSameExclude ? patterns.filter((each) => !each.startsWith("!")) : [];
      this.isWatchedBefore = isDamaged ? () => true : pathMatcher(known);
      for (const file of files) {
        const tracked = new TrackedFile(file);
        tracked.seenAt = this.context.clock.monotonic();
        this.table.add(tracked);
      }
      await this.store.begin([...include, ...excluded]);
    } catch (error) {
      const { message } = error as Error;
      throw new StartError(`offsets cannot be kept in ${directory}: ${message}`, ["offsets_directory"], {
        cause: error,
      });
    }
  }

  private async run(first: readonly TrackedFile[]): Promise<void> {
    let files = first;
    let lookMs = 0;
    while (!this.stopping.signal.aborted) {
      let hasMore = false;
      try {
        hasMore = await this.readAll(files);
        this.output.flushOld(this.sender, this.context.clock.now());
        await this.output.send(this.sender);
        if (this.config.delete_after_read) await this.deleteFinished(files);
        this.store.wake();
        await this.table.forgetOld(FORGET_AFTER_MS, MAX_GONE_FILES);
      } catch (error) {
        this.logProblem({ path: this.config.include.join(", "), reason: (error as Error).message });
      }
      // Pause long enough that checking thousands of files does not take all of the agent's time.
      const pauseMs = Math.max(this.config.poll_interval, Math.min(MAX_PAUSE_MS, lookMs * 9));
      if (!hasMore) await pause(pauseMs, this.context.clock, this.stopping.signal);
      if (this.stopping.signal.aborted) return;
      const started = this.context.clock.monotonic();
      files = await this.look().catch((error: Error) => {
        this.logProblem({ path: this.config.include.join(", "), reason: error.message });
        return [];
      });
      lookMs = this.context.clock.monotonic() - started;
    }
  }

  private async look(): Promise<TrackedFile[]> {
    const paths = await this.finder.find();
    const found: FoundFile[] = [];
    for (let i = 0; i < paths.length; i += STATS_AT_ONCE) {
      const some = paths.slice(i, i + STATS_AT_ONCE);
      const stats = await Promise.all(some.map((path) => stat(path).catch(() => undefined)));
      for (const [index, each] of stats.entries()) {
        if (each?.isFile()) found.push({ path: some[index]!, stats: each });
      }
    }
    const files = await this.table.look(this.choose(found), (each) => this.startOf(each));
    this.isFirstLook = false;
    return files;
  }

  private choose(found: readonly FoundFile[]): readonly FoundFile[] {
    const { exclude_older_than: maxAge, ordering_criteria: order } = this.config;
    const oldest = this.context.clock.now() - maxAge;
    const young = maxAge === 0 ? found : found.filter(({ stats }) => stats.mtimeMs >= oldest);
    return order === undefined ? young : chooseFiles(young, order);
  }

  private startOf({ path, stats }: FoundFile): FileMark {
    const isOld = this.isFirstLook && this.config.start_at === "end" && !this.isWatchedBefore(path);
    return isOld ? { ...START, offset: stats.size } : START;
  }

  private async readAll(files: readonly TrackedFile[]): Promise<boolean> {
    let hasMore = false;
    for (const file of files) {
      if (this.stopping.signal.aborted) return false;
      try {
        await this.describe(file);
        if (await this.reader.read(file)) hasMore = true;
      } catch (error) {
        this.logProblem({ path: file.path, reason: (error as Error).message });
        await this.table.openFiles.close(file);
      }
    }
    return hasMore;
  }

  private async describe(file: TrackedFile): Promise<void> {
    if (file.attributesPath === file.path && file.describedHeader === file.header) return;
    file.attributeValues = { ...(await this.attributes.values(file.path)), ...file.header };
    file.describedHeader = file.header;
    file.attributes = encodeAttributes(file.attributeValues);
    file.attributesPath = file.path;
  }

  /** A file that was written to since the last look is read first. */
  private async deleteFinished(files: readonly TrackedFile[]): Promise<void> {
    for (const file of files) {
      if (!file.isFinished) continue;
      try {
        const { size, mtimeMs, dev, ino } = await stat(file.path);
        if (size !== file.size || mtimeMs !== file.mtimeMs || inodeKey({ dev, ino }) !== file.key) continue;
        await this.table.openFiles.close(file);
        await unlink(file.path);
      } catch (error) {
        this.logProblem({ path: file.path, reason: `it cannot be deleted: ${(error as Error).message}` });
      }
    }
  }
}

const STATS_AT_ONCE = 64;
const MAX_PAUSE_MS = 5000;
const FORGET_AFTER_MS = 24 * 60 * 60 * 1000;
const MAX_GONE_FILES = 10_000;

function openedFileCheck({ include, follow_symlinks, symlink_roots }: FileLogConfig): LinkGuard["check"] {
  if (follow_symlinks ?? followsLinksByDefault()) return async () => {};
  const guard = new LinkGuard(include, symlink_roots);
  return (path, handle) => guard.check(path, handle);
}

function cutterSettings(config: FileLogConfig): CutterSettings {
  const { multiline } = config;
  const source = multiline?.line_start_pattern || multiline?.line_end_pattern;
  return {
    encoding: textEncoding(config.encoding)!,
    maxLogSize: config.max_log_size,
    truncates: config.max_log_size_behavior === "truncate",
    trimsLeading: !config.preserve_leading_whitespaces,
    trimsTrailing: !config.preserve_trailing_whitespaces,
    ...(source && {
      multiline: {
        pattern: compilePattern(`(?m)${source}`),
        isStart: multiline?.line_start_pattern !== "",
        omitsPattern: multiline!.omit_pattern,
      },
    }),
  };
}

/** Without operators and expressions, records can be written from their bytes without making log entries. */
function needsEntries({ operators, attributes, resource }: FileLogConfig): boolean {
  const texts = [...Object.values(attributes), ...Object.values(resource)];
  return operators.length > 0 || texts.some((text) => text.includes("EXPR("));
}

/** The name of the file for this receiver's offsets. Both spellings of a receiver's type give the same name. */
function storeName(id: string): string {
  const safe = id
    .replace(/^filelog(?=\/|$)/, "file_log")
    .replace(/^otlpjsonfile(?=\/|$)/, "otlp_json_file")
    .replace(/[^\w.-]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return `${safe}.offsets`;
}
