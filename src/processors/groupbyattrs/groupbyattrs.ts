import { z } from "zod";
import { type Batch, defineProcessor, eachBatch, limitedLog, SIGNALS } from "../../plugin.js";
import { isRegroupOverflow } from "./group-tree.js";
import { type Regrouped, regroup } from "./regroup.js";

const schema = z.strictObject({
  keys: z.array(z.string().min(1)).nullish().meta({
    description: "Attributes that move from records to their resources. None: resources that are alike are merged.",
  }),
});

/** Groups may take so much more than the batch they are made of, as their resources are repeated. */
const maxGroupedBytes = (batch: Batch) => 4 * batch.byteLength + 16 * 1024 * 1024;

/**
 * Puts records under resources that have the record's attributes of the given keys, and merges resources, scopes and
 * metrics that are alike. A batch in which there is nothing to move or merge passes as the same bytes; so does one that
 * would grow beyond all measure.
 */
export const groupByAttrs = defineProcessor<z.infer<typeof schema>>({
  type: "groupbyattrs",
  summary: "Moves attributes of records to their resources, and merges what is alike.",
  signals: SIGNALS,
  schema,
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
