import { z } from "zod";

export interface DeltaToRateConfig {
  readonly metrics: ReadonlySet<string>;
}

export const deltaToRateSchema = z
  .strictObject({
    metrics: z
      .array(z.string())
      .min(1, "name at least one metric")
      .meta({ description: "Names of the delta sums to convert." }),
  })
  .transform(({ metrics }): DeltaToRateConfig => ({ metrics: new Set(metrics) }));
