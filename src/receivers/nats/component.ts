import { BrokerReceiver, NatsLink, type OpenSources, type SourceServices } from "#brokers";
import { defineReceiver, type ReceiverContext, SIGNALS } from "../../plugin.js";
import { type NatsReceiverConfig, natsReceiverSchema } from "./config.js";
import { NatsSource } from "./nats-source.js";

/**
 * Reads messages of JetStream streams. A message is acknowledged once every exporter in the pipeline has its data on
 * disk.
 */
export const natsReceiver = defineReceiver<NatsReceiverConfig>({
  type: "nats",
  summary: "Reads messages from NATS JetStream, and acknowledges them once their data is safe.",
  signals: SIGNALS,
  // Messages that are redelivered after a crash are recognised by their queues, which belong to one worker.
  workers: "one",
  schema: natsReceiverSchema,
  create: (config, context) =>
    new BrokerReceiver(config, context, (services) => openSources(config, context, services)),
});

/** One connection for all signals. */
async function openSources(
  config: NatsReceiverConfig,
  context: ReceiverContext,
  { signals, dedup }: SourceServices,
): Promise<OpenSources> {
  const link = new NatsLink(config, context);
  const sources = signals.map((signal) => new NatsSource(signal, config, link, context, dedup));
  link.onFailure = (reason) => {
    for (const source of sources) source.reportDown(reason);
  };
  await link.start();
  return { sources, close: () => link.stop() };
}
