import { z } from "zod";
import { defineReceiver, StartError } from "../plugin.js";

const HINT = "start it with createSluice in your own program, or use another receiver";

/**
 * The telemetry that a program emits when it embeds Sluice. The embedding instance replaces this receiver with its own
 * `AppIntake`; without an embedding program the receiver cannot start.
 */
export const appReceiver = defineReceiver({
  type: "app",
  summary: "Receives what the embedding program emits.",
  schema: z.strictObject({}),
  create: () => ({
    async start() {
      throw new StartError(`no program emits into it: this config is for a program that embeds Sluice; ${HINT}`);
    },
    async stop() {},
  }),
});
