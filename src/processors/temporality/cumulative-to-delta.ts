import { z } from "zod";
import { compilePattern } from "#text";
import { defineProcessor, duration, limitedLog } from "../../plugin.js";
import { type ConvertedMetric, type TemporalityRules, temporalityProcessor } from "./temporality-walk.js";

interface CumulativeToDeltaConfig {
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
      /** Undefined: no names are given. */
      hasName: tests.length === 0 ? undefined : (text: string) => tests.some((test) => test(text)),
      types: types == null || types.length === 0 ? undefined : new Set<string>(types),
    };
  });

const schema = z
  .strictObject({
    include: matchSchema.nullish().meta({ description: "What is converted; everything if it is left out." }),
    exclude: matchSchema.nullish().meta({ description: "What is not." }),
    initial_value: z
      .enum(["auto", "keep", "drop"])
      .default("auto")
      .meta({ description: "What becomes of the first point of a series." }),
    max_staleness: duration()
      .default(0)
      .meta({ description: "A series without new points for so long is forgotten; 0: never." }),
    max_series: z
      .number()
      .int()
      .min(1)
      .default(1_000_000)
      .meta({ description: "Series that are kept; points of others are left out and counted." }),
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

/**
 * Gives what was counted since the last point of each series. A counter that has begun anew has counted all it says since
 * then. Points that are not newer than the last one say nothing new, and are left out.
 */
export const cumulativeToDelta = defineProcessor<CumulativeToDeltaConfig>({
  type: "cumulative_to_delta",
  aliases: ["cumulativetodelta"],
  summary: "Turns cumulative monotonic sums and histograms into deltas.",
  signals: ["metrics"],
  schema,
  create({ isWanted, initial, maxStalenessMs, maxSeries }, { clock, metrics, logger, id }) {
    const startedAt = BigInt(clock.now()) * 1_000_000n;
    const rules: TemporalityRules = {
      from: 2,
      to: 1,
      isWanted,
      first({ start, time, value }) {
        const isKnownToBeNew = start >= startedAt && start !== time;
        const isKept = initial === "keep" || (initial === "auto" && isKnownToBeNew);
        return { state: { start, time, value }, out: isKept ? { start, time, value } : undefined };
      },
      next(state, { start, time, value }) {
        if (time <= state.time) return undefined;
        const out = { start: state.time, time, value: value.minus(state.value) ?? value };
        if (value.minus(state.value) === undefined && start > state.time) out.start = start;
        Object.assign(state, { time, value });
        return out;
      },
      undo(state, before, handedOn, isLast) {
        if (isLast) Object.assign(state, before);
        else state.value = state.value.minus(handedOn) ?? state.value; // the next point says it, too
      },
    };
    const onDropped = droppedPoints("cumulativetodelta", { clock, metrics, logger, id });
    return temporalityProcessor(rules, { maxSeries, expireAfterMs: maxStalenessMs, onDropped }, () => clock.now());
  },
});

/** Counts points that are left out, and tells of those for which there was no room. */
export function droppedPoints(
  name: string,
  {
    clock,
    metrics,
    logger,
    id,
  }: Pick<Parameters<typeof cumulativeToDelta.create>[1], "clock" | "metrics" | "logger" | "id">,
): (reason: string) => void {
  const counter = (reason: string) =>
    metrics.counter(
      `otelcol_${name}_datapoints_dropped`,
      { description: "Points that were left out." },
      { processor: id, reason },
    );
  const counters = new Map<string, ReturnType<typeof counter>>();
  const logFull = limitedLog<undefined>(clock, (_, suppressed) =>
    logger.warn({ suppressed }, "there is no room for more series (max_series): their points are left out"),
  );
  return (reason) => {
    if (!counters.has(reason)) counters.set(reason, counter(reason));
    counters.get(reason)!.add(1);
    if (reason === "max_series") logFull(undefined);
  };
}
