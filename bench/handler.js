import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { connect } from "amqplib";
import { inLanes } from "./lib/broker-load.js";
import { usageOf } from "./lib/processes/usage.js";
import { median } from "./lib/statistics.js";

/**
 * Measures what a handler of Sluice adds to a message of RabbitMQ, beside hand-written consumers with the same
 * client: CPU of each process per message, in alternating rounds. Messages are persistent, in durable queues, and
 * published with confirms. The agent has each message on disk (fsync) before it acknowledges it, keeps its key, and
 * would retry it and keep it as a dead letter. One consumer acknowledges after its function; the other one writes each
 * message to a file with fdatasync before that.
 *
 *     npm run build && node bench/handler.js --endpoint amqp://guest:guest@127.0.0.1:5672 [--messages 10000] [--rounds 5] [--bytes 500] [--profile]
 */
const { values: options } = parseArgs({
  options: {
    endpoint: { type: "string", default: "amqp://guest:guest@127.0.0.1:5672" },
    messages: { type: "string", default: "10000" },
    rounds: { type: "string", default: "5" },
    bytes: { type: "string", default: "500" },
    /** Writes a CPU profile of the agent into the current folder. */
    profile: { type: "boolean", default: false },
  },
});
const MESSAGES = Number(options.messages);
const ROUNDS = Number(options.rounds);
/** Messages that wait for their confirm: enough for the consumers to have work all the time. */
const UNCONFIRMED = 1000;
const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-handler-"));

const HANDLER = `import { writeSync } from "node:fs";
import { defineHandler, Refusal } from "sluice/plugin";
let count = 0;
export const takeOrder = defineHandler({
  type: "take_order",
  async handle(message) {
    const order = message.json();
    if (order.id === undefined) throw new Refusal("permanent", "an order without an id");
    count += 1;
    if (count % ${MESSAGES} === 0) writeSync(1, "done\\n");
  },
});
`;

function agentConfig(/** @type {string} */ queue) {
  writeFileSync(join(folder, "orders.mjs"), HANDLER);
  const config = {
    plugins: ["./orders.mjs"],
    receivers: { rabbitmq: { connection: { endpoint: options.endpoint }, queue, encoding: "raw" } },
    exporters: { take_order: {} },
    extensions: { reliability: { directory: join(folder, "queue") } },
    service: {
      extensions: ["reliability"],
      telemetry: { metrics: { level: "none" } },
      pipelines: { logs: { receivers: ["rabbitmq"], exporters: ["take_order"] } },
    },
  };
  const file = join(folder, "sluice.yaml");
  writeFileSync(file, JSON.stringify(config));
  return file;
}

const bare = join(root, "bench/roles/bare-consumer.js");
const profiled = options.profile ? ["--cpu-prof", "--cpu-prof-dir=."] : [];
/** @type {Record<string, (queue: string) => string[]>} */
const SUBJECTS = {
  bare: (queue) => [bare, options.endpoint, queue, String(MESSAGES)],
  "bare+fsync": (queue) => [bare, options.endpoint, queue, String(MESSAGES), join(folder, "messages")],
  agent: (queue) => [...profiled, join(root, "bin/sluice.js"), "run", "--config", agentConfig(queue)],
};

const admin = await connect(options.endpoint, { noDelay: true });
const channel = await admin.createConfirmChannel();
const body = Buffer.from(JSON.stringify({ id: 1, text: "x".repeat(Math.max(0, Number(options.bytes) - 20)) }));
let sequence = 0;

/** Publishes the messages of one round and waits for all confirms. */
function publish(/** @type {string} */ queue) {
  return inLanes(
    MESSAGES,
    () =>
      new Promise((resolve, reject) => {
        const properties = { persistent: true, messageId: `m-${sequence++}`, headers: { "x-tenant": "acme" } };
        channel.publish("", queue, body, properties, (error) => (error ? reject(error) : resolve(undefined)));
      }),
    UNCONFIRMED,
  );
}

/** Starts a consumer of its own queue. */
async function start(/** @type {string} */ name) {
  const queue = `bench-handler-${process.pid}-${name}`;
  await channel.assertQueue(queue, { durable: true });
  const child = spawn(process.execPath, SUBJECTS[name]?.(queue) ?? [], { stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  let rounds = 0;
  let heard = () => {};
  createInterface(child.stdout).on("line", (line) => {
    if (line === "done") rounds += 1;
    heard();
  });
  const handled = async (/** @type {number} */ wanted) => {
    while (rounds < wanted) {
      if (child.exitCode !== null) throw new Error(`${name} has ended: ${errors.slice(-2000)}`);
      await new Promise((resolve) => {
        heard = () => resolve(undefined);
        child.once("exit", resolve);
      });
    }
  };
  const run = async () => {
    const before = await cpuOf(child);
    const wanted = rounds + 1;
    await publish(queue);
    await handled(wanted);
    return ((await cpuOf(child)) - before) / MESSAGES;
  };
  const stop = async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    await channel.deleteQueue(queue);
  };
  return { run, stop };
}

/** CPU time of a process so far, in microseconds. */
async function cpuOf(/** @type {import("node:child_process").ChildProcess} */ child) {
  return (await usageOf(child))?.cpuUs ?? Number.NaN;
}

const names = Object.keys(SUBJECTS);
/** @type {Record<string, Awaited<ReturnType<typeof start>>>} */
const started = {};
/** @type {Record<string, number[]>} */
const results = Object.fromEntries(names.map((name) => [name, []]));
try {
  for (const name of names) started[name] = await start(name);
  // The first round is a warm-up.
  for (let round = -1; round < ROUNDS; round++)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const figure = await started[name]?.run();
      if (round >= 0 && figure !== undefined) results[name]?.push(figure);
    }
} finally {
  for (const subject of Object.values(started)) await subject.stop();
  await admin.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${MESSAGES} messages of ${body.length} bytes a round, ${ROUNDS} rounds; median us of CPU a message`);
for (const name of names) console.log(`${name.padEnd(10)} ${median(results[name] ?? []).toFixed(1)}`);
const of = (/** @type {string} */ name) => median(results[name] ?? []);
console.log(
  `the agent adds ${(of("agent") - of("bare+fsync")).toFixed(1)} to bare+fsync, and ${(of("agent") - of("bare")).toFixed(1)} to bare`,
);
