import type { ConfirmChannel, ConsumeMessage } from "amqplib";
import { ReturnedMessages } from "#brokers";
import { type Declared, declareTopology, retryQueue } from "./topology.js";

/** How often a message has been in a retry queue. */
const RETRIES_HEADER = "x-retry-count";

/** Where messages wait that are refused for now. */
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
   * `postponed` once RabbitMQ has confirmed that it has the message in the next retry queue; `exhausted` when it has been in every one.
   * A queue that somebody has deleted is declared again; when it takes nothing all the same, it is `gone`.
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

  /** False when there is no such queue: RabbitMQ confirms also what it throws away. */
  private async publish(target: string, { content, properties }: ConsumeMessage, retries: number): Promise<boolean> {
    // Copies for others were made when it was sent, and RabbitMQ lets nobody write in the name of another user.
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
