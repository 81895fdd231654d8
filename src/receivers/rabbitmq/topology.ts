import type { Channel } from "amqplib";
import type { RabbitmqReceiverConfig } from "./config.js";

export type Declared = NonNullable<RabbitmqReceiverConfig["declare"]>;

/** Names of the exchange for a queue's rejected messages and of the queues where they wait to return. */
const deadLetterExchange = (queue: string) => `${queue}.dlx`;
const deadLetterQueue = (queue: string) => `${queue}.dlq`;
export const retryQueue = (queue: string, delayMs: number) => `${queue}.retry.${Math.round(delayMs)}`;

/**
 * Declares the queue with its dead-letter queue and its retry queues, all durable. Declaring an existing queue with the
 * same arguments changes nothing; with other arguments RabbitMQ reports which one differs.
 */
export async function declareTopology(channel: Channel, queue: string, declared: Declared): Promise<void> {
  const { type, bindings, retry_delays: delays, dead_letter_exchange } = declared;
  const kind = { "x-queue-type": type };
  if (declared.dead_letter && dead_letter_exchange === undefined) {
    await channel.assertExchange(deadLetterExchange(queue), "direct", { durable: true });
    await channel.assertQueue(deadLetterQueue(queue), { durable: true, arguments: kind });
    await channel.bindQueue(deadLetterQueue(queue), deadLetterExchange(queue), queue);
  }
  await channel.assertQueue(queue, { durable: true, arguments: { ...kind, ...queueArguments(queue, declared) } });
  for (const delay of delays) await declareRetryQueue(channel, queue, delay);
  for (const { exchange, type: exchangeType, routing_key } of bindings) {
    await channel.assertExchange(exchange, exchangeType, { durable: true });
    await channel.bindQueue(queue, exchange, routing_key);
  }
}

/** Where messages go that are rejected: an exchange and a routing key; undefined if nowhere. */
export function deadLetterTarget(queue: string, declared: Declared): DeadLetterTarget | undefined {
  const { dead_letter, dead_letter_exchange: exchange, dead_letter_routing_key: routingKey = queue } = declared;
  if (exchange !== undefined) return { exchange, routingKey };
  return dead_letter ? { exchange: deadLetterExchange(queue), routingKey: queue } : undefined;
}

export interface DeadLetterTarget {
  readonly exchange: string;
  readonly routingKey: string;
}

/** Only what the config sets, because RabbitMQ compares the arguments with those of an existing queue. */
function queueArguments(queue: string, declared: Declared): Record<string, string | number> {
  const target = deadLetterTarget(queue, declared);
  const { message_ttl, max_length, max_length_bytes, overflow, delivery_limit } = declared;
  const wanted = {
    "x-dead-letter-exchange": target?.exchange,
    "x-dead-letter-routing-key": target?.routingKey,
    "x-message-ttl": message_ttl && Math.round(message_ttl),
    "x-max-length": max_length,
    "x-max-length-bytes": max_length_bytes,
    "x-overflow": overflow,
    "x-delivery-limit": delivery_limit,
  };
  return Object.fromEntries(
    Object.entries(wanted).filter((each): each is [string, string | number] => each[1] !== undefined),
  );
}

/** A message whose time in the retry queue is over returns to the queue through the default exchange. */
async function declareRetryQueue(channel: Channel, queue: string, delayMs: number): Promise<void> {
  const back = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue };
  await channel.assertQueue(retryQueue(queue, delayMs), {
    durable: true,
    arguments: { "x-message-ttl": Math.round(delayMs), ...back },
  });
}
