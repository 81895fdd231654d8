import { hostname } from "node:os";
import { createDedup, type Dedup } from "#brokers";
import { defineReceiver, type Receiver, type ReceiverContext, SIGNALS } from "../../plugin.js";
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
  schema: redisStreamReceiverSchema,
  create: (config, context) => new RedisStreamReceiver(config, context),
});

class RedisStreamReceiver implements Receiver {
  private readonly config: RedisStreamReceiverConfig;
  private readonly context: ReceiverContext;
  private sources: readonly StreamSource[] = [];
  private dedup: Dedup | undefined;

  constructor(config: RedisStreamReceiverConfig, context: ReceiverContext) {
    this.config = config;
    this.context = context;
  }

  async start(): Promise<void> {
    const dedup = createDedup(this.config.dedup, this.context);
    await dedup?.start();
    this.dedup = dedup;
    const consumer = this.config.consumer ?? `${hostname()}:${this.context.id}`;
    this.sources = SIGNALS.filter((signal) => this.context.intakes[signal] !== undefined).map(
      (signal) => new StreamSource(signal, consumer, this.config, this.context, dedup),
    );
    await Promise.all(this.sources.map((source) => source.start()));
  }

  async stop(): Promise<void> {
    const { sources } = this;
    this.sources = [];
    await Promise.all(sources.map((source) => source.stop()));
    await this.dedup?.stop();
  }
}
