import { z } from "zod";
import { dedupSection, maxLagKey } from "#brokers";
import { checkSqsQueues, sqsConnectionKeys, sqsQueueKeys } from "#brokers/sqs";
import { byteSize, duration } from "../../plugin.js";

/** The limits of SQS. */
const MAX_WAIT_MS = 20_000;
const MAX_VISIBILITY_MS = 12 * 3_600_000;

export const awsSqsReceiverSchema = z
  .strictObject({
    ...sqsConnectionKeys,
    ...sqsQueueKeys,
    wait_time: duration()
      .refine((ms) => ms >= 1000 && ms <= MAX_WAIT_MS, "expected 1s to 20s, the limit of SQS")
      .default(MAX_WAIT_MS)
      .meta({ description: "How long a request waits for messages at the server (long polling), in whole seconds." }),
    num_pollers: z
      .number()
      .int()
      .min(1)
      .max(20)
      .default(1)
      .meta({ description: "How many requests ask for messages at the same time; each gets at most ten." }),
    max_in_flight: z
      .number()
      .int()
      .positive()
      .default(1000)
      .meta({ description: "How many messages of a queue may be undeleted here: the back-pressure." }),
    visibility_timeout: duration()
      .refine((ms) => ms >= 3000 && ms <= MAX_VISIBILITY_MS, "expected 3s to 12h")
      .default(30_000)
      .meta({
        description:
          "After how long SQS hands a message to others if this agent dies. The agent extends this time for messages it is still working on.",
      }),
    retry_delays: z
      .array(duration().refine((ms) => ms <= MAX_VISIBILITY_MS, "expected at most 12h, the limit of SQS"))
      .default([])
      .meta({
        description:
          "A message that is refused temporarily is returned to the queue, and redelivered after a delay. The first delay is for the first delivery, and so on; the last delay is for all further deliveries. Default: the agent keeps the message and retries it.",
      }),
    dead_letter_queue: z.string().min(1).optional().meta({
      description:
        "The name or URL of a queue for messages that are permanently refused and cannot be kept as a dead letter. Default: they are redelivered every 30 s, until the queue's redrive policy moves them.",
    }),
    as_dead_letters: z
      .boolean()
      .default(false)
      .meta({ description: "The queue is a dead-letter queue: its messages become dead letters of our exporters." }),
    max_message_size: byteSize()
      .default(1024 * 1024)
      .meta({ description: "Larger messages become dead letters without being read." }),
    dedup: dedupSection("messages"),
    max_lag: maxLagKey,
  })
  .superRefine(checkSqsQueues);

export type AwsSqsReceiverConfig = z.infer<typeof awsSqsReceiverSchema>;
