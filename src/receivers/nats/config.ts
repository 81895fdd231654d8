import { z } from "zod";
import { dedupSection, MESSAGE_ENCODINGS, NATS_CLIENTS, natsConnectionKeys, natsStreamKeys } from "#brokers";
import { withClient } from "#system";
import { byteSize, duration, SIGNALS, type Signal, section } from "../../plugin.js";

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
          description: "The durable consumer; made when there is none. Agents that name the same share its messages.",
        }),
    }),
  )
    .prefault({})
    .meta({ description: `Where ${signal} come from, when a pipeline of ${signal} has the receiver.` });
}

export const natsReceiverSchema = NATS_CLIENTS.reduce(
  (schema, client) => withClient(client, schema),
  z.strictObject({
    ...natsConnectionKeys,
    ...natsStreamKeys,
    logs: source("logs"),
    traces: source("traces"),
    metrics: source("metrics"),
    start_at: z.enum(["first", "new"]).default("first").meta({
      description: "Where a consumer that is made now begins: with all that the stream has, or with what comes.",
    }),
    max_ack_pending: z.number().int().positive().default(1000).meta({
      description:
        "How many messages of a consumer that is made now may be without an acknowledgement: the back-pressure.",
    }),
    ack_wait: duration()
      .refine((ms) => ms >= 100, "expected at least 100ms")
      .default(30_000)
      .meta({
        description:
          "After how long without a word the server hands a message out again, of a consumer that is made now. The agent sends word for what it still works on.",
      }),
    max_message_size: byteSize()
      .default(20 * 1024 * 1024)
      .meta({ description: "Larger messages become dead letters without being read." }),
    dedup: dedupSection("messages"),
    dead_letter_subject: z.string().min(1).optional().meta({
      description:
        "Where messages go that are refused for good and cannot be kept as a dead letter; without, they stay in the stream and are handed out again every 30 s.",
    }),
  }),
);

export type NatsReceiverConfig = z.infer<typeof natsReceiverSchema>;

/** The signals that have a pipeline. */
export function usedSignals(intakes: Readonly<Partial<Record<Signal, unknown>>>): Signal[] {
  return SIGNALS.filter((signal) => intakes[signal] !== undefined);
}
