import { defineBuiltInProcessor } from "#contract/built-in";
import { eachBatch, limitedLog } from "../../plugin.js";
import { type MetricTransform, metricsTransformSchema } from "./config.js";
import { transformMetrics } from "./transform-metrics.js";

/** Renames, adds and merges metrics, and changes their attributes and values. */
export const metricsTransform = defineBuiltInProcessor<readonly MetricTransform[]>({
  type: "metrics_transform",
  aliases: ["metricstransform"],
  summary: "Renames, copies, combines, groups and scales metrics, and changes their attributes.",
  signals: ["metrics"],
  needsWholeBatches: (transforms) => transforms.some(({ action }) => action === "combine"),
  schema: metricsTransformSchema,
  create(transforms, { clock, logger }) {
    const onSkipped = limitedLog<string>(clock, (reason, suppressed) => logger.warn({ suppressed }, reason));
    return eachBatch((batch) => {
      const result = transformMetrics(batch, transforms, onSkipped);
      return result.byteLength === 0 && result !== batch ? null : result;
    });
  },
});
