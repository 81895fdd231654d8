import { open, writeSync } from "node:fs";
import process from "node:process";
import { promisify } from "node:util";
import { connect } from "amqplib";

/**
 * A consumer written by hand, the baseline of a handler: reads a queue of RabbitMQ, parses each message,
 * calls a function and acknowledges. With a file it appends each message there and calls fdatasync before that, for all
 * messages that wait together. It has nothing else: no retries, no dead letters, no limits.
 *
 *     node bench/roles/bare-consumer.js <endpoint> <queue> <messages per round> [<file>]
 *
 * Prints a line when it is ready, and one after each round.
 */
const [endpoint = "", queue = "", perRound = "", file] = process.argv.slice(2);
const PREFETCH = 100;

const connection = await connect(endpoint, { noDelay: true });
const channel = await connection.createChannel();
await channel.prefetch(PREFETCH);
const append = file === undefined ? undefined : await appender(file);
let count = 0;

await channel.consume(queue, async (message) => {
  if (message === null) return;
  if (append !== undefined) await append(message.content);
  await handle(JSON.parse(message.content.toString("utf8")));
  channel.ack(message);
});
writeSync(1, "ready\n");

/** The same as the handler of the agent does. */
async function handle(/** @type {{ id?: number }} */ order) {
  if (order.id === undefined) throw new Error("an order without an id");
  count += 1;
  if (count % Number(perRound) === 0) writeSync(1, "done\n");
}

/** Returns a function that resolves when the bytes are on disk. What comes during a write shares the next one. */
async function appender(/** @type {string} */ path) {
  const { write, fdatasync } = await import("node:fs");
  const fd = await promisify(open)(path, "a");
  /** @type {Promise<void> | undefined} */
  let running;
  /** @type {Promise<void> | undefined} */
  let next;
  /** @type {Buffer[]} */
  let waiting = [];
  const flush = async () => {
    await running;
    const bytes = Buffer.concat(waiting);
    waiting = [];
    running = next;
    next = undefined;
    await promisify(write)(fd, bytes);
    await promisify(fdatasync)(fd);
    running = undefined;
  };
  return (/** @type {Buffer} */ bytes) => {
    waiting.push(bytes);
    next ??= flush();
    return next;
  };
}
