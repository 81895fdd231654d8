import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  type Paint,
  painterFor,
  SIGNALS,
  type Signal,
} from "../../plugin.js";
import { basicLine } from "./basic.js";
import { type DebugConfig, debugSchema, verbosityOf } from "./config.js";
import { detailedLines } from "./detailed.js";
import { normalLines } from "./normal.js";
import { Printer } from "./printer.js";
import { BatchSampler } from "./sampler.js";

/** Shows telemetry to a person, on stdout. */
export const debugExporter = defineExporter<DebugConfig>({
  type: "debug",
  aliases: ["logging"],
  summary: "Prints telemetry for a person to read: a line a batch, a line a record, or every field.",
  signals: SIGNALS,
  // Whoever watches wants to see it now, and once; a slow terminal slows the sender down instead of timing out.
  defaults: { timeout: "0s", sending_queue: { enabled: false }, retry_on_failure: { enabled: false } },
  schema: debugSchema,
  create: (config, context) =>
    new DebugExporter(
      config,
      context,
      config.output_paths.map((name) => process[name]),
    ),
});

/** One batch is printed at a time, whole; `send` resolves when the stream has taken all of it. */
export class DebugExporter implements Exporter {
  private readonly config: DebugConfig;
  private readonly context: ExporterContext;
  private readonly outputs: readonly { readonly printer: Printer; readonly paint: Paint }[];
  private readonly samplers = new Map<Signal, BatchSampler>();

  constructor(config: DebugConfig, context: ExporterContext, streams: readonly NodeJS.WritableStream[]) {
    this.config = config;
    this.context = context;
    this.outputs = streams.map((stream) => ({ printer: new Printer(stream), paint: painterFor(stream) }));
  }

  async send(batch: Batch, abort: AbortSignal): Promise<undefined> {
    const skipped = this.samplerOf(batch.signal).next();
    if (skipped === undefined) return;
    const printed = this.outputs.map(({ printer, paint }) => {
      return printer.print(() => this.lines(batch, skipped, paint), abort);
    });
    await Promise.all(printed);
  }

  private *lines(batch: Batch, skipped: number, paint: Paint): Iterable<string> {
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
