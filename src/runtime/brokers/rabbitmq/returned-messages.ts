import type { ConfirmChannel } from "amqplib";

/** Destination and id of a published message; several messages may share them. */
interface Published {
  readonly exchange: string;
  readonly routingKey: string;
  readonly messageId: unknown;
}

/**
 * Tracks `mandatory` messages that RabbitMQ returned on a channel because no queue accepted them. RabbitMQ confirms
 * such a message too, right after returning it, and before it confirms any later message that it has to store.
 */
export class ReturnedMessages {
  /** Returned messages that are not yet confirmed, counted by destination and id. */
  private readonly counts = new Map<string, number>();

  constructor(channel: ConfirmChannel) {
    channel.on("return", ({ fields, properties }) => {
      const { exchange, routingKey } = fields as unknown as Published;
      const key = keyOf({ exchange, routingKey, messageId: properties.messageId });
      this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    });
  }

  /** Returns true if the message was returned. Call it once per message, on its confirmation. */
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
