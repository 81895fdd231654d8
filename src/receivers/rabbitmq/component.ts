import { BrokerReceiver, type OpenSources, RabbitClient, type SourceServices } from "#brokers";
import { defineReceiver, type ReceiverContext, SIGNALS, type Signal, StartError } from "../../plugin.js";
import { type RabbitmqReceiverConfig, rabbitmqReceiverSchema } from "./config.js";
import { QueueReader } from "./queue-reader.js";

/** Reads telemetry, or any messages, from RabbitMQ queues. */
export const rabbitmqReceiver = defineReceiver<RabbitmqReceiverConfig>({
  type: "rabbitmq",
  summary: "Reads RabbitMQ queues; a message is acknowledged once every exporter has it on disk.",
  signals: SIGNALS,
  // Messages that are redelivered after a crash are recognised by their queues, which belong to one worker.
  workers: "one",
  schema: rabbitmqReceiverSchema,
  create: (config, context) =>
    new BrokerReceiver(config, context, (services) => openSources(config, context, services)),
});

/** A broker that is not available does not delay the agent's start: its queues are read as soon as it is. */
async function openSources(
  config: RabbitmqReceiverConfig,
  context: ReceiverContext,
  { signals, dedup }: SourceServices,
): Promise<OpenSources> {
  const queues = queuesOf(config, signals);
  const client = await RabbitClient.create(config.connection, context.id);
  const sources = queues.map(
    ({ queue, ...settings }) => new QueueReader(queue, { ...settings, dedup }, config, client, context),
  );
  return { sources };
}

/** The queue and encoding of each signal that has a pipeline. */
function queuesOf(config: RabbitmqReceiverConfig, signals: readonly Signal[]) {
  const sources = signals.map((signal) => {
    const { queue, encoding = config.encoding } = config[signal] ?? { queue: config.queue };
    if (queue === "")
      throw new StartError(`a pipeline reads ${signal} from it, but no queue is configured for them`, [signal]);
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
