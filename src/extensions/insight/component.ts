import type { BuiltInExtension, BuiltInExtensionContext } from "#contract/built-in";
import type { InsightBy, InsightSource } from "#contract/insight";
import type { AgentInspection } from "#contract/operations";
import { defineExtension } from "../../plugin.js";
import { type InsightConfig, insightSchema } from "./config.js";
import { InsightMeter } from "./insight-meter.js";
import { TopMetrics } from "./top-metrics.js";

/** Shows what the traffic consists of: `GET /insight` of the admin API and `sluice insight`. */
export const insight = defineExtension<InsightConfig>({
  type: "insight",
  summary: "Shows what the traffic consists of and what it costs, from a sample of it.",
  schema: insightSchema,
  create: (config, context) => new Insight(config, context),
});

class Insight implements BuiltInExtension {
  private readonly meter: InsightMeter;
  private readonly metrics: TopMetrics;

  constructor(config: InsightConfig, { clock, random, metrics, worker }: BuiltInExtensionContext) {
    const { places, sampling_ratio: ratio, full_rate: fullRate, max_memory: memory, price } = config;
    const workers = worker?.count ?? 1;
    const prices = Object.entries(price).map(([id, each]) => [
      id,
      { perGb: each.per_gb, perMillionRecords: each.per_million_records, perThousandSeries: each.per_thousand_series },
    ]);
    this.meter = new InsightMeter(
      {
        places,
        ratio,
        prices: Object.fromEntries(prices),
        fullRate: fullRate / workers,
        memoryLimit: memory / workers,
      },
      { clock, random },
    );
    this.metrics = new TopMetrics(this.meter, config.metrics.top, metrics, clock);
  }

  async start(): Promise<void> {
    this.metrics.start();
  }

  async stop(): Promise<void> {
    this.metrics.stop();
    this.meter.stop();
  }

  inspect(inspection: AgentInspection): void {
    this.meter.watch(inspection);
  }

  readonly insight: InsightSource = { snapshot: (by: InsightBy) => this.meter.snapshot(by) };
}
