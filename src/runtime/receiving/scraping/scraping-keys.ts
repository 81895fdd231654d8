import { z } from "zod";
import { duration, ignored, section } from "#contract/schema";
import type { MetricTable } from "./scraped-metric.js";

/** Interval and timeout of a scraping receiver, and what a timeout of 0 means. */
export function scrapingKeys(intervalMs: number, timeoutMs = 0, noTimeout = "an hour") {
  return {
    collection_interval: duration()
      .refine((ms) => ms >= 1, "expected a millisecond or more")
      .default(intervalMs)
      .meta({ description: "How often to collect." }),
    initial_delay: duration().default(1000).meta({ description: "Delay before the first collection." }),
    timeout: duration()
      .default(timeoutMs)
      .meta({
        description: `Time limit for a collection; values measured by then are kept. 0 means ${noTimeout}.`,
      }),
  };
}

/** Switches a resource attribute on or off. */
export function resourceAttributeKey(isOn: boolean) {
  return section(
    z.strictObject({
      enabled: z.boolean().default(isOn).meta({ description: "Whether resources get this attribute." }),
      metrics_include: ignored("use the processor filter"),
      metrics_exclude: ignored("use the processor filter"),
    }),
  )
    .prefault({})
    .meta({ description: `${isOn ? "On" : "Off"} by default.` });
}

/** Selects the metrics of a table. */
export function metricKeys(table: MetricTable) {
  const enabled = (isOn: boolean) =>
    section(
      z.strictObject({
        enabled: z.boolean().default(isOn).meta({ description: "Whether this metric is collected." }),
        aggregation_strategy: z
          .enum(["sum", "avg", "min", "max"])
          .optional()
          .meta({ description: "How to merge points that differ only in removed attributes." }),
        attributes: z.array(z.string()).optional().meta({ description: "The attributes that points keep." }),
      }),
    ).optional();
  const keys = Object.entries(table).map(([name, metric]) => [
    name,
    enabled(metric.isOptional !== true).meta({ description: metric.description }),
  ]);
  return {
    // Metrics that only other versions or systems have must not prevent the config from loading.
    metrics: section(z.object(Object.fromEntries(keys)).catchall(z.unknown()))
      .prefault({})
      .meta({ description: "Which metrics are collected." }),
  };
}
