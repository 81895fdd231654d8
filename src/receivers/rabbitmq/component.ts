import { createDedup, type Dedup, RabbitClient } from "#brokers";
import { defineReceiver, type Receiver, type ReceiverContext, SIGNALS, StartError } from "../../plugin.js";
import { type RabbitmqReceiverConfig, rabbitmqReceiverSchema } from "./config.js";
import { QueueReader } from "./queue-reader.js";

/** Reads telemetry, or any messages, from RabbitMQ queues. */
export const rabbitmqReceiver = defineReceiver<RabbitmqReceiverConfig>({
  type: "rabbitmq",
  summary: "Reads RabbitMQ queues; a message is acknowledged once every exporter has it on disk.",
  signals: SIGNALS,
  schema: rabbitmqReceiverSchema,
  create: (config, context) => new RabbitmqReceiver(config, context),
});

class RabbitmqReceiver implements Receiver {
  private readonly config: RabbitmqReceiverConfig;
  private readonly context: ReceiverContext;
  private readers: readonly QueueReader[] = [];
  private dedup: Dedup | undefined;

  constructor(config: RabbitmqReceiverConfig, context: ReceiverContext) {
    this.config = config;
    this.context = context;
  }

  /** A broker that is not available does not delay the agent's start: its queues are read as soon as it is. */
  async start(): Promise<void> {
    const { config, context } = this;
    const sources = sourcesOf(config, context);
    const client = await RabbitClient.create(config.connection, context.id);
    const dedup = createDedup(config.dedup, context);
    await dedup?.start();
    this.dedup = dedup;
    this.readers = sources.map(
      ({ queue, ...settings }) => new QueueReader(queue, { ...settings, dedup }, config, client, context),
    );
    await Promise.all(this.readers.map((reader) => reader.start()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.readers.map((reader) => reader.stop()));
    await this.dedup?.stop();
  }
}

/** The queue and encoding of each signal that has a pipeline. */
function sourcesOf(config: RabbitmqReceiverConfig, context: ReceiverContext) {
  const signals = SIGNALS.filter((signal) => context.intakes[signal] !== undefined);
  const sources = signals.map((signal) => {
    const { queue, encoding = config.encoding } = config[signal] ?? { queue: config.queue };
    if (queue === "")
      throw new StartError(`a pipeline takes ${signal} from it, but no queue is named for them`, [signal]);
    if (signal !== "logs" && !encoding.startsWith("otlp_"))
      throw new StartError(`${encoding} messages are log records; ${signal} need otlp_proto or otlp_json`, [
        "encoding",
      ]);
    return { signal, queue, encoding };
  });
  const shared = sources.find(({ queue }, i) => sources.findIndex((other) => other.queue === queue) < i);
  if (shared !== undefined)
    throw new StartError(`the queue ${shared.queue} is read for two signals; name one for each: logs, traces, metrics`);
  return sources;
}
