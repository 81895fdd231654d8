import { z } from "zod";
import { defineReceiver, StartError } from "../plugin.js";

const WHAT_TO_DO = "start it with createSluice in a program of yours, or use another receiver";

/**
 * What a program emits that embeds Sluice. The program's instance puts its own `AppIntake` in its place; wherever
 * there is no such program, it cannot start.
 */
export const appReceiver = defineReceiver({
  type: "app",
  summary: "Takes what the program emits that Sluice is embedded in.",
  schema: z.strictObject({}),
  create: () => ({
    async start() {
      throw new StartError(`no program emits into it: this config is for one that embeds Sluice; ${WHAT_TO_DO}`);
    },
    async stop() {},
  }),
});
