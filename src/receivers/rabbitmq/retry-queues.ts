import type { ConfirmChannel, ConsumeMessage } from "amqplib";
import { ReturnedMessages } from "#brokers";
import { type Declared, declareTopology, retryQueue } from "./topology.js";

/** Counts how often a message has been in a retry queue. */
const RETRIES_HEADER = "x-retry-count";

/** Queues in which messages that are refused for now wait. */
export class RetryQueues {
  private readonly channel: ConfirmChannel;
  private readonly queue: string;
  private readonly declared: Declared;
  private readonly returned: ReturnedMessages;

  constructor(channel: ConfirmChannel, queue: string, declared: Declared) {
    this.channel = channel;
    this.queue = queue;
    this.declared = declared;
    this.returned = new ReturnedMessages(channel);
  }

  /**
   * Returns `postponed` once RabbitMQ has confirmed the message in the next retry queue, and `exhausted` if it has been
   * in every one. A deleted retry queue is declared again; if it still accepts nothing, returns `gone`.
   */
  async postpone(message: ConsumeMessage): Promise<"postponed" | "exhausted" | "gone"> {
    const retries = Number(message.properties.headers?.[RETRIES_HEADER] ?? 0);
    const delay = this.declared.retry_delays[retries];
    if (delay === undefined) return "exhausted";
    const target = retryQueue(this.queue, delay);
    if (await this.publish(target, message, retries + 1)) return "postponed";
    await declareTopology(this.channel, this.queue, this.declared);
    return (await this.publish(target, message, retries + 1)) ? "postponed" : "gone";
  }

  /** Returns false if there is no such queue: RabbitMQ also confirms messages that it drops. */
  private async publish(target: string, { content, properties }: ConsumeMessage, retries: number): Promise<boolean> {
    // Copies for other queues were made when the message was first sent, and RabbitMQ rejects messages in the name of
    // another user.
    const { CC: _copies, ...headers } = properties.headers ?? {};
    const { userId: _user, ...others } = properties;
    const options = {
      ...others,
      headers: { ...headers, [RETRIES_HEADER]: retries },
      persistent: true,
      mandatory: true,
    };
    await new Promise<void>((resolve, reject) => {
      const onConfirm = (error: unknown) => (error ? reject(error) : resolve());
      this.channel.sendToQueue(target, content, options, onConfirm);
    });
    return !this.returned.take({ exchange: "", routingKey: target, messageId: properties.messageId });
  }
}
