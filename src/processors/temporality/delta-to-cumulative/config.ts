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
      .meta({ description: "A series without new points for so long is forgotten." }),
    max_streams: z.number().min(0).default(0).meta({
      description: "Series that are kept, a million if it is 0 or more; points of others are left out and counted.",
    }),
  })
  .transform(({ max_stale, max_streams }): DeltaToCumulativeConfig => {
    return { maxStaleMs: max_stale, maxStreams: max_streams === 0 ? MAX_STREAMS : Math.min(max_streams, MAX_STREAMS) };
  });

const MAX_STREAMS = 1_000_000;
