import { z } from "zod";
import { dedupSection, MESSAGE_ENCODINGS, maxLagKey, NATS_CLIENTS, natsConnectionKeys, natsStreamKeys } from "#brokers";
import { withClient } from "#system";
import { byteSize, duration, type Signal, section } from "../../plugin.js";

function source(signal: Signal) {
  return section(
    z.strictObject({
      subject: z
        .string()
        .min(1)
        .default(`otlp.${signal}`)
        .meta({ description: `The subject whose messages are ${signal}; * and > stand for any words of it.` }),
      encoding: z
        .enum(MESSAGE_ENCODINGS)
        .default("otlp_proto")
        .refine((encoding) => signal === "logs" || encoding.startsWith("otlp_"), "expected otlp_proto or otlp_json")
        .meta({
          description: "What the body of a message is; text, raw and json make one log record of each message.",
        }),
      consumer: z
        .string()
        .regex(/^[^\s.*>/\\]+$/, "expected a name without blanks, dots, stars and slashes")
        .default(`sluice-${signal}`)
        .meta({
          description:
            "The durable consumer; created if it does not exist. Agents with the same consumer share its messages.",
        }),
    }),
  )
    .prefault({})
    .meta({ description: `Where ${signal} come from, when a pipeline of ${signal} has the receiver.` });
}

export const natsReceiverSchema = NATS_CLIENTS.reduce(
  (schema, client) => withClient(client, schema),
  z.strictObject({
    ...natsConnectionKeys(),
    ...natsStreamKeys(),
    logs: source("logs"),
    traces: source("traces"),
    metrics: source("metrics"),
    start_at: z.enum(["first", "new"]).default("first").meta({
      description: "Where a new consumer starts: with everything in the stream, or with new messages.",
    }),
    max_ack_pending: z.number().int().positive().default(1000).meta({
      description: "How many messages of a new consumer may be unacknowledged: the back-pressure.",
    }),
    ack_wait: duration()
      .refine((ms) => ms >= 100, "expected at least 100ms")
      .default(30_000)
      .meta({
        description:
          "After how long the server redelivers an unacknowledged message of a new consumer. The agent extends this time for messages it is still working on.",
      }),
    max_message_size: byteSize()
      .default(20 * 1024 * 1024)
      .meta({ description: "Larger messages become dead letters without being read." }),
    dedup: dedupSection("messages"),
    max_lag: maxLagKey,
    dead_letter_subject: z.string().min(1).optional().meta({
      description:
        "Where messages go that are permanently refused and cannot be kept as a dead letter; otherwise they stay in the stream and are redelivered every 30 s.",
    }),
  }),
);

export type NatsReceiverConfig = z.infer<typeof natsReceiverSchema>;
