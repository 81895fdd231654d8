import process from "node:process";
import { parseArgs } from "node:util";
import { logsBatch, MANY_LANES, measureExporter, measureReceiver, report } from "./lib/broker-load.js";

/**
 * Compares the receivers and exporters of RabbitMQ, NATS, Redis and SQS with a bare client, of the same library if there
 * is one, in alternating rounds: CPU per record.
 *
 *     npm run build && node bench/brokers.js rabbitmq --endpoint amqp://guest:guest@127.0.0.1:5672
 *     npm run build && node bench/brokers.js nats --endpoint nats://127.0.0.1:4222
 *     npm run build && node bench/brokers.js sqs --endpoint http://127.0.0.1:9324
 *     npm run build && node bench/brokers.js redis --endpoint 127.0.0.1:6379      [--messages 4000] [--records 100] [--rounds 5]
 *
 * Each creates its own queue or stream and deletes it at the end. Writers wait for the server's confirmation of each
 * message, readers acknowledge each. The intake behind the receiver accepts everything at once.
 *
 * @typedef {object} BareBroker
 * @property {() => Promise<void>} close
 * @property {(messages: number) => Promise<number>} write CPU a record of a bare writer
 * @property {(messages: number, round: number) => Promise<number>} read CPU a record of a bare reader
 * @property {() => { factory: import("../dist/plugin.js").ExporterFactory<any>, keys: object }} exporter
 * @property {(round: number) => { factory: import("../dist/plugin.js").ReceiverFactory<any>, keys: object }} receiver
 * @property {(messages: number) => Promise<void>} fill Puts so many there to be read, and nothing else.
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    endpoint: { type: "string", default: "" },
    messages: { type: "string", default: "4000" },
    records: { type: "string", default: "100" },
    rounds: { type: "string", default: "5" },
  },
});
const MESSAGES = Number(options.messages);
const RECORDS = Number(options.records);
const ROUNDS = Number(options.rounds);

const BROKERS = ["rabbitmq", "nats", "redis", "sqs"];
const [name = ""] = positionals;
if (!BROKERS.includes(name)) {
  console.error(`Say which: node bench/brokers.js ${BROKERS.join("|")} --endpoint <where it is>`);
  process.exit(2);
}
const batch = logsBatch(RECORDS);
const { openBare } = await import(`./lib/brokers/${name}.js`);
/** @type {BareBroker} */
const bare = await openBare(options.endpoint, `bench-${process.pid}`, batch);
/** @type {Record<string, number[]>} */
const results = { writer: [], exporter: [], reader: [], receiver: [] };
let sequence = 0;
const sendOptions = () => ({ idempotencyKey: `q-${sequence++}` });
// The very first round is a warm-up.
for (let round = -1; round < ROUNDS; round++) {
  const { factory, keys } = bare.exporter();
  const reading = bare.receiver(round + 1);
  const figures = {
    writer: await bare.write(MESSAGES),
    exporter: await measureExporter(factory, keys, batch, MESSAGES, sendOptions, MANY_LANES),
    reader: await filled(() => bare.read(MESSAGES, round + 1)),
    receiver: await filled(() => measureReceiver(reading.factory, reading.keys, MESSAGES * RECORDS)),
  };
  if (round >= 0) for (const [who, figure] of Object.entries(figures)) results[who]?.push(figure);
}
await bare.close();

console.log(
  `${name}: ${MESSAGES} messages of ${RECORDS} records, ${batch.bytes.length} bytes each; median us of CPU a record`,
);
report(results, [
  ["exporter", "writer"],
  ["receiver", "reader"],
]);

async function filled(/** @type {() => Promise<number>} */ work) {
  await bare.fill(MESSAGES);
  return work();
}
