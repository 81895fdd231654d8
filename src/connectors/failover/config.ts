import { z } from "zod";
import { duration, ignored } from "../../plugin.js";

export const failoverSchema = z.strictObject({
  priority_levels: z
    .array(z.array(z.string()).min(1))
    .min(1)
    .meta({ description: "Lists of pipelines, highest priority first. All pipelines of a level get everything." }),
  retry_interval: duration()
    .default(600_000)
    .refine((ms) => ms > 0, "expected more than 0")
    .meta({ description: "How long a level that refused data is tried only after all others." }),
  sending_queue: ignored("every exporter has its own queue, and data that waits in it is not lost"),
  retry_gap: ignored("levels are retried one by one, with data"),
  max_retries: ignored("a level is retried until it works"),
});

export type FailoverConfig = z.infer<typeof failoverSchema>;
