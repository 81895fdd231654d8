import { z } from "zod";
import { defineExporter, SIGNALS } from "../plugin.js";

/** Takes everything and does nothing with it: for measuring a pipeline, or for one that has to end somewhere. */
export const nopExporter = defineExporter({
  type: "nop",
  summary: "Accepts every batch and discards it.",
  signals: SIGNALS,
  schema: z.strictObject({}),
  create: () => ({ send: async () => undefined }),
});
