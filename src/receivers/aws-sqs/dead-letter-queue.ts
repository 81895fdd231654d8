import { isDeadLetterHeader } from "#brokers";
import { BASE64_ATTRIBUTE, fromAttributes, type SqsAttributes, type SqsQueue, toAttributes } from "#brokers/sqs";
import { toRefusal } from "#contract/errors";
import { withTimeout } from "#resilience";
import type { Clock } from "../../plugin.js";
import { REQUEST_LIMIT_MS } from "./held-messages.js";
import type { ReceivedMessage } from "./incoming-message.js";

/** Takes messages that were refused for good, as they came, with the story of their failure in attributes. */
export class DeadLetterQueue {
  private readonly queue: SqsQueue;
  private readonly clock: Clock;

  constructor(queue: SqsQueue, clock: Clock) {
    this.queue = queue;
    this.clock = clock;
  }

  /** Resolves when the message is in the queue. Rejects with a `Refusal`. */
  async add(message: ReceivedMessage, story: Readonly<Record<string, string>>): Promise<void> {
    const { [BASE64_ATTRIBUTE]: encoding, ...others } = message.MessageAttributes;
    const more = encoding && { [BASE64_ATTRIBUTE]: encoding };
    try {
      const own = Object.entries(fromAttributes(others)).filter(([name]) => !isDeadLetterHeader(name));
      await this.send(message, toAttributes({ ...Object.fromEntries(own), ...story }, more));
    } catch (error) {
      if (toRefusal(error).kind !== "permanent") throw error;
      // With its story the message may be too large. The message itself is what must not get lost.
      await this.send(message, message.MessageAttributes);
    }
  }

  private async send({ MessageId, Body, Attributes }: ReceivedMessage, attributes: SqsAttributes): Promise<void> {
    const fifo = { MessageGroupId: Attributes["MessageGroupId"] ?? MessageId, MessageDeduplicationId: MessageId };
    const input = { MessageBody: Body, MessageAttributes: attributes, ...(this.queue.isFifo && fifo) };
    await withTimeout(REQUEST_LIMIT_MS, this.clock, [], (abort) => this.queue.call("SendMessage", input, abort));
  }
}
