import type { Channel } from "amqplib";
import type { RabbitmqReceiverConfig } from "./config.js";

export type Declared = NonNullable<RabbitmqReceiverConfig["declare"]>;

/** Names of the exchange for a queue's rejected messages and of the queues where they wait to return. */
export const deadLetterExchange = (queue: string) => `${queue}.dlx`;
export const deadLetterQueue = (queue: string) => `${queue}.dlq`;
export const retryQueue = (queue: string, delayMs: number) => `${queue}.retry.${Math.round(delayMs)}`;

/**
 * Declares the queue with its dead-letter queue and its retry queues, all durable. Declaring an existing queue with the
 * same arguments changes nothing; with other arguments RabbitMQ reports which one differs.
 */
export async function declareTopology(channel: Channel, queue: string, declared: Declared): Promise<void> {
  const { type, bindings, retry_delays: delays, dead_letter: hasDeadLetters } = declared;
  const kind = { "x-queue-type": type };
  if (hasDeadLetters) {
    await channel.assertExchange(deadLetterExchange(queue), "direct", { durable: true });
    await channel.assertQueue(deadLetterQueue(queue), { durable: true, arguments: kind });
    await channel.bindQueue(deadLetterQueue(queue), deadLetterExchange(queue), queue);
  }
  const toDeadLetters = {
    "x-dead-letter-exchange": deadLetterExchange(queue),
    "x-dead-letter-routing-key": queue,
  };
  await channel.assertQueue(queue, { durable: true, arguments: { ...kind, ...(hasDeadLetters && toDeadLetters) } });
  for (const delay of delays) await declareRetryQueue(channel, queue, delay);
  for (const { exchange, type: exchangeType, routing_key } of bindings) {
    await channel.assertExchange(exchange, exchangeType, { durable: true });
    await channel.bindQueue(queue, exchange, routing_key);
  }
}

/** A message whose time in the retry queue is over returns to the queue through the default exchange. */
async function declareRetryQueue(channel: Channel, queue: string, delayMs: number): Promise<void> {
  const back = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue };
  await channel.assertQueue(retryQueue(queue, delayMs), {
    durable: true,
    arguments: { "x-message-ttl": Math.round(delayMs), ...back },
  });
}
