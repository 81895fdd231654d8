import { defineBuiltInExporter } from "#contract/built-in";
import { labelName } from "#metrics";
import { formatAddress, listenAddress } from "#net";
import type { Batch, Exporter, ExporterContext, PartialRejection } from "../../plugin.js";
import { ownerSettings, type PrometheusConfig, prometheusSchema } from "./config.js";
import type { ExpositionFormat } from "./exposition-text.js";
import { LastValues } from "./last-values.js";
import { renderPage } from "./render.js";
import { ScrapeServer } from "./scrape-server.js";

/** Exposes the last value of every series to Prometheus. */
export const prometheusExporter = defineBuiltInExporter<PrometheusConfig>({
  type: "prometheus",
  summary: "Shows the last value of every metric at /metrics, for Prometheus to scrape.",
  signals: ["metrics"],
  // The shown values are in memory only. A queue in front of them would not preserve anything that a scrape could not
  // have seen.
  defaults: { sending_queue: { enabled: false } },
  workers: "one",
  schema: prometheusSchema,
  listensAt: ({ endpoint, transport }) => [{ address: listenAddress(endpoint, transport), key: ["endpoint"] }],
  create: (config, context) => new PrometheusExporter(config, context),
});

const SWEEP_MS = 1000;

class PrometheusExporter implements Exporter {
  private readonly config: PrometheusConfig;
  private readonly context: ExporterContext;
  private readonly targetInfoName: string;
  private readonly values: LastValues;
  private readonly server: ScrapeServer;
  private cancelSweep: (() => void) | undefined;

  constructor(config: PrometheusConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    const settings = ownerSettings(config, !config.without_scope_info, config.const_labels, []);
    const { namespace } = config;
    this.targetInfoName = namespace === "" ? "target_info" : `${labelName(namespace, settings.rules)}_target_info`;
    this.values = new LastValues({
      ...settings,
      maxSeries: config.max_series,
      expireAfterMs: config.metric_expiration,
      keepExemplars: config.enable_open_metrics,
    });
    this.server = new ScrapeServer(config, context, (format) => this.page(format));
  }

  async start(): Promise<void> {
    const port = await this.server.start();
    const address = listenAddress(this.config.endpoint, this.config.transport);
    const endpoint = formatAddress("path" in address ? address : { ...address, port });
    this.context.logger.info({ endpoint }, "metrics are shown at /metrics");
    this.sweepLater(SWEEP_MS);
  }

  async send(batch: Batch): Promise<PartialRejection | undefined> {
    return this.values.update(batch.bytes, this.context.clock.monotonic());
  }

  async stop(): Promise<void> {
    this.cancelSweep?.();
    await this.server.stop();
  }

  private page(format: ExpositionFormat): Iterable<string> {
    const { send_timestamps: sendTimestamps } = this.config;
    const { targetInfoName } = this;
    return renderPage(this.values, this.context.clock.monotonic(), { format, sendTimestamps, targetInfoName });
  }

  /**
   * Removes expired series in small steps, because a million series that expire together must not block everything
   * else.
   */
  private sweepLater(ms: number): void {
    this.cancelSweep = this.context.clock.after(ms, () => {
      const isDone = this.values.sweep(this.context.clock.monotonic());
      this.sweepLater(isDone ? SWEEP_MS : 1);
    });
  }
}
