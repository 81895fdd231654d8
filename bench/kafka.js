import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { kafkaExporter } from "../dist/exporters/kafka/kafka.js";
import { batchFromJson } from "../dist/plugin.js";
import { kafkaReceiver } from "../dist/receivers/kafka/kafka.js";
import { systemClock } from "../dist/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../dist/runtime/contract/observability.js";
import { cpuPerRecord, inLanes, LANES } from "./lib/broker-load.js";
import { median } from "./lib/statistics.js";

/**
 * The kafka receiver and exporter beside a bare consumer and producer of the same client library: CPU a record, taking turns.
 *
 *     npm run build && node bench/kafka.js --broker 127.0.0.1:9092 [--messages 6000] [--records 100] [--rounds 5]
 *
 * The client library is that of `scripts/kafka-client.sh`. It makes a topic of four partitions for itself and deletes it at the end. What is behind the receiver takes everything at once.
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
const common = { logger: silentLogger, metrics: noMetrics, clock: systemClock, random: Math.random };
const logRecords = Array.from({ length: RECORDS }, (_, i) => ({
  timeUnixNano: "1700000000000000000",
  severityNumber: 9,
  body: { stringValue: `order ${i} was taken ${"x".repeat(60)}` },
  attributes: [{ key: "order.id", value: { intValue: String(i) } }],
}));
const batch = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
const value = Buffer.from(batch.bytes);

const admin = new Admin(connection);
await admin.createTopics({ topics: [topic], partitions: LANES, replicas: 1 });
/** @type {Record<string, number[]>} */
const results = { producer: [], exporter: [], consumer: [], receiver: [] };
for (let round = 0; round < Number(options.rounds); round++) {
  results["producer"]?.push(await bareProducer());
  results["exporter"]?.push(await exporter());
}
for (let round = 0; round < Number(options.rounds); round++) {
  results["consumer"]?.push(await bareConsumer(round));
  results["receiver"]?.push(await receiver(round));
}
await admin.deleteTopics({ topics: [topic] });
await admin.close();

console.log(`${MESSAGES} messages of ${RECORDS} records, ${value.length} bytes each; median us of CPU a record`);
for (const [name, figures] of Object.entries(results)) console.log(`${name.padEnd(10)} ${median(figures).toFixed(3)}`);
const ratio = (/** @type {string} */ ours, /** @type {string} */ bare) =>
  (median(results[ours] ?? []) / median(results[bare] ?? [])).toFixed(2);
console.log(`exporter/producer ${ratio("exporter", "producer")}, receiver/consumer ${ratio("receiver", "consumer")}`);

/** From here on this program runs where the client is installed: there the receiver and the exporter look for it. */
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

async function exporter() {
  const config = kafkaExporter.schema.parse({ brokers: [options.broker], logs: { topic } });
  const made = kafkaExporter.create(config, { ...common, id: "kafka", kind: "exporter" });
  await made.start?.();
  const { signal } = new AbortController();
  const used = await cpuPerRecord(MESSAGES * RECORDS, () => inLanes(MESSAGES, () => made.send(batch, signal)));
  await made.stop?.();
  return used;
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

async function receiver(/** @type {number} */ round) {
  let count = 0;
  let done = () => {};
  const all = new Promise((resolve) => {
    done = () => resolve(undefined);
  });
  const intake = {
    /** @param {import("../dist/plugin.js").Batch} taken */
    accept: async (taken) => {
      count += taken.count;
      if (count >= MESSAGES * RECORDS) done();
      return { ok: /** @type {const} */ (true), rejected: 0, message: "" };
    },
    reserve: () => true,
    release() {},
  };
  const keys = {
    brokers: [options.broker],
    group_id: `${topic}-${round}`,
    initial_offset: "earliest",
    logs: { topic },
  };
  const context = { ...common, id: "kafka", kind: /** @type {const} */ ("receiver"), intakes: { logs: intake } };
  const made = kafkaReceiver.create(kafkaReceiver.schema.parse(keys), context);
  const used = await cpuPerRecord(MESSAGES * RECORDS, async () => {
    await made.start();
    await all;
  });
  await made.stop();
  return used;
}
