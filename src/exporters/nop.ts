import { z } from "zod";
import { defineExporter, SIGNALS } from "../plugin.js";

/** Accepts everything and discards it: for measuring a pipeline, or for a pipeline that needs an exporter. */
export const nopExporter = defineExporter({
  type: "nop",
  summary: "Accepts every batch and discards it.",
  signals: SIGNALS,
  defaults: { sending_queue: { enabled: false } },
  schema: z.strictObject({}),
  create: () => ({ send: async () => undefined }),
});
