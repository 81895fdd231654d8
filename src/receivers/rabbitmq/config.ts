import { z } from "zod";
import { dedupSection, MESSAGE_ENCODINGS, maxLagKey, RABBITMQ_CLIENT, rabbitConnection } from "#brokers";
import { withClient } from "#system";
import { byteSize, caseInsensitiveEnum, duration, SIGNALS, section } from "../../plugin.js";

const encoding = () => caseInsensitiveEnum(MESSAGE_ENCODINGS);

const signalSection = () =>
  section(
    z.strictObject({
      queue: z.string().min(1).meta({ description: "The queue to read." }),
      encoding: encoding()
        .optional()
        .meta({ description: "The encoding of its messages. Default: the receiver's encoding." }),
    }),
  )
    .optional()
    .meta({ description: "Another queue for this signal." });

const declareSection = z
  .strictObject({
    type: z.enum(["quorum", "classic"]).default("quorum").meta({ description: "The kind of queue." }),
    bindings: z
      .array(
        z.strictObject({
          exchange: z.string().min(1).meta({ description: "The exchange; it is declared too." }),
          type: z.enum(["direct", "topic", "fanout", "headers"]).default("topic").meta({ description: "Its type." }),
          routing_key: z.string().default("").meta({ description: "The routing keys that lead to the queue." }),
        }),
      )
      .default([])
      .meta({ description: "Exchanges that the queue gets its messages from." }),
    retry_delays: z.array(duration()).default([]).meta({
      description:
        "Delays, with a retry queue <queue>.retry.<milliseconds> for each: a temporarily refused message waits there and returns; after the last one it goes to the dead-letter queue.",
    }),
    dead_letter: z.boolean().default(true).meta({
      description: "Declare the exchange <queue>.dlx and the queue <queue>.dlq for messages that are rejected.",
    }),
    dead_letter_exchange: z.string().min(1).optional().meta({
      description:
        "An exchange of your own for messages that are rejected, in the place of <queue>.dlx and <queue>.dlq.",
    }),
    dead_letter_routing_key: z.string().optional().meta({
      description: "The routing key of rejected messages in dead_letter_exchange. Default: the name of the queue.",
    }),
    message_ttl: duration().optional().meta({
      description: "Messages that wait longer go to the dead-letter exchange, or are dropped without one.",
    }),
    max_length: z.number().int().positive().optional().meta({ description: "How many messages may wait." }),
    max_length_bytes: byteSize().optional().meta({ description: "How many bytes of messages may wait." }),
    overflow: z.enum(["drop-head", "reject-publish", "reject-publish-dlx"]).optional().meta({
      description: "What happens beyond max_length: the oldest message goes, or the publisher gets a nack.",
    }),
    delivery_limit: z.number().int().min(0).optional().meta({
      description:
        "How often a message may be given back before it goes to the dead-letter exchange. For quorum queues.",
    }),
  })
  .superRefine(({ type, delivery_limit, overflow, dead_letter_exchange, dead_letter_routing_key }, context) => {
    const complain = (key: string, message: string) => context.addIssue({ code: "custom", path: [key], message });
    if (type === "classic" && delivery_limit !== undefined)
      complain("delivery_limit", "only queues of type quorum have a delivery limit");
    if (type === "quorum" && overflow === "reject-publish-dlx")
      complain("overflow", "queues of type quorum do not have reject-publish-dlx: choose drop-head or reject-publish");
    if (dead_letter_routing_key !== undefined && dead_letter_exchange === undefined)
      complain("dead_letter_routing_key", "it belongs to dead_letter_exchange, which is not set");
  });

const receiverSchema = z
  .strictObject({
    connection: section(rabbitConnection()).prefault({}).meta({ description: "How RabbitMQ is reached." }),
    queue: z.string().default("").meta({ description: "The queue to read, for a receiver of one signal." }),
    encoding: encoding()
      .default("otlp_proto")
      .meta({ description: "The encoding of messages; with text, raw and json each message becomes one log record." }),
    logs: signalSection(),
    traces: signalSection(),
    metrics: signalSection(),
    prefetch: z
      .number()
      .int()
      .min(1)
      .max(65535)
      .default(100)
      .meta({ description: "How many messages may be unacknowledged: the back-pressure." }),
    max_message_size: byteSize()
      .default(16 * 1024 * 1024)
      .meta({ description: "A larger message becomes a dead letter." }),
    dedup: dedupSection("messages"),
    max_lag: maxLagKey,
    declare: section(declareSection)
      .optional()
      .meta({ description: "Declare the queue and what belongs to it; otherwise the queue must exist." }),
    dead_letter_exchange: z.string().min(1).optional().meta({
      description:
        "The dead-letter exchange of a queue that is declared elsewhere: messages that can be neither accepted nor kept as dead letters are published there, with headers that say why.",
    }),
    has_dead_letter_exchange: z.boolean().default(false).meta({
      description:
        "Set this if the queue is declared elsewhere and has a dead-letter exchange: messages that can be neither accepted nor kept as dead letters are rejected to it. Otherwise such a message stays in the queue.",
    }),
    as_dead_letters: z
      .boolean()
      .default(false)
      .meta({ description: "The queue is a dead-letter queue: its messages become dead letters of our exporters." }),
  })
  .superRefine((config, context) => {
    const named = SIGNALS.filter((signal) => config[signal] !== undefined);
    if (config.queue === "" && named.length === 0)
      context.addIssue({ code: "custom", path: ["queue"], message: "say which queue to read, such as queue: orders" });
    for (const signal of [undefined, ...named]) {
      const used = signal === undefined ? config.encoding : (config[signal]?.encoding ?? config.encoding);
      if (signal === undefined || signal === "logs" || used.startsWith("otlp_")) continue;
      const message = `${used} messages are log records; ${signal} need otlp_proto or otlp_json`;
      context.addIssue({ code: "custom", path: [signal, "encoding"], message });
    }
  });

export const rabbitmqReceiverSchema = withClient(RABBITMQ_CLIENT, receiverSchema);

export type RabbitmqReceiverConfig = z.infer<typeof receiverSchema>;
