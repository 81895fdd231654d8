import { z } from "zod";
import { compilePattern } from "#text/patterns";
import { duration } from "../../../plugin.js";
import type { ConvertedMetric } from "../temporality-walk.js";

export interface CumulativeToDeltaConfig {
  readonly isWanted: (metric: ConvertedMetric) => boolean;
  readonly initial: "auto" | "keep" | "drop";
  readonly maxStalenessMs: number;
  readonly maxSeries: number;
}

const TYPES = ["sum", "histogram", "exponentialhistogram"] as const;

const matchSchema = z
  .strictObject({
    match_type: z.enum(["strict", "regexp"]).nullish().meta({ description: "Whether names are texts or patterns." }),
    metrics: z.array(z.string()).nullish().meta({ description: "Names of metrics." }),
    metric_types: z
      .array(z.string().toLowerCase().pipe(z.enum(TYPES)))
      .nullish()
      .meta({ description: "Types of metrics: sum, histogram, exponentialhistogram." }),
    regexp: z.unknown().optional().meta({ ignored: "patterns are kept compiled" }),
  })
  .superRefine(({ match_type: type, metrics }, zod) => {
    const hasNames = (metrics ?? []).length > 0;
    if (hasNames !== Boolean(type))
      zod.addIssue({ code: "custom", message: "expected match_type and metrics together" });
  })
  .transform(({ match_type: type, metrics, metric_types: types }, zod) => {
    const names = metrics ?? [];
    const tests = names.map((name, i) => {
      if (type !== "regexp") return (text: string) => text === name;
      try {
        const pattern = compilePattern(name);
        return (text: string) => pattern.test(text);
      } catch (error) {
        zod.addIssue({ code: "custom", message: (error as Error).message, path: ["metrics", i] });
        return () => false;
      }
    });
    return {
      /** Undefined if no names are configured. */
      hasName: tests.length === 0 ? undefined : (text: string) => tests.some((test) => test(text)),
      types: types == null || types.length === 0 ? undefined : new Set<string>(types),
    };
  });

export const cumulativeToDeltaSchema = z
  .strictObject({
    include: matchSchema.nullish().meta({ description: "Metrics to convert. Default: all." }),
    exclude: matchSchema.nullish().meta({ description: "Metrics not to convert." }),
    initial_value: z
      .enum(["auto", "keep", "drop"])
      .default("auto")
      .meta({ description: "What to do with the first point of a series." }),
    max_staleness: duration()
      .default(0)
      .meta({ description: "A series without new points for this long is forgotten; 0: never." }),
    max_series: z
      .number()
      .int()
      .min(1)
      .default(1_000_000)
      .meta({ description: "Maximum number of series; points of further series are dropped and counted." }),
  })
  .transform(({ include, exclude, initial_value, max_staleness, max_series }): CumulativeToDeltaConfig => {
    const isWanted = ({ name, kind, isMonotonic }: ConvertedMetric) =>
      isMonotonic &&
      (include?.hasName?.(name) ?? true) &&
      (include?.types?.has(kind.toLowerCase()) ?? true) &&
      !(exclude?.hasName?.(name) ?? false) &&
      !(exclude?.types?.has(kind.toLowerCase()) ?? false);
    return { isWanted, initial: initial_value, maxStalenessMs: max_staleness, maxSeries: max_series };
  });
