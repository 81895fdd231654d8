import { z } from "zod";
import { MESSAGE_ENCODINGS, REDIS_CLIENT, redisConnectionKeys } from "#brokers";
import { withClient } from "#system";
import { duration, type Signal, section } from "../../plugin.js";

function destination(signal: Signal) {
  return section(
    z.strictObject({
      stream: z
        .string()
        .min(1)
        .default(`otlp:${signal}`)
        .meta({ description: `The key of the stream that ${signal} are added to.` }),
      encoding: z
        .enum(MESSAGE_ENCODINGS)
        .default("otlp_proto")
        .refine((encoding) => signal === "logs" || encoding.startsWith("otlp_"), "expected otlp_proto or otlp_json")
        .meta({ description: "The format of entries; text, raw and json write each log record as an entry." }),
    }),
  )
    .prefault({})
    .meta({ description: `Where ${signal} go.` });
}

export const redisStreamExporterSchema = withClient(
  REDIS_CLIENT,
  z.strictObject({
    ...redisConnectionKeys(),
    logs: destination("logs"),
    traces: destination("traces"),
    metrics: destination("metrics"),
    body_field: z
      .string()
      .min(1)
      .default("body")
      .meta({ description: "The field for the body of an entry; headers become other fields." }),
    max_length: z.number().int().positive().optional().meta({
      description:
        "Approximate maximum number of entries in a stream; the server deletes the oldest ones beyond it, read or not. Default: no limit.",
    }),
    dedup_window: duration().default(120_000).meta({
      description: "How long duplicates are recognised by their idempotency key; 0: not at all.",
    }),
  }),
);

export type RedisStreamExporterConfig = z.infer<typeof redisStreamExporterSchema>;
