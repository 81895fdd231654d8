import { BrokerReceiver } from "#brokers";
import { defineReceiver } from "../../plugin.js";
import { type KafkaReceiverConfig, kafkaReceiverSchema } from "./config.js";
import { KafkaSource } from "./kafka-source.js";

export const kafkaReceiver = defineReceiver<KafkaReceiverConfig>({
  type: "kafka",
  summary: "Reads Kafka topics; an offset is committed once every exporter of the pipeline has the data on disk.",
  // Messages that are redelivered after a crash are recognised by their queues, which belong to one worker.
  workers: "one",
  schema: kafkaReceiverSchema,
  create: (config, context) =>
    new BrokerReceiver(config, context, (services) => ({ sources: [new KafkaSource(config, context, services)] })),
});
