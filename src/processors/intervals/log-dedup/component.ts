import { SHAPES } from "#otlp/bytes";
import { partition } from "#otlp/edit";
import { ConditionSet, errorHandler } from "#ottl";
import { type Batch, defineProcessor, type Origin } from "../../../plugin.js";
import { type DividedBatch, intervalProcessor } from "../interval-processor.js";
import { type LogDedupConfig, logDedupSchema } from "./config.js";
import { LogCollection } from "./log-collection.js";

/** Counts equal log records for an interval, and then passes on one of each kind with the number of them. */
export const logDedup = defineProcessor<LogDedupConfig>({
  type: "log_dedup",
  aliases: ["logdedup"],
  summary: "Passes on one of several equal log records, with the number of them.",
  signals: ["logs"],
  workers: "series",
  schema: logDedupSchema,
  maxHeldBytes: ({ maxBytes, intervalMs }) => ({ bytes: maxBytes, path: ["max_bytes"], waitMs: intervalMs }),
  create(config, context) {
    const { intervalMs, maxBytes, conditions, metadataKeys, maxCombinations } = config;
    const counted = conditions.length === 0 ? undefined : new ConditionSet(conditions, errorHandler("ignore", context));
    return intervalProcessor(
      {
        intervalMs,
        maxBytes,
        divide: (batch) => (counted === undefined ? { held: batch, rest: undefined } : divide(batch, counted)),
        create: () => new LogCollection(config),
        ...(metadataKeys.length > 0 && { keyOf: (origin: Origin) => metadataKey(origin, metadataKeys) }),
        ...(maxCombinations > 0 && { maxKeys: maxCombinations }),
      },
      context,
    );
  },
});

function divide(batch: Batch, counted: ConditionSet): DividedBatch {
  const choose: Parameters<typeof partition>[3] = (walk, start, end) => (counted.any(walk, start, end) ? 0 : 1);
  const [held, rest] = partition(batch, SHAPES.logs, 2, choose);
  return { held, rest: held === undefined ? batch : rest };
}

function metadataKey({ metadata }: Origin, keys: readonly string[]): string {
  return JSON.stringify(keys.map((key) => metadata?.get(key) ?? []));
}
