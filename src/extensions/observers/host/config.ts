import { z } from "zod";
import { duration } from "../../../plugin.js";

const MIN_INTERVAL_MS = 100;

export const hostObserverSchema = z.strictObject({
  refresh_interval: duration()
    .default(10_000)
    .refine((ms) => ms >= MIN_INTERVAL_MS, { error: `expected at least ${MIN_INTERVAL_MS}ms` })
    .meta({ description: "How often the sockets of the machine are read." }),
  root_path: z.string().default("").meta({
    harmless: true,
    description: "Where the machine's root directory is mounted, if the agent runs in a container.",
  }),
});

export type HostObserverConfig = z.infer<typeof hostObserverSchema>;
