import { defineBuiltInProcessor } from "#contract/built-in";
import { RecordWalk } from "#otlp/views";
import { CONTEXT_SHAPES } from "#ottl";
import { Batch, eachBatch } from "../../plugin.js";
import { type GenerationRule, metricsGenerationSchema } from "./config.js";
import { GeneratingVisitor } from "./generating-visitor.js";

/** Makes new metrics of those of the same resource. The metrics that it makes are not operands of later rules. */
export const metricsGeneration = defineBuiltInProcessor<readonly GenerationRule[]>({
  type: "metrics_generation",
  aliases: ["metricsgeneration", "experimental_metricsgeneration"],
  summary: "Makes new metrics by arithmetic on two metrics, or on a metric and a constant.",
  signals: ["metrics"],
  needsWholeBatches: () => true,
  schema: metricsGenerationSchema,
  create: (rules) =>
    eachBatch((batch) => {
      const visitor = new GeneratingVisitor(rules);
      const result = new RecordWalk(batch, CONTEXT_SHAPES.scope).run(visitor);
      return result === batch ? batch : Batch.trusted("metrics", result.bytes, batch.count + visitor.generated);
    }),
});
