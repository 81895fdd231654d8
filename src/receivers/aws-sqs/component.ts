import { BrokerReceiver, type OpenSources, type SourceServices } from "#brokers";
import { refusedSqsSignal, SqsClient, SqsQueue, sqsQueueOf } from "#brokers/sqs";
import { defineReceiver, type ReceiverContext, SIGNALS, StartError } from "../../plugin.js";
import { type AwsSqsReceiverConfig, awsSqsReceiverSchema } from "./config.js";
import { SqsSource } from "./sqs-source.js";

/** Reads messages of SQS queues. A message is deleted once every exporter in the pipeline has its data on disk. */
export const awsSqsReceiver = defineReceiver<AwsSqsReceiverConfig>({
  type: "aws_sqs",
  summary: "Reads queues of Amazon SQS, standard and FIFO, and deletes messages once their data is safe.",
  signals: SIGNALS,
  // Messages that are redelivered after a crash are recognised by their queues, which belong to one worker.
  workers: "one",
  schema: awsSqsReceiverSchema,
  create: (config, context) =>
    new BrokerReceiver(config, context, (services) => openSources(config, context, services)),
});

/** A source for each signal. Queues may be on different hosts, so each has its own client. */
async function openSources(
  config: AwsSqsReceiverConfig,
  context: ReceiverContext,
  { signals, dedup }: SourceServices,
): Promise<OpenSources> {
  const clients: SqsClient[] = [];
  const sources: SqsSource[] = [];
  for (const signal of signals) {
    const refused = refusedSqsSignal(config, signal);
    if (refused !== undefined) throw new StartError(`a pipeline reads ${signal}, but ${refused}`, [signal]);
    const { address, encoding } = sqsQueueOf(config, signal)!;
    const client = new SqsClient(config, address, context);
    await client.start();
    clients.push(client);
    const settings = { signal, encoding, dedup };
    sources.push(new SqsSource(new SqsQueue(client, address), settings, config, context));
  }
  const close = async () => {
    for (const client of clients) client.stop();
  };
  return { sources, close };
}
