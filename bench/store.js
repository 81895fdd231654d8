import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { ClassicLevel } from "classic-level";
import { Batch } from "../dist/plugin.js";
import { createQueueKey, Keyring } from "../dist/runtime/queue/store/encryption/keyring.js";
import { LevelStore } from "../dist/runtime/queue/store/level-store.js";

/**
 * The queue's store alone: the cost of an entry compared with plain LevelDB writes of the same size, with and without
 * encryption; its speed with an empty queue and with a backlog; the time to open it; and its memory and disk usage.
 *
 *     npm run build && node bench/store.js [--entries 5000] [--backlog 2000] [--rounds 3] [--directory /somewhere]
 *
 * The backlog is in MB. Everything that is compared alternates.
 */
const { values: options } = parseArgs({
  options: {
    entries: { type: "string", default: "5000" },
    backlog: { type: "string", default: "2000" },
    rounds: { type: "string", default: "3" },
    directory: { type: "string", default: tmpdir() },
  },
});
const ENTRIES = Number(options.entries);
const ROUNDS = Number(options.rounds);
const BACKLOG = Number(options.backlog) * 1e6;
const CONCURRENCY = 64;
/** Entries per turn where two stores alternate for long: short enough for both to see the same load on the machine. */
const TURN_ENTRIES = 200;
const payload = new Uint8Array(34_300).map((_, i) => (i * 7919) >>> 3);
const RECORDS = 100;
const batch = Batch.trusted("logs", payload, RECORDS);
const fresh = {
  batch,
  pipeline: "logs",
  source: { receiver: "otlp", transport: "http" },
  enqueuedAt: Date.now(),
  generation: "1",
};

const root = await mkdtemp(join(options.directory, "bench-store-"));
try {
  for (const durability of /** @type {const} */ (["fsync", "process"])) await costOf(durability);
  for (const durability of /** @type {const} */ (["fsync", "process"])) await costOfEncryption(durability);
  await halfLoad("fsync");
  await backlogOf("fsync");
} finally {
  await rm(root, { recursive: true, force: true });
}

/** Put and acknowledge, as with a healthy exporter, compared with plain LevelDB writes. */
async function costOf(/** @type {"fsync" | "process"} */ durability) {
  for (let round = 1; round <= ROUNDS; round++) {
    const store = await openStore(durability, `cost-${durability}-${round}`);
    const encrypted = await openStore(durability, `encrypted-${durability}-${round}`, newKeyring());
    const bare = await openBare(durability, `bare-${durability}-${round}`);
    report(`${durability} bare  round ${round}`, await measure(() => bare.run()));
    report(`${durability} store round ${round}`, await measure((took) => putAndAck(store, took)));
    report(`${durability} encrypted ${round}`, await measure((took) => putAndAck(encrypted, took)));
    await store.close();
    await encrypted.close();
    await bare.close();
  }
}

/**
 * Measures what encryption adds to putting and acknowledging, in many short turns: the best, and the lower quartile.
 */
async function costOfEncryption(/** @type {"fsync" | "process"} */ durability) {
  const plain = await openStore(durability, `turns-plain-${durability}`);
  const encrypted = await openStore(durability, `turns-encrypted-${durability}`, newKeyring());
  const turn = (/** @type {LevelStore} */ store) => measure((took) => putAndAck(store, took, TURN_ENTRIES));
  /** @type {[number[], number[]]} */
  const cpu = [[], []];
  for (let i = 0; i < (ROUNDS * ENTRIES) / TURN_ENTRIES; i++)
    for (const [at, store] of [plain, encrypted].entries())
      cpu[at]?.push((await turn(store)).cpu / TURN_ENTRIES / RECORDS);
  const [without, withIt] = cpu.map((costs) => costs.sort((a, b) => a - b));
  const added = (/** @type {number} */ share) => {
    const at = Math.floor((without?.length ?? 0) * share);
    return ((withIt?.[at] ?? 0) - (without?.[at] ?? 0)).toFixed(2);
  };
  console.log(
    `${durability} encryption adds   ${added(0)} us CPU a record at best, ${added(0.25)} at the quarter, ${added(0.5)} in the middle`,
  );
  await plain.close();
  await encrypted.close();
}

