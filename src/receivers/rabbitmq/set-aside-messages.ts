import type { ConfirmChannel, ConsumeMessage } from "amqplib";
import { DEAD_LETTER_HEADERS, isDeadLetterHeader, ReturnedMessages, rejectedHeaders } from "#brokers";
import type { Refusal } from "../../plugin.js";
import { type DeadLetterTarget, type Declared, declareTopology, retryQueue } from "./topology.js";

/** Counts how often a message has been in a retry queue. */
const RETRIES_HEADER = "x-retry-count";

/** A message that is not accepted, and the header by which it keeps its key in another queue. */
export interface RefusedMessage {
  readonly message: ConsumeMessage;
  /** Whether it also needs that header when it comes back to this queue, because it has no `message_id`. */
  readonly isIdOfDelivery: boolean;
  readonly keyHeader: Readonly<Record<string, string>>;
}

interface SetAsideSettings {
  readonly channel: ConfirmChannel;
  readonly queue: string;
  readonly declared: Declared | undefined;
  /** Where messages go that are rejected. */
  readonly target: DeadLetterTarget | undefined;
}

/** Publishes messages that are not accepted: to queues in which they wait, and to the dead-letter exchange. */
export class SetAsideMessages {
  private readonly settings: SetAsideSettings;
  private readonly returned: ReturnedMessages;

  constructor(settings: SetAsideSettings) {
    this.settings = settings;
    this.returned = new ReturnedMessages(settings.channel);
  }

  /**
   * Returns `postponed` once RabbitMQ has confirmed the message in the next retry queue, and `exhausted` if it has been
   * in every one. A deleted retry queue is declared again; if it still accepts nothing, returns `gone`. `now` is in
   * milliseconds since the epoch.
   */
  async postpone(rejected: RefusedMessage, now: number): Promise<"postponed" | "exhausted" | "gone"> {
    const { queue, channel, declared } = this.settings;
    const { message } = rejected;
    const retries = retriesOf(message);
    const delay = declared?.retry_delays[retries];
    if (delay === undefined) return "exhausted";
    const target = { exchange: "", routingKey: retryQueue(queue, delay) };
    const headers = { [RETRIES_HEADER]: retries + 1, [FIRST_FAILED]: firstFailedAt(message, now) };
    // Dedup knows a message by its id. With another header, RabbitMQ's next copy of it would be another message.
    const kept = rejected.isIdOfDelivery ? rejected : { ...rejected, keyHeader: {} };
    if (await this.publish(target, kept, headers)) return "postponed";
    await declareTopology(channel, queue, declared!);
    return (await this.publish(target, kept, headers)) ? "postponed" : "gone";
  }

  /**
   * Publishes a rejected message to the dead-letter exchange, with headers that say why. Returns false if that is not
   * known, or no queue is bound to it.
   */
  async deadLetter(rejected: RefusedMessage, refusal: Refusal, now: number): Promise<boolean> {
    const { target, queue } = this.settings;
    if (target === undefined) return false;
    const { message } = rejected;
    const rounds = { attempts: retriesOf(message) + 1, firstFailedAt: firstFailedAt(message, now) };
    return this.publish(target, rejected, rejectedHeaders(refusal, queue, now, rounds));
  }

  /** Returns false if no queue gets the message: RabbitMQ also confirms messages that it drops. */
  private async publish(
    { exchange, routingKey }: DeadLetterTarget,
    { message: { content, properties }, keyHeader }: RefusedMessage,
    more: Readonly<Record<string, string | number>>,
  ): Promise<boolean> {
    // RabbitMQ rejects messages in the name of another user.
    const own = Object.entries(properties.headers ?? {}).filter(([name]) => !isLeftOut(name));
    const { userId: _user, ...others } = properties;
    const headers = { ...Object.fromEntries(own), ...keyHeader, ...more };
    const options = { ...others, headers, persistent: true, mandatory: true };
    await new Promise<void>((resolve, reject) => {
      const onConfirm = (error: unknown) => (error ? reject(error) : resolve());
      this.settings.channel.publish(exchange, routingKey, content, options, onConfirm);
    });
    return !this.returned.take({ exchange, routingKey, messageId: properties.messageId });
  }
}

const FIRST_FAILED = DEAD_LETTER_HEADERS.firstFailedAt;

/**
 * Copies for other queues (`CC`) were made when the message was first sent, and RabbitMQ counts deliveries of the new
 * message by itself. A dead letter has no count of retries, so that it has all of them when it comes back, and nothing
 * of an earlier failure.
 */
function isLeftOut(name: string): boolean {
  return name === "CC" || name === "x-delivery-count" || name === RETRIES_HEADER || isDeadLetterHeader(name);
}

function retriesOf({ properties }: ConsumeMessage): number {
  return Number(properties.headers?.[RETRIES_HEADER] ?? 0);
}

/** A message keeps the time of its first failure while it goes through the retry queues. */
function firstFailedAt(message: ConsumeMessage, now: number): string {
  const known: unknown = message.properties.headers?.[FIRST_FAILED];
  return typeof known === "string" && retriesOf(message) > 0 ? known : new Date(now).toISOString();
}
