import { z } from "zod";
import { MESSAGE_ENCODINGS, RABBITMQ_CLIENT, rabbitConnection } from "#brokers";
import { withClient } from "#system";
import { byteSize, caseInsensitiveEnum, section } from "../../plugin.js";

const exporterSchema = z.strictObject({
  connection: section(rabbitConnection()).prefault({}).meta({ description: "How RabbitMQ is reached." }),
  routing: section(
    z.strictObject({
      exchange: z.string().default("").meta({
        description: "The exchange to publish to; empty is the default exchange, which routes by queue name.",
      }),
      routing_key: z
        .string()
        .default("")
        .meta({ description: "The routing key; default otlp_logs, otlp_spans or otlp_metrics." }),
      back_to_queue: z.boolean().default(false).meta({
        description:
          "Send messages that RabbitMQ dead-lettered back to the queue they came from; route all others as above.",
      }),
    }),
  )
    .prefault({})
    .meta({ description: "Where messages go." }),
  encoding: caseInsensitiveEnum(MESSAGE_ENCODINGS)
    .default("otlp_proto")
    .meta({ description: "The format of messages; with text, raw and json each log record is a message." }),
  durable: z
    .boolean()
    .default(true)
    .meta({ description: "Persistent messages: RabbitMQ writes them to disk before it confirms them." }),
  max_message_size: byteSize()
    .default(16 * 1024 * 1024)
    .meta({ description: "Maximum message size. Larger batches are split; a larger record becomes a dead letter." }),
  on_unroutable: caseInsensitiveEnum(["retry", "dead_letter", "drop"])
    .default("retry")
    .meta({ description: "What to do with a message that no queue is bound to receive." }),
});

export const rabbitmqExporterSchema = withClient(RABBITMQ_CLIENT, exporterSchema);

export type RabbitmqExporterConfig = z.infer<typeof exporterSchema>;
