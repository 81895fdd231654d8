import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type {
  KafkaAdmin,
  KafkaClient,
  KafkaConnectionOptions,
  KafkaConsumer,
  KafkaConsumerOptions,
} from "../../../src/runtime/brokers/kafka/client.js";

const folder = process.env["SLUICE_KAFKA_CLIENT"] ?? join(homedir(), ".cache/sluice-test/kafka-client-1.35.0");

/** Where `scripts/kafka-client.sh` puts the client library. */
export const kafkaClientModules = join(folder, "node_modules");

export const hasKafkaClient = existsSync(join(kafkaClientModules, "@platformatic/kafka/package.json"));

/** The parts of the client that tests use and Sluice does not. */
interface KafkaTestClient extends KafkaClient {
  readonly Admin: new (options: KafkaConnectionOptions) => KafkaTestAdmin;
  readonly Consumer: new (options: KafkaConsumerOptions) => KafkaStreamConsumer;
}

interface KafkaTestAdmin extends KafkaAdmin {
  createTopics(options: { topics: string[]; partitions: number; replicas: number }): Promise<unknown>;
}

interface KafkaStreamConsumer extends KafkaConsumer {
  consume(options: {
    topics: string[];
    mode: "earliest";
    autocommit: boolean;
  }): Promise<AsyncIterable<KafkaStreamMessage>>;
}

interface KafkaStreamMessage {
  readonly key: Buffer | undefined;
  readonly value: Buffer;
  readonly partition: number;
  readonly headers: ReadonlyMap<Buffer, Buffer>;
}

/** The client library itself, as tests speak to a broker past Sluice. */
export async function kafkaTestClient(): Promise<KafkaTestClient> {
  const file = createRequire(join(kafkaClientModules, "package.json")).resolve("@platformatic/kafka");
  return (await import(pathToFileURL(file).href)) as KafkaTestClient;
}