async function putAndAck(
  /** @type {LevelStore} */ store,
  /** @type {(ms: number) => void} */ took,
  /** @type {number} */ entries = ENTRIES,
) {
  await inParallel(entries, async () => {
    const start = performance.now();
    const { ref } = await store.put(fresh);
    took(performance.now() - start);
    store.ack(ref);
  });
}

function newKeyring() {
  const key = createQueueKey("bench", randomBytes(32));
  return new Keyring([key], key);
}

/** Latency of put and acknowledge when entries come at half the speed that the store has just reached. */
async function halfLoad(/** @type {"fsync" | "process"} */ durability) {
  const store = await openStore(durability, "half");
  const full = await measure(() => inParallel(ENTRIES, async () => store.ack((await store.put(fresh)).ref)));
  const pause = (2 * full.ms) / ENTRIES;
  report(
    `${durability} half load`,
    await measure(async (took) => {
      const start = performance.now();
      /** @type {Promise<unknown>[]} */
      const under = [];
      for (let i = 0; i < ENTRIES; ) {
        for (; i < ENTRIES && i * pause <= performance.now() - start; i++) {
          const began = performance.now();
          under.push(
            store.put(fresh).then(({ ref }) => {
              took(performance.now() - began);
              store.ack(ref);
            }),
          );
        }
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await Promise.all(under);
    }),
  );
  await store.close();
}

async function backlogOf(/** @type {"fsync" | "process"} */ durability) {
  const path = join(root, "backlog");
  let store = await openStore(durability, "backlog");
  for (let round = 1; round <= ROUNDS; round++) {
    report(`empty   put   round ${round}`, await measure((took) => putMany(store, took)));
    report(`empty   drain round ${round}`, await measure(() => drain(store, ENTRIES)));
  }
  const filling = await measure(() => inParallel(BACKLOG / payload.length, () => store.put(fresh)));
  report("fill    put", { ...filling, entries: BACKLOG / payload.length });
  for (let round = 1; round <= ROUNDS; round++) {
    report(`backlog put   round ${round}`, await measure((took) => putMany(store, took)));
    report(`backlog drain round ${round}`, await measure(() => drain(store, ENTRIES)));
  }
  await say("with the backlog", path, store);
  await store.close();
  const start = performance.now();
  store = await openStore(durability, "backlog");
  console.log(
    `open with ${(store.stats.pending.bytes / 1e6).toFixed(0)} MB: ${(performance.now() - start).toFixed(0)} ms`,
  );
  let worst = 0;
  const total = store.stats.pending.entries;
  const all = await measure(async () => {
    while (store.stats.pending.entries > 0) {
      await drain(store, Math.min(ENTRIES, store.stats.pending.entries));
      worst = Math.max(worst, (await sizeOf(path)) - store.stats.pending.bytes);
    }
  });
  report("all     drain", { ...all, entries: total });
  console.log(`most disk beyond what is live while draining: ${(worst / 1e6).toFixed(0)} MB`);
  await say("after draining", path, store);
  await store.close();
}

async function putMany(/** @type {LevelStore} */ store, /** @type {(ms: number) => void} */ took) {
  await inParallel(ENTRIES, async () => {
    const start = performance.now();
    await store.put(fresh);
    took(performance.now() - start);
  });
}

/** Reads, "sends" and acknowledges from the head on. */
async function drain(/** @type {LevelStore} */ store, /** @type {number} */ entries) {
  let after;
  const until = store.stats.pending.entries - entries;
  for (let done = 0; done < entries; ) {
    const page = await store.pending(after, Math.min(64, entries - done));
    if (page.length === 0) throw new Error(`${entries - done} entries are missing`);
    for (const { ref } of page) {
      const { byteLength } = await store.payload(ref);
      if (byteLength !== payload.length) throw new Error("not what was put");
      store.ack(ref);
    }
    done += page.length;
    after = page.at(-1)?.ref;
  }
  while (store.stats.pending.entries > until) await new Promise((resolve) => setTimeout(resolve, 1));
}

async function openStore(
  /** @type {"fsync" | "process"} */ durability,
  /** @type {string} */ name,
  /** @type {Keyring | undefined} */ keyring = undefined,
) {
  const settings = { exporter: "bench", directory: join(root, name), durability, intervalMs: 100 };
  const store = new LevelStore(settings, { keyring });
  const found = await store.open();
  if (found.lostEntries + found.corruptEntries > 0) throw new Error("damaged");
  return store;
}

/** The same writes with the same grouping, and nothing else. */
async function openBare(/** @type {"fsync" | "process"} */ durability, /** @type {string} */ name) {
  const db = new ClassicLevel(join(root, name), {
    keyEncoding: "view",
    valueEncoding: "view",
    compression: false,
    writeBufferSize: 32 * 1024 * 1024,
  });
  await db.open();
  let last = 0;
  async function run() {
    /** @type {Uint8Array[]} */
    let written = [];
    for (let done = 0; done < ENTRIES; done += CONCURRENCY) {
      const write = db.batch();
      for (const key of written) write.del(key);
      written = [];
      for (let i = 0; i < CONCURRENCY; i++) {
        const key = Buffer.alloc(9);
        key.writeUInt32BE(++last, 5);
        write.put(key, payload);
        written.push(key);
      }
      await write.write({ sync: durability === "fsync" });
    }
  }
  return { run, close: () => db.close() };
}

async function inParallel(/** @type {number} */ count, /** @type {() => Promise<unknown>} */ run) {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await run();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

async function measure(/** @type {(took: (ms: number) => void) => Promise<unknown>} */ run) {
  /** @type {number[]} */
  const latencies = [];
  const cpu = process.cpuUsage();
  const start = performance.now();
  await run((ms) => latencies.push(ms));
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  return { ms, cpu: user + system, latencies, entries: ENTRIES };
}

function report(
  /** @type {string} */ title,
  /** @type {Awaited<ReturnType<typeof measure>>} */ { ms, cpu, latencies, entries },
) {
  const at = (/** @type {number} */ share) => latencies[Math.floor(latencies.length * share)]?.toFixed(1);
  const speed = `${((entries / ms) * 1000).toFixed(0).padStart(6)}/s ${((entries * payload.length) / ms / 1000).toFixed(0).padStart(4)} MB/s`;
  const cost = `${(cpu / entries).toFixed(0).padStart(4)} us CPU (${(cpu / entries / RECORDS).toFixed(2)} a record)`;
  const waits = latencies.length === 0 ? "" : `, put p50 ${at(0.5)} ms p99 ${at(0.99)} ms`;
  console.log(`${title.padEnd(24)} ${speed} ${cost}${waits}`);
}

async function say(/** @type {string} */ when, /** @type {string} */ path, /** @type {LevelStore} */ store) {
  const status = await readFile("/proc/self/status", "utf8").catch(() => "");
  const kb = (/** @type {string} */ name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1000;
  const disk = await sizeOf(path);
  console.log(
    `${when}: live ${(store.stats.pending.bytes / 1e6).toFixed(0)} MB, disk ${(disk / 1e6).toFixed(0)} MB, ` +
      `RssAnon ${kb("RssAnon").toFixed(0)} MB, RSS ${kb("VmRSS").toFixed(0)} MB, peak RSS ${kb("VmHWM").toFixed(0)} MB`,
  );
}

async function sizeOf(/** @type {string} */ path) {
  const sizes = await Promise.all(
    (await readdir(path)).map((name) =>
      stat(join(path, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
