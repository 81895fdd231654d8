import { defineBuiltInProcessor } from "#contract/built-in";
import { type Batch, eachBatch, limitedLog, SIGNALS } from "../../plugin.js";
import { type GroupByAttrsConfig, groupByAttrsSchema } from "./config.js";
import { isRegroupOverflow } from "./group-tree.js";
import { type Regrouped, regroup } from "./regroup.js";

/**
 * Size limit of a regrouped batch. Groups repeat their resources, so they may take more bytes than the original batch.
 */
const maxGroupedBytes = (batch: Batch) => 4 * batch.byteLength + 16 * 1024 * 1024;

/**
 * Moves the configured attributes of records to resources of their own, and merges equal resources, scopes and metrics.
 * A batch passes as the same bytes if there is nothing to move or merge, or if regrouping would exceed the size limit.
 */
export const groupByAttrs = defineBuiltInProcessor<GroupByAttrsConfig>({
  type: "groupbyattrs",
  summary: "Moves attributes of records to their resources, and merges equal resources.",
  signals: SIGNALS,
  takesSinglePoints: true,
  schema: groupByAttrsSchema,
  create({ keys }, { id, signal, metrics, logger, clock }) {
    const noun = METRIC_NOUNS[signal];
    const counter = (name: string, description: string) =>
      metrics.counter(`otelcol_processor_groupbyattrs_${name}`, { description }, { processor: id });
    const moved = counter(`num_grouped_${noun}`, "Records that were put under another resource.");
    const stayed = counter(`num_non_grouped_${noun}`, "Records that have none of the keys.");
    const logOverflow = limitedLog<Error>(clock, ({ message }, suppressed) =>
      logger.warn({ reason: message, suppressed }, "a batch was passed on without grouping it"),
    );
    const grouped = (batch: Batch): Regrouped => {
      try {
        return regroup(batch, keys ?? [], maxGroupedBytes(batch));
      } catch (error) {
        if (!isRegroupOverflow(error)) throw error;
        logOverflow(error);
        return { batch, moved: 0 };
      }
    };
    return eachBatch((batch) => {
      const result = grouped(batch);
      moved.add(result.moved);
      stayed.add(batch.count - result.moved);
      return result.batch;
    });
  },
});

const METRIC_NOUNS = { logs: "logs", traces: "spans", metrics: "metrics" } as const;
