import { z } from "zod";
import { checkSqsQueues, sqsConnectionKeys, sqsQueueKeys } from "#brokers/sqs";
import { byteSize } from "../../plugin.js";

/** The limit of SQS, since 2025. */
const MAX_MESSAGE_BYTES = 1024 * 1024;

export const awsSqsExporterSchema = z
  .strictObject({
    ...sqsConnectionKeys,
    ...sqsQueueKeys,
    group_id: z
      .string()
      .regex(/^[\x21-\x7e]{1,128}$/, "expected at most 128 letters, digits and punctuation marks")
      .optional()
      .meta({
        description:
          "The message group of all messages. In a FIFO queue SQS keeps the order in each group. Default: that of group_id_from, or of a message that came from SQS; otherwise the signal.",
      }),
    group_id_from: z.string().min(1).optional().meta({
      description:
        "The record attribute whose value is the message group, such as order.id; for text, raw and json. Records without it are in the group of group_id.",
    }),
    deduplication_id: z.enum(["key", "content"]).default("key").meta({
      description:
        "The deduplication id in FIFO queues: the idempotency key, so that SQS drops what is sent a second time, or with content none, for queues that make it from the body.",
    }),
    back_to_queue: z.boolean().default(false).meta({
      description: "Send messages that were dead letters back to the queue they came from; send all others as above.",
    }),
    max_message_size: byteSize().default(MAX_MESSAGE_BYTES).meta({
      description:
        "The limit of the queue for a message with its attributes, and for a request: 1MiB, or 256KiB where that is not raised. A larger batch is split; a larger record becomes a dead letter.",
    }),
  })
  .superRefine(checkSqsQueues);

export type AwsSqsExporterConfig = z.infer<typeof awsSqsExporterSchema>;
