import process from "node:process";
import { batchFromJson } from "../../dist/plugin.js";
import { systemClock } from "../../dist/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../dist/runtime/contract/observability.js";
import { median } from "./statistics.js";

/** Number of concurrent sends. */
export const LANES = 4;

/**
 * Number of concurrent sends to brokers that sync confirmed messages to disk in groups: with few at a time, only the
 * disk's latency would be measured.
 */
export const MANY_LANES = 32;

/**
 * Calls `send` this many times, some of them concurrently.
 *
 * @param {number} times
 * @param {() => Promise<unknown>} send
 * @param {number} [lanes]
 */
export async function inLanes(times, send, lanes = LANES) {
  const lane = async () => {
    for (let i = 0; i < times / lanes; i++) await send();
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** CPU time of the work per record, in microseconds. */
export async function cpuPerRecord(/** @type {number} */ records, /** @type {() => Promise<unknown>} */ work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / records;
}

/** A batch of log records, as all broker benchmarks send it. */
export function logsBatch(/** @type {number} */ records) {
  const logRecords = Array.from({ length: records }, (_, i) => ({
    timeUnixNano: "1700000000000000000",
    severityNumber: 9,
    body: { stringValue: `order ${i} was taken ${"x".repeat(60)}` },
    attributes: [{ key: "order.id", value: { intValue: String(i) } }],
  }));
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

const common = { logger: silentLogger, metrics: noMetrics, clock: systemClock, random: Math.random };

/**
 * CPU time of the exporter per record, in microseconds, over this many sends. `options` makes the options of each send.
 *
 * @param {import("../../dist/plugin.js").ExporterFactory<any>} factory
 * @param {object} keys
 * @param {import("../../dist/plugin.js").Batch} batch
 * @param {number} times
 * @param {() => import("../../dist/plugin.js").SendOptions} [options]
 * @param {number} [lanes]
 */
export async function measureExporter(factory, keys, batch, times, options = () => ({}), lanes = LANES) {
  const made = factory.create(factory.schema.parse(keys), { ...common, id: factory.type, kind: "exporter" });
  await made.start?.();
  // Each call gets its own signal, as in an agent.
  const send = () => Promise.resolve(made.send(batch, new AbortController().signal, options()));
  const used = await cpuPerRecord(times * batch.count, () => inLanes(times, send, lanes));
  await made.stop?.();
  return used;
}

/**
 * CPU time of the receiver per record, in microseconds, until it has handed in this many. The intake behind it accepts
 * everything at once.
 *
 * @param {import("../../dist/plugin.js").ReceiverFactory<any>} factory
 * @param {object} keys
 * @param {number} records
 */
export async function measureReceiver(factory, keys, records) {
  let count = 0;
  let done = () => {};
  const all = new Promise((resolve) => {
    done = () => resolve(undefined);
  });
  const intake = {
    /** @param {import("../../dist/plugin.js").Batch} taken */
    accept: async (taken) => {
      count += taken.count;
      if (count >= records) done();
      return { ok: /** @type {const} */ (true), rejected: 0, message: "" };
    },
    reserve: () => true,
    release() {},
  };
  const context = { ...common, id: factory.type, kind: /** @type {const} */ ("receiver"), intakes: { logs: intake } };
  const made = factory.create(factory.schema.parse(keys), context);
  return cpuPerRecord(records, async () => {
    await made.start();
    await all;
    await made.stop();
  });
}

/**
 * Prints the medians, and the ratio of each of ours to the bare one.
 *
 * @param {Record<string, number[]>} results
 * @param {readonly (readonly [ours: string, bare: string])[]} pairs
 */
export function report(results, pairs) {
  for (const [name, figures] of Object.entries(results))
    console.log(`${name.padEnd(10)} ${median(figures).toFixed(3)}`);
  const of = (/** @type {string} */ name) => median(results[name] ?? []);
  console.log(pairs.map(([ours, bare]) => `${ours}/${bare} ${(of(ours) / of(bare)).toFixed(2)}`).join(", "));
}
