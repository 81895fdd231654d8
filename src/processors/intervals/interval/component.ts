import { defineBuiltInProcessor } from "#contract/built-in";
import { SHAPES } from "#otlp/bytes";
import { partition } from "#otlp/edit";
import { GAUGE_TAG, MONOTONIC_TAG, SUM_TAG, SUMMARY_TAG, TEMPORALITY_TAG } from "#otlp/metric-tags";
import type { RecordWalk } from "#otlp/views";
import type { Batch } from "../../../plugin.js";
import { type DividedBatch, intervalProcessor } from "../interval-processor.js";
import { type IntervalConfig, intervalSchema } from "./config.js";
import { LatestPoints, numberAt } from "./latest-points.js";

/**
 * Passes on the last point of each series once an interval. Deltas and sums that may fall pass at once: each of their
 * points counts.
 */
export const interval = defineBuiltInProcessor<IntervalConfig>({
  type: "interval",
  summary: "Passes on the last point of each series, once an interval.",
  signals: ["metrics"],
  workers: "series",
  takesSinglePoints: true,
  schema: intervalSchema,
  maxHeldBytes: ({ maxBytes, intervalMs }) => ({ bytes: maxBytes, path: ["max_bytes"], waitMs: intervalMs }),
  create(config, context) {
    const { intervalMs, maxBytes } = config;
    const settings = { intervalMs, maxBytes, create: () => new LatestPoints() };
    return intervalProcessor({ ...settings, divide: (batch) => divide(batch, config) }, context);
  },
});

const CUMULATIVE = 2;

function divide(batch: Batch, config: IntervalConfig): DividedBatch {
  let serial = 0;
  let isHeld = false;
  const [held, rest] = partition(batch, SHAPES.metrics, 2, (walk) => {
    if (walk.serials[3] !== serial) {
      serial = walk.serials[3]!;
      isHeld = isCollected(walk, config);
    }
    return isHeld ? 0 : 1;
  });
  return { held, rest: held === undefined ? batch : rest };
}

/** Whether only the last point of the walk's metric counts. */
function isCollected({ bytes, frames }: RecordWalk, { passesGauges, passesSummaries }: IntervalConfig): boolean {
  const data = frames[3]!;
  if (data.tag === GAUGE_TAG) return !passesGauges;
  if (data.tag === SUMMARY_TAG) return !passesSummaries;
  if (numberAt(bytes, data, TEMPORALITY_TAG) !== CUMULATIVE) return false;
  return data.tag !== SUM_TAG || numberAt(bytes, data, MONOTONIC_TAG) === 1;
}
