import { z } from "zod";
import { defineConnector, SIGNALS } from "../plugin.js";

/** Connects pipelines: data that reaches this connector at the end of one pipeline enters the others unchanged. */
export const forward = defineConnector({
  type: "forward",
  summary: "Passes everything on to other pipelines of the same signal.",
  routes: SIGNALS.map((signal) => ({ from: signal, to: signal })),
  schema: z.strictObject({}),
  create: () => (source) => source,
});
