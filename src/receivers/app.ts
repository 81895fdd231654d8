import { z } from "zod";
import { defineReceiver, StartError } from "../plugin.js";

const HINT = "start it with createSluice in a program of yours, or use another receiver";

/**
 * The telemetry that a program emits when it embeds Sluice. The embedding instance replaces this receiver with its own
 * `AppIntake`; without an embedding program the receiver cannot start.
 */
export const appReceiver = defineReceiver({
  type: "app",
  summary: "Takes what the program emits that Sluice is embedded in.",
  schema: z.strictObject({}),
  create: () => ({
    async start() {
      throw new StartError(`no program emits into it: this config is for one that embeds Sluice; ${HINT}`);
    },
    async stop() {},
  }),
});
