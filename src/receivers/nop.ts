import { z } from "zod";
import { defineReceiver, SIGNALS } from "../plugin.js";

/** Receives nothing: for a pipeline that needs a receiver, or a config whose receivers another file adds. */
export const nopReceiver = defineReceiver({
  type: "nop",
  summary: "Receives nothing, for a pipeline that needs a receiver.",
  signals: SIGNALS,
  schema: z.strictObject({}),
  create: () => ({ start: async () => undefined, stop: async () => undefined }),
});
