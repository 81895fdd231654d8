import { z } from "zod";

/** The key `max_lag` of receivers that know how many messages wait at their source. */
export const maxLagKey = z.number().int().min(0).default(10_000).meta({
  description: "The receiver is DEGRADED while more messages wait at a source. 0: not looked at.",
});
