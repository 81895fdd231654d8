import { z } from "zod";
import { duration } from "../../../plugin.js";

export interface DeltaToCumulativeConfig {
  readonly maxStaleMs: number;
  readonly maxStreams: number;
}

export const deltaToCumulativeSchema = z
  .strictObject({
    max_stale: duration()
      .default(300_000)
      .meta({ description: "A series without new points for this long is forgotten." }),
    max_streams: z.number().min(0).default(0).meta({
      description:
        "Maximum number of series; 0 or more than a million means a million. Points of further series are dropped and counted.",
    }),
  })
  .transform(({ max_stale, max_streams }): DeltaToCumulativeConfig => {
    return { maxStaleMs: max_stale, maxStreams: max_streams === 0 ? MAX_STREAMS : Math.min(max_streams, MAX_STREAMS) };
  });

const MAX_STREAMS = 1_000_000;
