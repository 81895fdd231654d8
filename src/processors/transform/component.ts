import { defineBuiltInProcessor } from "#contract/built-in";
import { errorHandler, transformBatch } from "#ottl";
import { eachBatch, SIGNALS } from "../../plugin.js";
import { type TransformConfig, transformSchema } from "./config.js";

/** Edits telemetry with OTTL statements. A batch that no statement changes passes as the same bytes. */
export const transform = defineBuiltInProcessor<TransformConfig>({
  type: "transform",
  summary: "Edits telemetry with OTTL statements.",
  signals: SIGNALS,
  schema: transformSchema,
  create({ groups }, context) {
    const all = groups[context.signal].flatMap(({ statements }) => statements);
    const signalGroups = groups[context.signal].map((group) => ({
      ...group,
      onError: errorHandler(group.mode, context, all),
    }));
    const { maxRecordSize } = context;
    return eachBatch((batch, { origin }) => {
      let current = batch;
      for (const { statements, conditions, onError } of signalGroups)
        current = transformBatch(current, statements, conditions, onError, { origin, maxRecordSize });
      return current;
    });
  },
});
