import type { WriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { PRIVATE_FILE_MODE } from "#system";
import { type Paint, painterFor } from "#text";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  SIGNALS,
  type Signal,
  StartError,
} from "../../plugin.js";
import { basicLine } from "./basic.js";
import { type DebugConfig, debugSchema, verbosityOf } from "./config.js";
import { detailedLines } from "./detailed.js";
import { normalLines } from "./normal.js";
import { Printer } from "./printer.js";

/** Prints telemetry for people, on stdout. */
export const debugExporter = defineExporter<DebugConfig>({
  type: "debug",
  aliases: ["logging"],
  summary: "Prints telemetry for people: one line per batch, one line per record, or every field.",
  signals: SIGNALS,
  // A person who watches wants each record at once and only once. A slow terminal slows the sender down instead of
  // timing out.
  defaults: { timeout: "0s", sending_queue: { enabled: false } },
  schema: debugSchema,
  create: (config, context) => new DebugExporter(config, context, config.output_paths.map(outputOf)),
});

/** Returns a stream of the process, or the path of a file that is opened at the start. */
function outputOf(path: string): NodeJS.WritableStream | string {
  if (path === "stdout" || path === "stderr") return process[path];
  return path.startsWith("file://") ? fileURLToPath(path) : path;
}

/** Prints one batch at a time, as a whole. `send` resolves when the stream has accepted all of it. */
export class DebugExporter implements Exporter {
  private readonly config: DebugConfig;
  private readonly context: ExporterContext;
  private readonly paths: readonly string[];
  private readonly files: WriteStream[] = [];
  private readonly outputs: { readonly printer: Printer; readonly paint: Paint }[] = [];
  private readonly samplers = new Map<Signal, BatchSampler>();

  /** `targets` are streams to print to, and paths of files to append to. */
  constructor(config: DebugConfig, context: ExporterContext, targets: readonly (NodeJS.WritableStream | string)[]) {
    this.config = config;
    this.context = context;
    this.paths = targets.filter((target) => typeof target === "string");
    for (const target of targets) if (typeof target !== "string") this.addOutput(target);
  }

  async start(): Promise<void> {
    for (const path of this.paths) this.addOutput(await this.openFile(path));
  }

  async stop(): Promise<void> {
    await Promise.all(this.files.map((file) => new Promise((resolve) => file.end(resolve))));
  }

  private addOutput(stream: NodeJS.WritableStream): void {
    this.outputs.push({ printer: new Printer(stream), paint: painterFor(stream) });
  }

  private async openFile(path: string): Promise<WriteStream> {
    try {
      const file = (await open(path, "a", PRIVATE_FILE_MODE)).createWriteStream();
      this.files.push(file);
      return file;
    } catch (error) {
      throw new StartError(`cannot write to ${path}: ${(error as Error).message}`, ["output_paths"], { cause: error });
    }
  }

  async send(batch: Batch, abort: AbortSignal): Promise<undefined> {
    const skipped = this.samplerOf(batch.signal).next();
    if (skipped === undefined) return;
    const printed = this.outputs.map(({ printer, paint }) => {
      return printer.print(() => this.lines(batch, skipped, paint), abort);
    });
    await Promise.all(printed);
  }

  private *lines(batch: Batch, skipped: number, paint: Paint): Iterable<string | Uint8Array> {
    if (skipped > 0) yield paint("dim", `(${skipped} batches of ${batch.signal} were not shown: sampling)`);
    const verbosity = verbosityOf(this.config);
    if (verbosity === "basic") yield basicLine(batch, paint);
    else yield* verbosity === "normal" ? normalLines(batch, paint) : detailedLines(batch, paint);
  }

  private samplerOf(signal: Signal): BatchSampler {
    const { sampling_initial, sampling_thereafter } = this.config;
    const known = this.samplers.get(signal);
    const sampler = known ?? new BatchSampler(sampling_initial, sampling_thereafter, () => this.context.clock.now());
    if (known === undefined) this.samplers.set(signal, sampler);
    return sampler;
  }
}

/** Selects the batches to show: the first few of each second, then every n-th. Counts the others. */
class BatchSampler {
  private readonly initial: number;
  private readonly thereafter: number;
  private readonly now: () => number;
  private second = Number.NaN;
  private seen = 0;
  private skipped = 0;

  constructor(initial: number, thereafter: number, now: () => number) {
    this.initial = initial;
    this.thereafter = thereafter;
    this.now = now;
  }

  /**
   * Returns undefined if this batch is not shown. Otherwise returns the number of batches left out since the last one
   * shown.
   */
  next(): number | undefined {
    const second = Math.floor(this.now() / 1000);
    if (second !== this.second) this.seen = 0;
    this.second = second;
    this.seen++;
    if (!this.isShown()) {
      this.skipped++;
      return undefined;
    }
    const { skipped } = this;
    this.skipped = 0;
    return skipped;
  }

  private isShown(): boolean {
    if (this.seen <= this.initial) return true;
    return this.thereafter > 0 && (this.seen - this.initial) % this.thereafter === 0;
  }
}
