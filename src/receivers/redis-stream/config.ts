import { z } from "zod";
import { dedupSection, MESSAGE_ENCODINGS, maxLagKey, REDIS_CLIENT, redisConnectionKeys } from "#brokers";
import { withClient } from "#system";
import { byteSize, duration, type Signal, section } from "../../plugin.js";

function source(signal: Signal) {
  return section(
    z.strictObject({
      stream: z
        .string()
        .min(1)
        .default(`otlp:${signal}`)
        .meta({ description: `The key of the stream whose entries are ${signal}.` }),
      encoding: z
        .enum(MESSAGE_ENCODINGS)
        .default("otlp_proto")
        .refine((encoding) => signal === "logs" || encoding.startsWith("otlp_"), "expected otlp_proto or otlp_json")
        .meta({ description: "What the body of an entry is; text, raw and json make one log record of each entry." }),
    }),
  )
    .prefault({})
    .meta({ description: `Where ${signal} come from, when a pipeline of ${signal} has the receiver.` });
}

export const redisStreamReceiverSchema = withClient(
  REDIS_CLIENT,
  z.strictObject({
    ...redisConnectionKeys(),
    logs: source("logs"),
    traces: source("traces"),
    metrics: source("metrics"),
    group: z.string().min(1).default("sluice").meta({
      description:
        "The consumer group; created, with the stream, if it does not exist. Agents with the same group share its entries.",
    }),
    consumer: z.string().min(1).optional().meta({
      description: "The agent's name in the group. Default: its host and the receiver's id.",
    }),
    start_at: z.enum(["first", "new"]).default("first").meta({
      description: "Where a new group starts: with everything in the stream, or with new entries.",
    }),
    body_field: z
      .string()
      .min(1)
      .default("body")
      .meta({ description: "The field of an entry that is the body; the others are its headers." }),
    max_in_flight: z
      .number()
      .int()
      .positive()
      .default(1000)
      .meta({ description: "How many entries of a stream may be unacknowledged here: the back-pressure." }),
    claim_after: duration()
      .refine((ms) => ms >= 100, "expected at least 100ms")
      .default(30_000)
      .meta({
        description:
          "Entries are taken over from another agent of the group after this time without renewal. An agent renews entries it is still working on.",
      }),
    max_message_size: byteSize()
      .default(20 * 1024 * 1024)
      .meta({ description: "Larger bodies become dead letters without being read." }),
    delete_acknowledged: z.boolean().default(false).meta({
      description: "Delete entries from the stream once they are acknowledged: for streams that no other group reads.",
    }),
    dedup: dedupSection("entries"),
    max_lag: maxLagKey,
    dead_letter_stream: z.string().min(1).optional().meta({
      description:
        "Where entries go that are permanently refused and cannot be kept as a dead letter; otherwise they stay pending and are retried after claim_after.",
    }),
  }),
);

export type RedisStreamReceiverConfig = z.infer<typeof redisStreamReceiverSchema>;
