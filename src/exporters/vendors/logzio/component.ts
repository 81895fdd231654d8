import { checkByEmptyExport } from "#net/otlp";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  type PartialRejection,
  type SendOptions,
  type Signal,
} from "../../../plugin.js";
import { otlpSender, type SignalSender } from "../otlp-sender.js";
import { type LogzioConfig, logzioSchema } from "./config.js";

const LOGZIO_SIGNALS = ["logs", "traces"] as const satisfies readonly Signal[];
/** All other regions have the listener without a suffix. */
const REGIONS_BY_NAME = /^(?:ca|eu|uk|au)$/;

/** Sends OTLP to Logz.io. */
export const logzioExporter = defineExporter<LogzioConfig>({
  type: "logzio",
  summary: "Sends logs and traces to Logz.io, as OTLP over HTTP.",
  signals: LOGZIO_SIGNALS,
  defaults: { timeout: "30s" },
  schema: logzioSchema,
  create: (config, context) => new LogzioExporter(config, context),
});

class LogzioExporter implements Exporter {
  private readonly senders = new Map<Signal, SignalSender>();
  /** The signal of the last batch, which the listener presumably accepts. */
  private signal: Signal = "logs";

  constructor(config: LogzioConfig, context: ExporterContext) {
    const own = { Authorization: `Bearer ${config.account_token.trim()}` };
    for (const signal of LOGZIO_SIGNALS)
      this.senders.set(signal, otlpSender(signal, listenerUrl(config, signal), config, own, context));
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

/** The URL that the signal is sent to. An endpoint in the config is the whole URL, as in the Collector. */
export function listenerUrl({ custom_endpoint, endpoint, region }: LogzioConfig, signal: Signal): URL {
  const written = custom_endpoint ?? endpoint;
  if (written !== undefined) return new URL(written);
  const name = region.toLowerCase();
  return new URL(`https://otlp-listener${REGIONS_BY_NAME.test(name) ? `-${name}` : ""}.logz.io/v1/${signal}`);
}
