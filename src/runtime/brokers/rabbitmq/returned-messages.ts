import type { ConfirmChannel } from "amqplib";

/** Where a message was published to, and the id it was given; messages may share one. */
interface Published {
  readonly exchange: string;
  readonly routingKey: string;
  readonly messageId: unknown;
}

/**
 * What RabbitMQ gave back of what was published as `mandatory` on a channel, because no queue wanted it. It confirms such a message
 * all the same: right after it has given it back, and so before any that it was given later and has to keep.
 */
export class ReturnedMessages {
  /** How many of each have come back and are not confirmed yet. */
  private readonly counts = new Map<string, number>();

  constructor(channel: ConfirmChannel) {
    channel.on("return", ({ fields, properties }) => {
      const { exchange, routingKey } = fields as unknown as Published;
      const key = keyOf({ exchange, routingKey, messageId: properties.messageId });
      this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    });
  }

  /** To be asked once for each message, when it is confirmed. */
  take(published: Published): boolean {
    if (this.counts.size === 0) return false;
    const key = keyOf(published);
    const count = this.counts.get(key) ?? 0;
    if (count > 1) this.counts.set(key, count - 1);
    else this.counts.delete(key);
    return count > 0;
  }
}

function keyOf({ exchange, routingKey, messageId }: Published): string {
  return JSON.stringify([exchange, routingKey, messageId ?? null]);
}
