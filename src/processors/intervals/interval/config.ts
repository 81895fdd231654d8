import { z } from "zod";
import { byteSize, duration, section } from "../../../plugin.js";

export interface IntervalConfig {
  readonly intervalMs: number;
  readonly passesGauges: boolean;
  readonly passesSummaries: boolean;
  readonly maxBytes: number;
}

const flag = (what: string) =>
  z
    .boolean()
    .default(false)
    .meta({ description: `Whether to pass every point of ${what} on at once.` });

export const intervalSchema = z
  .strictObject({
    interval: duration()
      .default(60_000)
      .refine((ms) => ms > 0, { message: "expected more than 0" })
      .meta({ description: "How often the last point of each series is passed on." }),
    pass_through: section(z.strictObject({ gauge: flag("gauges"), summary: flag("summaries") }))
      .prefault({})
      .meta({ description: "Kinds of metrics whose points do not wait." }),
    max_bytes: byteSize()
      .default(48 * 1024 * 1024)
      .meta({ description: "Bytes of requests that may wait; with more, what waits is passed on early." }),
  })
  .transform(
    ({ interval, pass_through, max_bytes }): IntervalConfig => ({
      intervalMs: interval,
      passesGauges: pass_through.gauge,
      passesSummaries: pass_through.summary,
      maxBytes: max_bytes,
    }),
  );
