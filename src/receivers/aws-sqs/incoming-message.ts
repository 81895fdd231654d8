import { type HeaderValue, type IncomingMessage, RECEIVE_COUNT_ATTRIBUTE, REDELIVERED_ATTRIBUTE } from "#brokers";
import {
  BASE64_ATTRIBUTE,
  DEAD_LETTER_SOURCE_ATTRIBUTE,
  fromAttributes,
  GROUP_ID_ATTRIBUTE,
  readSqsBody,
  type SqsAttributes,
} from "#brokers/sqs";

/** A message as SQS gives it. */
export interface ReceivedMessage {
  readonly MessageId: string;
  readonly ReceiptHandle: string;
  readonly Body: string;
  readonly Attributes: Readonly<Record<string, string>>;
  readonly MessageAttributes: SqsAttributes;
}

/** The attributes of SQS itself that a receiver asks for. */
export const SYSTEM_ATTRIBUTES = [
  "ApproximateReceiveCount",
  "SentTimestamp",
  "MessageGroupId",
  "MessageDeduplicationId",
  "AWSTraceHeader",
  "DeadLetterQueueSourceArn",
];

/** Reads the list in an answer. Skips what is no message. */
export function readMessages(list: unknown): ReceivedMessage[] {
  if (!Array.isArray(list)) return [];
  return (list as (Partial<ReceivedMessage> | null)[]).flatMap((message) => {
    const { MessageId, ReceiptHandle, Body, Attributes, MessageAttributes } = message ?? {};
    if (typeof MessageId !== "string" || typeof ReceiptHandle !== "string" || typeof Body !== "string") return [];
    return [
      { MessageId, ReceiptHandle, Body, Attributes: Attributes ?? {}, MessageAttributes: MessageAttributes ?? {} },
    ];
  });
}

/** How often SQS has handed the message out, this time included. */
export function receiveCount({ Attributes: { ApproximateReceiveCount = "1" } }: ReceivedMessage): number {
  return Math.max(1, Number(ApproximateReceiveCount) || 1);
}

/** A message as the rest of the agent sees it. */
export class SqsMessage implements IncomingMessage {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, HeaderValue>>;
  private readonly message: ReceivedMessage;
  private readonly queue: string;

  constructor(message: ReceivedMessage, queue: string, isBinary: boolean) {
    this.message = message;
    this.queue = queue;
    const { Body, MessageAttributes } = message;
    const { bytes, wasBase64 } = readSqsBody(Body, MessageAttributes[BASE64_ATTRIBUTE], isBinary);
    this.body = bytes;
    const { [BASE64_ATTRIBUTE]: _, ...others } = MessageAttributes;
    this.headers = fromAttributes(wasBase64 ? others : MessageAttributes);
  }

  get facts(): Readonly<Record<string, unknown>> {
    const { MessageId, Attributes } = this.message;
    const count = receiveCount(this.message);
    return {
      "messaging.system": "aws_sqs",
      "messaging.destination.name": this.queue,
      "messaging.message.id": MessageId,
      [GROUP_ID_ATTRIBUTE]: Attributes["MessageGroupId"],
      "messaging.sqs.message_deduplication_id": Attributes["MessageDeduplicationId"],
      [DEAD_LETTER_SOURCE_ATTRIBUTE]: Attributes["DeadLetterQueueSourceArn"],
      "messaging.sqs.aws_trace_header": Attributes["AWSTraceHeader"],
      [RECEIVE_COUNT_ATTRIBUTE]: count,
      ...(count > 1 && { [REDELIVERED_ATTRIBUTE]: true }),
    };
  }

  /** SQS gives a message the same id each time it hands it out. */
  get id(): string {
    return `${this.queue}/${this.message.MessageId}`;
  }

  get sentAtMs(): number | undefined {
    const time = Number(this.message.Attributes["SentTimestamp"]);
    return time > 0 ? time : undefined;
  }
}
