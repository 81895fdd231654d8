import { z } from "zod";

/** The operations of rules. */
const OPERATIONS = ["add", "subtract", "multiply", "divide", "percent"] as const;

/** How one metric is made of another, and of a second metric or a constant. */
export interface GenerationRule {
  readonly name: string;
  readonly unit: string;
  readonly metric1: string;
  /** The name of the second metric, or a constant. */
  readonly operand: string | number;
  readonly operation: (typeof OPERATIONS)[number];
}

const ruleSchema = z
  .strictObject({
    name: z.string().min(1).meta({ description: "The name of the new metric." }),
    unit: z.string().default("").meta({ description: "The unit of the new metric." }),
    type: z
      .enum(["calculate", "scale"])
      .meta({ description: "Whether the second operand is a metric (calculate) or a constant (scale)." }),
    metric1: z.string().min(1).meta({ description: "The metric that gives the first operand." }),
    metric2: z.string().nullish().meta({ description: "The metric that gives the second operand of calculate." }),
    operation: z.enum(OPERATIONS).meta({ description: "What to do with the two operands." }),
    scale_by: z.number().nullish().meta({ description: "The second operand of scale." }),
  })
  .superRefine(({ name, type, metric1, metric2, scale_by: scale }, zod) => {
    const issue = (message: string, path: string) => zod.addIssue({ code: "custom", message, path: [path] });
    if (type === "calculate" && !metric2) issue("expected the name of a metric", "metric2");
    if (type === "scale" && !((scale ?? 0) > 0)) issue("expected a number above 0", "scale_by");
    if (name === metric1 || name === metric2) issue("expected another name than those of its operands", "name");
  })
  .transform(
    ({ name, unit, type, metric1, metric2, operation, scale_by }): GenerationRule => ({
      name,
      unit,
      metric1,
      operand: type === "calculate" ? (metric2 ?? "") : (scale_by ?? 0),
      operation,
    }),
  );

export const metricsGenerationSchema = z
  .strictObject({
    rules: z
      .array(ruleSchema)
      .nullish()
      .meta({ description: "How to make new metrics. Resources are processed separately." }),
  })
  .transform(({ rules }): readonly GenerationRule[] => rules ?? []);
