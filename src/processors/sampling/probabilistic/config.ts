import { z } from "zod";

const MIN_PERCENTAGE = 100 * 2 ** -56;

export const probabilisticSamplerSchema = z.strictObject({
  sampling_percentage: z
    .number()
    .min(0)
    .refine((value) => value === 0 || value >= MIN_PERCENTAGE, "expected 0 or at least 1.4e-15")
    .default(0)
    .meta({ description: "How many of 100 traces or log records are kept. 100 and more keeps all." }),
  hash_seed: z
    .number()
    .int()
    .min(0)
    .max(0xffffffff)
    .default(0)
    .meta({ description: "Agents that should keep the same traces have the same seed. For the mode hash_seed." }),
  mode: z.enum(["hash_seed", "proportional", "equalizing", ""]).default("").meta({
    description:
      "hash_seed (the default) hashes the trace id; proportional and equalizing use OpenTelemetry's consistent sampling.",
  }),
  sampling_precision: z
    .number()
    .int()
    .min(1)
    .max(14)
    .default(4)
    .meta({ description: "Number of hex digits of the thresholds written on kept records." }),
  fail_closed: z.boolean().default(true).meta({
    description: "Drop records that cannot be decided about: without a trace id, or with invalid sampling information.",
  }),
  attribute_source: z
    .enum(["traceID", "record"])
    .default("traceID")
    .meta({ description: "For logs: decide by the trace id if there is one, or always by from_attribute." }),
  from_attribute: z
    .string()
    .default("")
    .meta({ description: "For logs: the attribute to decide by if it is not the trace id." }),
  sampling_priority: z
    .string()
    .default("")
    .meta({ description: "For logs: the attribute that holds a record's own percentage, which then applies." }),
});

export type ProbabilisticSamplerConfig = z.infer<typeof probabilisticSamplerSchema>;
