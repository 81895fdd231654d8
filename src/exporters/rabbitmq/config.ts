import { z } from "zod";
import { MESSAGE_ENCODINGS, RABBITMQ_CLIENT, rabbitConnection } from "#brokers";
import { withClient } from "#system";
import { byteSize, caseInsensitiveEnum, section } from "../../plugin.js";

const exporterSchema = z.strictObject({
  connection: section(rabbitConnection()).prefault({}).meta({ description: "How RabbitMQ is reached." }),
  routing: section(
    z.strictObject({
      exchange: z.string().default("").meta({
        description: "The exchange to publish to; empty is the default one, which routes by the queue's name.",
      }),
      routing_key: z
        .string()
        .default("")
        .meta({ description: "The routing key; default otlp_logs, otlp_spans or otlp_metrics." }),
      back_to_queue: z.boolean().default(false).meta({
        description:
          "Send a message that was dead-lettered by RabbitMQ back to the queue it was in, and others as above.",
      }),
    }),
  )
    .prefault({})
    .meta({ description: "Where messages go." }),
  encoding: caseInsensitiveEnum(MESSAGE_ENCODINGS)
    .default("otlp_proto")
    .meta({ description: "What messages are. With text, raw and json each log record is a message." }),
  durable: z.boolean().default(true).meta({ description: "RabbitMQ keeps messages on disk before it confirms them." }),
  max_message_size: byteSize()
    .default(16 * 1024 * 1024)
    .meta({ description: "What is larger is divided, and one record that is larger becomes a dead letter." }),
  on_unroutable: caseInsensitiveEnum(["retry", "dead_letter", "drop"])
    .default("retry")
    .meta({ description: "What to do with a message that no queue is bound for." }),
});

export const rabbitmqExporterSchema = withClient(RABBITMQ_CLIENT, exporterSchema);

export type RabbitmqExporterConfig = z.infer<typeof exporterSchema>;
