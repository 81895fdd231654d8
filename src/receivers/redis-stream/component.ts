import { hostname } from "node:os";
import { BrokerReceiver } from "#brokers";
import { defineReceiver, SIGNALS } from "../../plugin.js";
import { type RedisStreamReceiverConfig, redisStreamReceiverSchema } from "./config.js";
import { StreamSource } from "./stream-source.js";

/**
 * Reads entries of Redis streams as a member of a consumer group. An entry is acknowledged once every exporter in the
 * pipeline has its data on disk.
 */
export const redisStreamReceiver = defineReceiver<RedisStreamReceiverConfig>({
  type: "redis_stream",
  summary: "Reads entries of Redis streams with a consumer group, and acknowledges them once their data is safe.",
  signals: SIGNALS,
  // A consumer of the group recognises its own entries by its name, and entries that it has taken by its queues.
  workers: "one",
  schema: redisStreamReceiverSchema,
  create: (config, context) =>
    new BrokerReceiver(config, context, ({ signals, dedup }) => {
      const consumer = config.consumer ?? `${hostname()}:${context.id}`;
      return { sources: signals.map((signal) => new StreamSource(signal, consumer, config, context, dedup)) };
    }),
});
