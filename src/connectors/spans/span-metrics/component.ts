import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { defineBuiltInConnector, defineBuiltInProcessor } from "#contract/built-in";
import { type ComponentContext, eachBatch, type Processor } from "../../../plugin.js";
import { aggregatingProcessor } from "../aggregating-processor.js";
import { type SpanMetricsConfig, spanMetricsProcessorSchema, spanMetricsSchema } from "./config.js";
import { SpanAggregation } from "./span-aggregation.js";

/**
 * Counts spans and their durations. See `SpanAggregation` for the counts, and `aggregatingProcessor` for what is owed.
 */
export const spanMetrics = defineBuiltInConnector<SpanMetricsConfig>({
  type: "span_metrics",
  aliases: ["spanmetrics"],
  summary: "Makes metrics from spans: calls, durations and events, by service, name, kind, status and attributes.",
  routes: [{ from: "traces", to: "metrics" }],
  // Series belong to a resource, unless the resources are told apart by some of their attributes only.
  workers: ({ resourceKeys }) => (resourceKeys.size === 0 ? "series" : "one"),
  schema: spanMetricsSchema,
  wantsJournal: ({ isDurable }) => isDurable,
  create: countingProcessor,
});

type ProcessorConfig = SpanMetricsConfig & { readonly exporter: string };

/**
 * The Collector's older processor of this kind, from before connectors existed: it counts spans that pass through it.
 */
export const spanMetricsProcessor = defineBuiltInProcessor<ProcessorConfig>({
  type: "spanmetrics",
  summary: "Passes spans on, and sends metrics about them to an exporter. Replaced by the connector span_metrics.",
  signals: ["traces"],
  schema: spanMetricsProcessorSchema,
  create: () => eachBatch((batch) => batch),
  asConnector: ({ exporter }) => ({ connector: spanMetrics, exporter: { id: exporter, path: ["metrics_exporter"] } }),
});

function countingProcessor(config: SpanMetricsConfig, context: ComponentContext): Processor {
  const { flushIntervalMs } = config;
  const instance = instanceId(context.id);
  return aggregatingProcessor(() => new SpanAggregation(config, instance), { flushIntervalMs, context });
}

/**
 * Returns an id that stays the same after a restart, so that counters continue as the same series from zero, which
 * `rate` handles. It differs between hosts, so that two agents never write the same series.
 */
function instanceId(component: string): string {
  const hash = createHash("sha256").update(`${hostname()} ${component}`).digest("hex");
  return hash.slice(0, 32).replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
}
