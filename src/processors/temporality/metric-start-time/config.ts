import { z } from "zod";
import { compilePattern } from "#text/patterns";
import { duration } from "../../../plugin.js";

/** How start times are found. */
export type StartTimeStrategy = "true_reset_point" | "subtract_initial_point" | "start_time_metric";

export interface MetricStartTimeConfig {
  readonly strategy: StartTimeStrategy;
  readonly gcIntervalMs: number;
  readonly isStartTimeMetric: (name: string) => boolean;
  readonly maxSeries: number;
}

/** Prometheus's own clients have this metric. */
const START_TIME_METRIC = "process_start_time_seconds";

export const metricStartTimeSchema = z
  .strictObject({
    strategy: z
      .enum(["true_reset_point", "subtract_initial_point", "start_time_metric"])
      .default("true_reset_point")
      .meta({ description: "How start times are found: see the page." }),
    gc_interval: duration()
      .refine((ms) => ms > 0, "expected more than 0")
      .default(600_000)
      .meta({ description: "A series without new points for this long is forgotten." }),
    start_time_metric_regex: z
      .string()
      .nullish()
      .meta({
        description: `A pattern for the metric with the start time in seconds. Default: ${START_TIME_METRIC}.`,
      }),
    max_series: z.number().int().min(1).default(1_000_000).meta({ description: "Maximum number of series." }),
  })
  .superRefine(({ strategy, start_time_metric_regex: regex }, zod) => {
    if (!regex || strategy === "start_time_metric") return;
    const message = "this key needs strategy: start_time_metric";
    zod.addIssue({ code: "custom", message, path: ["start_time_metric_regex"] });
  })
  .transform(({ strategy, gc_interval, start_time_metric_regex: regex, max_series }, zod): MetricStartTimeConfig => {
    let isStartTimeMetric: MetricStartTimeConfig["isStartTimeMetric"] = (name) => name === START_TIME_METRIC;
    try {
      if (regex) {
        const pattern = compilePattern(regex);
        isStartTimeMetric = (name) => pattern.test(name);
      }
    } catch (error) {
      zod.addIssue({ code: "custom", message: (error as Error).message, path: ["start_time_metric_regex"] });
    }
    return { strategy, gcIntervalMs: gc_interval, isStartTimeMetric, maxSeries: max_series };
  });
