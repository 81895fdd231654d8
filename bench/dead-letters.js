import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { ClassicLevel } from "classic-level";
import { Batch } from "../dist/plugin.js";
import { openOfflineQueues } from "../dist/runtime/queue/operate/offline-queues.js";
import { LevelStore } from "../dist/runtime/queue/store/level-store.js";

/**
 * Dead letters: what writing one costs compared with an fsynced LevelDB write of the same size. With many of them: how
 * long opening, listing, counting and deleting take, and how much deleting delays concurrent puts.
 *
 *     npm run build && node bench/dead-letters.js [--entries 100000] [--writes 500] [--directory /somewhere]
 */
const { values: options } = parseArgs({
  options: {
    entries: { type: "string", default: "100000" },
    writes: { type: "string", default: "500" },
    directory: { type: "string", default: tmpdir() },
  },
});
const ENTRIES = Number(options.entries);
const WRITES = Number(options.writes);
const fresh = {
  batch: Batch.trusted("logs", new Uint8Array(500).fill(1), 1),
  pipeline: "logs",
  source: { receiver: "otlp", transport: "http" },
  enqueuedAt: Date.now(),
  generation: "1",
};
const root = await mkdtemp(join(options.directory, "bench-dead-"));
const path = join(root, "otlp_http");
try {
  await writes();
  await fill();
  await manyOf();
} finally {
  await rm(root, { recursive: true, force: true });
}

/** One at a time, alternating with plain LevelDB, so that both see the same disk. */
async function writes() {
  const store = await openStore(join(root, "writes"), "fsync");
  const bare = new ClassicLevel(join(root, "bare"), { valueEncoding: "view" });
  const value = Buffer.from(JSON.stringify(deadLetterOf((await store.put(fresh)).entry, 0)));
  /** @type {number[]} */
  const alone = [];
  /** @type {number[]} */
  const ours = [];
  for (let i = 0; i < WRITES; i++) {
    const { ref, entry } = await store.put(fresh);
    alone.push(await timed(() => bare.put(String(i), value, { sync: true })));
    ours.push(await timed(() => store.fail(ref, deadLetterOf(entry, i))));
  }
  for (const [name, times] of /** @type {const} */ ([
    ["LevelDB alone", alone],
    ["a dead letter", ours],
  ]))
    console.log(`write of ${name}: p50 ${at(times, 0.5)} ms, p99 ${at(times, 0.99)} ms`);
  await store.close();
  await bare.close();
}

async function fill() {
  const store = await openStore(path, "process");
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < ENTRIES; i = next++) {
      const { ref, entry } = await store.put(fresh);
      await store.fail(ref, deadLetterOf(entry, i));
    }
  };
  await Promise.all(Array.from({ length: 64 }, worker));
  await store.close();
}

async function manyOf() {
  const start = performance.now();
  const { admin, close } = await openOfflineQueues(root);
  console.log(`open with ${ENTRIES} dead letters: ${(performance.now() - start).toFixed(0)} ms`);
  await say("first page of 100", () => admin.listDeadLetters({ limit: 100 }));
  await say("first page of 100, a filter that finds nothing", () => admin.listDeadLetters({ limit: 100, event: "no" }));
  await say("all causes", () => untilCounted(admin));
  await say("every page of a text that is nowhere", () => everyPage(admin, { text: "is nowhere" }));
  await say("stats", () => admin.deadLetterStats({}));
  await close();
  const store = await openStore(path, "fsync");
  /** @type {number[]} */
  const refs = [];
  for (let after; ; after = refs.at(-1)) {
    const page = await store.failed(after, 1000, "oldest");
    if (page.length === 0) break;
    for (const { ref } of page) refs.push(ref);
  }
  const quiet = await putsDuring(store, new Promise((resolve) => setTimeout(resolve, 1000)));
  const began = performance.now();
  const busy = await putsDuring(store, store.delete(refs.slice(0, ENTRIES / 2)));
  console.log(`delete of ${ENTRIES / 2}: ${(performance.now() - began).toFixed(0)} ms`);
  console.log(`put meanwhile: p50 ${at(busy, 0.5)} ms, p99 ${at(busy, 0.99)} ms`);
  console.log(`put otherwise: p50 ${at(quiet, 0.5)} ms, p99 ${at(quiet, 0.99)} ms`);
  await store.close();
}

/** @typedef {Awaited<ReturnType<typeof openOfflineQueues>>["admin"]} Admin */

async function untilCounted(/** @type {Admin} */ admin) {
  while (!(await admin.deadLetterGroups({})).isComplete);
}

async function everyPage(/** @type {Admin} */ admin, /** @type {{ text: string }} */ query) {
  let cursor;
  do ({ cursor } = await admin.listDeadLetters({ ...query, ...(cursor !== undefined && { cursor }) }));
  while (cursor !== undefined);
}

async function putsDuring(/** @type {LevelStore} */ store, /** @type {Promise<unknown>} */ other) {
  /** @type {number[]} */
  const times = [];
  let isOver = false;
  const over = other.then(() => {
    isOver = true;
  });
  while (!isOver) times.push(await timed(() => store.put(fresh)));
  await over;
  return times;
}

async function openStore(/** @type {string} */ directory, /** @type {"fsync" | "process"} */ durability) {
  const store = new LevelStore({ exporter: "otlp_http", directory, durability, intervalMs: 100 });
  await store.open();
  return store;
}

function deadLetterOf(
  /** @type {import("../dist/runtime/contract/operations/entry.js").Entry} */ entry,
  /** @type {number} */ n,
) {
  const error = /** @type {const} */ ({
    kind: "permanent",
    class: "HTTP 400",
    message: `field ${n} is not right`,
    code: "HTTP_400",
  });
  const failure = /** @type {const} */ ({
    at: Date.now(),
    reason: "permanent",
    category: "schema",
    error,
    signature: "72c099e961bc",
    names: ["order.paid"],
    traceIds: [],
    schemaUrls: [],
  });
  return { ...entry, state: /** @type {const} */ ("failed"), attempts: 1, calls: 1, lastError: error, failure };
}

async function say(/** @type {string} */ what, /** @type {() => Promise<unknown>} */ run) {
  const times = [];
  for (let i = 0; i < 3; i++) {
    const before = process.cpuUsage();
    const ms = await timed(run);
    const { user, system } = process.cpuUsage(before);
    times.push(`${ms.toFixed(0)} (CPU ${((user + system) / 1000).toFixed(0)})`);
  }
  console.log(`${what}: ${times.join(", ")} ms`);
}

async function timed(/** @type {() => Promise<unknown>} */ run) {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

function at(/** @type {number[]} */ times, /** @type {number} */ share) {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)]?.toFixed(1);
}
