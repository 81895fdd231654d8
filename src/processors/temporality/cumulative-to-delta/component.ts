import { defineBuiltInProcessor } from "#contract/built-in";
import { droppedPoints } from "../dropped-points.js";
import { type TemporalityRules, temporalityProcessor } from "../temporality-walk.js";
import { type CumulativeToDeltaConfig, cumulativeToDeltaSchema } from "./config.js";

/**
 * Converts cumulative points to the difference from the last point of each series. A counter that was reset counts from
 * zero, so its whole value is the difference. Points that are not newer than the last one are dropped.
 */
export const cumulativeToDelta = defineBuiltInProcessor<CumulativeToDeltaConfig>({
  type: "cumulative_to_delta",
  aliases: ["cumulativetodelta"],
  summary: "Turns cumulative monotonic sums and histograms into deltas.",
  signals: ["metrics"],
  takesSinglePoints: true,
  workers: "series",
  schema: cumulativeToDeltaSchema,
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
      undo(state, before, passedOn, isLast) {
        if (isLast) Object.assign(state, before);
        else state.value = state.value.minus(passedOn) ?? state.value; // the next point includes it again
      },
    };
    const onDropped = droppedPoints("cumulativetodelta", { clock, metrics, logger, id });
    return temporalityProcessor(rules, { maxSeries, expireAfterMs: maxStalenessMs, onDropped }, () => clock.now());
  },
});
