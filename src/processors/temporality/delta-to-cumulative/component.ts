import { defineBuiltInProcessor } from "#contract/built-in";
import { droppedPoints } from "../dropped-points.js";
import { type TemporalityRules, temporalityProcessor } from "../temporality-walk.js";
import { type DeltaToCumulativeConfig, deltaToCumulativeSchema } from "./config.js";

/**
 * Adds deltas up. Points that are not newer than the last one of their series are dropped, because they might have been
 * added before.
 */
export const deltaToCumulative = defineBuiltInProcessor<DeltaToCumulativeConfig>({
  type: "delta_to_cumulative",
  aliases: ["deltatocumulative"],
  summary: "Turns deltas of sums and histograms into cumulative ones.",
  signals: ["metrics"],
  takesSinglePoints: true,
  workers: "series",
  schema: deltaToCumulativeSchema,
  create({ maxStaleMs, maxStreams }, { clock, metrics, logger, id }) {
    const rules: TemporalityRules = {
      from: 1,
      to: 2,
      isWanted: () => true,
      first({ start, time, value }) {
        const since = start === 0n ? time : start;
        return { state: { start: since, time, value }, out: { start: since, time, value } };
      },
      next(state, { start, time, value }) {
        if (time <= state.time || (start !== 0n && start < state.start)) return undefined;
        const total = state.value.plus(value);
        // The bounds have changed: the sum so far ends here, and a new one begins.
        if (total === undefined) Object.assign(state, { start: start === 0n ? state.time : start, value });
        else state.value = total;
        state.time = time;
        return { start: state.start, time, value: state.value };
      },
      undo(state, before, _passedOn, isLast) {
        if (isLast) Object.assign(state, before); // otherwise later points include it, and the repeated point is dropped
      },
    };
    const onDropped = droppedPoints("deltatocumulative", { clock, metrics, logger, id });
    return temporalityProcessor(rules, { maxSeries: maxStreams, expireAfterMs: maxStaleMs, onDropped }, () =>
      clock.now(),
    );
  },
});
