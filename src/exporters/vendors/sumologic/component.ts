import { checkByEmptyExport } from "#net/otlp";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  limitedLog,
  type PartialRejection,
  type SendOptions,
  SIGNALS,
  type Signal,
} from "../../../plugin.js";
import { otlpSender, type SignalSender } from "../otlp-sender.js";
import { type SumologicConfig, sumologicSchema } from "./config.js";

/** Sends OTLP to a source of Sumo Logic. */
export const sumologicExporter = defineExporter<SumologicConfig>({
  type: "sumologic",
  summary: "Sends OTLP to Sumo Logic.",
  signals: SIGNALS,
  defaults: { timeout: "30s" },
  schema: sumologicSchema,
  create: (config, context) => new SumologicExporter(config, context),
});

class SumologicExporter implements Exporter {
  private readonly senders = new Map<Signal, SignalSender>();
  /** The signal of the last batch, which the source presumably accepts. */
  private signal: Signal = "logs";

  constructor(config: SumologicConfig, context: ExporterContext) {
    const { clock, logger } = context;
    const logErrors = limitedLog<string>(clock, (answer, suppressed) =>
      logger.warn({ answer, suppressed }, "Sumo Logic accepted a request and reported errors"),
    );
    const own = { "X-Sumo-Client": config.client };
    for (const signal of SIGNALS) {
      const url = signalUrl(config.endpoint, signal);
      this.senders.set(signal, otlpSender(signal, url, config, own, context, logErrors));
    }
  }

  get metadataKeys(): readonly string[] {
    return this.senders.get("logs")!.metadataKeys;
  }

  async start(): Promise<void> {
    for (const sender of this.senders.values()) await sender.start();
  }

  async stop(): Promise<void> {
    for (const sender of this.senders.values()) sender.stop();
  }

  send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    this.signal = batch.signal;
    return this.senders.get(batch.signal)!.send(batch, abort, options);
  }

  check(abort: AbortSignal): Promise<void> {
    return checkByEmptyExport(this.signal, (batch) => this.send(batch, abort));
  }
}

function signalUrl(endpoint: URL, signal: Signal): URL {
  const url = new URL(endpoint);
  const suffix = `/v1/${signal}`;
  if (!url.pathname.endsWith(suffix)) url.pathname = url.pathname.replace(/\/*$/, suffix);
  return url;
}
