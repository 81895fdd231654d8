import { dropWhere, errorHandler } from "#ottl";
import { defineProcessor, eachBatch, SIGNALS } from "../../plugin.js";
import { type FilterConfig, filterSchema } from "./config.js";

/**
 * Drops telemetry for which any of the conditions holds. Dropped records are acknowledged and counted under the
 * Collector's metric names. A batch from which nothing is dropped passes as the same bytes.
 */
export const filter = defineProcessor<FilterConfig>({
  type: "filter",
  summary: "Drops telemetry for which an OTTL condition holds.",
  signals: SIGNALS,
  schema: filterSchema,
  create({ groups }, context) {
    const { signal, metrics } = context;
    const all = groups[signal].flatMap(({ conditions }) => conditions);
    const signalGroups = groups[signal].map((group) => ({ ...group, onError: errorHandler(group.mode, context, all) }));
    const dropped = metrics.counter(DROPPED[signal], { description: "Dropped by the filter." }, { filter: context.id });
    return eachBatch((batch, { origin }) => {
      let kept = batch;
      for (const { conditions, onError } of signalGroups) kept = dropWhere(kept, conditions, onError, origin);
      if (kept.count < batch.count) dropped.add(batch.count - kept.count);
      return kept.count === 0 && kept !== batch ? null : kept;
    });
  },
});

const DROPPED = {
  logs: "otelcol_processor_filter_logs_filtered",
  traces: "otelcol_processor_filter_spans_filtered",
  metrics: "otelcol_processor_filter_datapoints_filtered",
} as const;
