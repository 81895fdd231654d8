import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { kafkaExporter } from "../dist/exporters/kafka/component.js";
import { kafkaReceiver } from "../dist/receivers/kafka/component.js";
import { collecting } from "./components/kit.js";
import {
  cpuPerRecord,
  inLanes,
  LANES,
  logsBatch,
  measureExporter,
  measureReceiver,
  report,
} from "./lib/broker-load.js";

/**
 * Compares the kafka receiver and exporter with a bare consumer and producer of the same client library, in alternating
 * rounds: CPU per record. The receiver `kafka_metrics` is compared with the same questions of a bare client: CPU per point.
 *
 *     npm run build && node bench/kafka.js --broker 127.0.0.1:9092 [--messages 6000] [--records 100] [--rounds 5]
 *
 * Uses the client library of `scripts/kafka-client.sh`. Creates its own topic with four partitions and deletes it at
 * the end. The intake behind the receiver accepts everything at once.
 */
const { values: options } = parseArgs({
  options: {
    broker: { type: "string", default: "127.0.0.1:9092" },
    messages: { type: "string", default: "6000" },
    records: { type: "string", default: "100" },
    rounds: { type: "string", default: "5" },
  },
});
const MESSAGES = Number(options.messages);
const RECORDS = Number(options.records);

const { Admin, Consumer, Producer } = await loadClient();

const topic = `bench-${process.pid}`;
const connection = { clientId: "bench", bootstrapBrokers: [options.broker] };
const batch = logsBatch(RECORDS);
const value = Buffer.from(batch.bytes);

const admin = new Admin(connection);
await admin.createTopics({ topics: [topic], partitions: LANES, replicas: 1 });
/** @type {Record<string, number[]>} */
const results = { producer: [], exporter: [], consumer: [], receiver: [], questions: [], kafka_metrics: [] };
for (let round = 0; round < Number(options.rounds); round++) {
  results["producer"]?.push(await bareProducer());
  results["exporter"]?.push(await exporter());
}
for (let round = 0; round < Number(options.rounds); round++) {
  results["consumer"]?.push(await bareConsumer(round));
  results["receiver"]?.push(await receiver(round));
}
for (let round = 0; round < Number(options.rounds); round++) {
  const { bare, receiver } = await metrics();
  results["questions"]?.push(bare);
  results["kafka_metrics"]?.push(receiver);
}
await admin.deleteTopics({ topics: [topic] });
await admin.close();

console.log(`${MESSAGES} messages of ${RECORDS} records, ${value.length} bytes each; median us of CPU a record`);
report(results, [
  ["exporter", "producer"],
  ["receiver", "consumer"],
  ["kafka_metrics", "questions"],
]);

/** Changes to the folder where the client is installed, because the receiver and the exporter look for it there. */
async function loadClient() {
  try {
    process.chdir(process.env.SLUICE_KAFKA_CLIENT ?? join(homedir(), ".cache/sluice-test/kafka-client-1.35.0"));
    const file = createRequire(join(process.cwd(), "package.json")).resolve("@platformatic/kafka");
    return await import(pathToFileURL(file).href);
  } catch {
    console.error("The client library of Kafka is not installed; run scripts/kafka-client.sh.");
    process.exit(1);
  }
}

async function bareProducer() {
  const producer = new Producer(connection);
  const used = await cpuPerRecord(MESSAGES * RECORDS, () =>
    inLanes(MESSAGES, () => producer.send({ messages: [{ topic, value }], acks: -1 })),
  );
  await producer.close();
  return used;
}

function exporter() {
  return measureExporter(kafkaExporter, { brokers: [options.broker], logs: { topic } }, batch, MESSAGES);
}

async function bareConsumer(/** @type {number} */ round) {
  const consumer = new Consumer({
    ...connection,
    groupId: `${topic}-bare-${round}`,
    maxBytes: 16 << 20,
    maxWaitTime: 250,
  });
  const used = await cpuPerRecord(MESSAGES * RECORDS, async () => {
    const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: 1000 });
    let count = 0;
    for await (const message of stream) if (message.value.length > 0 && ++count === MESSAGES) break;
  });
  await consumer.close(true);
  return used;
}

const COLLECTIONS = 50;

/** Collections of the topic's partitions, and of all groups. */
async function metrics() {
  const keys = { brokers: [options.broker], topic_match: topic, scrapers: ["brokers", "topics", "consumers"] };
  const running = await collecting("receiver/kafka_metrics", keys, async () => 0);
  const points = await running.turn();
  const receiver = await cpuPerRecord(COLLECTIONS * points, async () => {
    for (let i = 0; i < COLLECTIONS; i++) await running.turn();
  });
  await running.stop();
  const indexes = Array.from({ length: LANES }, (_, partitionIndex) => partitionIndex);
  const offsets = (/** @type {bigint} */ timestamp) =>
    admin.listOffsets({
      topics: [{ name: topic, partitions: indexes.map((partitionIndex) => ({ partitionIndex, timestamp })) }],
    });
  const bare = await cpuPerRecord(COLLECTIONS * points, async () => {
    for (let i = 0; i < COLLECTIONS; i++) {
      await admin.metadata({ topics: [topic], forceUpdate: true });
      await Promise.all([offsets(-1n), offsets(-2n)]);
      for (const group of (await admin.listGroups()).keys()) {
        await admin.describeGroups({ groups: [group] });
        await admin.listConsumerGroupOffsets({ groups: [group] });
      }
    }
  });
  return { bare, receiver };
}

function receiver(/** @type {number} */ round) {
  const keys = {
    brokers: [options.broker],
    group_id: `${topic}-${round}`,
    initial_offset: "earliest",
    logs: { topic },
  };
  return measureReceiver(kafkaReceiver, keys, MESSAGES * RECORDS);
}
