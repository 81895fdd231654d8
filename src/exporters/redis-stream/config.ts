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
        .meta({ description: "What the body of an entry is; text, raw and json make an entry of each log record." }),
    }),
  )
    .prefault({})
    .meta({ description: `Where ${signal} go.` });
}

export const redisStreamExporterSchema = withClient(
  REDIS_CLIENT,
  z.strictObject({
    ...redisConnectionKeys,
    logs: destination("logs"),
    traces: destination("traces"),
    metrics: destination("metrics"),
    body_field: z
      .string()
      .min(1)
      .default("body")
      .meta({ description: "The field of an entry that has the body; headers are fields beside it." }),
    max_length: z.number().int().positive().optional().meta({
      description:
        "About how many entries a stream may have; the server deletes the oldest beyond it, read or not. Default: no limit.",
    }),
    dedup_window: duration().default(120_000).meta({
      description: "For how long what is sent a second time is recognised by its idempotency key; 0 means not at all.",
    }),
  }),
);

export type RedisStreamExporterConfig = z.infer<typeof redisStreamExporterSchema>;
