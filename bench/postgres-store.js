import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { parseArgs } from "node:util";
import pg from "pg";
import { batchFromJson } from "../dist/plugin.js";
import { createQueueKey, Keyring } from "../dist/runtime/queue/store/encryption/keyring.js";
import { postgresStoreKeys } from "../dist/runtime/queue/store/remote/postgres-config.js";
import { PostgresTable } from "../dist/runtime/queue/store/remote/postgres-table.js";
import { RemoteStore } from "../dist/runtime/queue/store/remote/remote-store.js";
import { median } from "./lib/statistics.js";

/**
 * Compares a queue in PostgreSQL with a bare client that makes the same writes, in alternating rounds: entries per
 * second, and CPU per entry of this process.
 *
 *     npm run build && node bench/postgres-store.js --endpoint 127.0.0.1:5432 --user postgres [--entries 1000] [--records 100] [--lanes 16] [--rounds 3]
 *
 * It creates tables whose names begin with bench_ and drops them at the end. Each lane puts an entry, waits until it is
 * committed, and acknowledges it. The bare client does what a program would: one connection, one statement for
 * everything that arrived during the previous commit, rows of the same size, and the deletes along with them; it keeps
 * nothing in memory and checks nothing. Then both read payloads by key, 16 at a time.
 */
const { values: options } = parseArgs({
  options: {
    endpoint: { type: "string", default: "127.0.0.1:5432" },
    user: { type: "string", default: "postgres" },
    entries: { type: "string", default: "1000" },
    records: { type: "string", default: "100" },
    lanes: { type: "string", default: "16" },
    rounds: { type: "string", default: "3" },
  },
});
const ENTRIES = Number(options.entries);
const RECORDS = Number(options.records);
const LANES = Number(options.lanes);
const [host = "", port = ""] = options.endpoint.split(":");
const connection = { host, port: Number(port), user: options.user, database: "postgres" };
const table = `bench_queue_${process.pid}`;
const bare = `bench_bare_${process.pid}`;
const logRecords = Array.from({ length: RECORDS }, (_, i) => ({
  timeUnixNano: "1700000000000000000",
  severityNumber: 9,
  body: { stringValue: `order ${i} was taken ${randomBytes(100).toString("hex")}` },
  attributes: [{ key: "order.id", value: { intValue: String(i) } }],
}));
const batch = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
const source = { receiver: "bench", transport: "bench" };
const fresh = { batch, pipeline: "logs", source, enqueuedAt: Date.now(), generation: "bench" };
const key = createQueueKey("bench", randomBytes(32));

const db = new pg.Client(connection);
await db.connect();
await db.query(
  `CREATE TABLE ${bare} (queue text, ref bigint, state smallint, entry text, payload bytea, PRIMARY KEY (queue, ref))`,
);
await db.query(`ALTER TABLE ${bare} ALTER payload SET STORAGE EXTERNAL`);
const cells = { bare: bareClient, store: () => store(new Keyring()), encrypted: () => store(new Keyring([key], key)) };
/** @type {Record<string, { put: number[], read: number[], speed: number[] }>} */
const results = Object.fromEntries(Object.keys(cells).map((name) => [name, { put: [], read: [], speed: [] }]));
for (const run of Object.values(cells)) await run();
for (let round = 0; round < Number(options.rounds); round++)
  for (const [name, run] of Object.entries(cells)) {
    const { put, read, speed } = await run();
    results[name]?.put.push(put);
    results[name]?.read.push(read);
    results[name]?.speed.push(speed);
  }
await db.query(`DROP TABLE ${bare}, ${table}, ${table}_entries, ${table}_notes`);
await db.end();

console.log(`${ENTRIES} entries of ${batch.byteLength} bytes, ${LANES} lanes; medians of ${options.rounds}`);
for (const [name, { put, read, speed }] of Object.entries(results))
  console.log(
    `${name.padEnd(10)} ${median(speed).toFixed(0).padStart(6)} entries/s  put and ack ${us(put)}  read ${us(read)}`,
  );

function us(/** @type {number[]} */ figures) {
  const ratio = figures === results["bare"]?.put || figures === results["bare"]?.read ? undefined : figures;
  const of = ratio === undefined ? "" : ` (${(median(figures) / median(barePartOf(figures))).toFixed(2)})`;
  return `${median(figures).toFixed(0).padStart(5)} us of CPU an entry${of}`;
}

function barePartOf(/** @type {number[]} */ figures) {
  const isRead = Object.values(results).some(({ read }) => read === figures);
  return results["bare"]?.[isRead ? "read" : "put"] ?? [];
}

/** Puts and acknowledges in lanes, then reads the rest. */
async function measure(
  /** @type {() => Promise<() => void>} */ put,
  /** @type {(count: number) => Promise<unknown>} */ read,
) {
  let left = ENTRIES;
  const began = performance.now();
  const cpu = process.cpuUsage();
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      while (left-- > 0) (await put())();
    }),
  );
  const used = cpuSince(cpu);
  const speed = (ENTRIES / (performance.now() - began)) * 1000;
  const cpuBefore = process.cpuUsage();
  await read(ENTRIES);
  return { put: used, speed, read: cpuSince(cpuBefore) };
}

function cpuSince(/** @type {NodeJS.CpuUsage} */ before) {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / ENTRIES;
}

async function store(/** @type {Keyring} */ keyring) {
  const config = postgresStoreKeys.parse({ endpoint: options.endpoint, username: options.user, table });
  const made = new RemoteStore({ exporter: "bench" }, new PostgresTable(config, ["bench/bench"]), { keyring });
  await made.open();
  const kept = await Promise.all(Array.from({ length: LANES }, () => made.put(fresh)));
  const wanted = kept.map(({ ref, entry: { signal, items } }) => ({ ref, signal, items }));
  const figures = await measure(
    async () => {
      const { ref } = await made.put(fresh);
      return () => made.ack(ref);
    },
    async (count) => {
      for (let done = 0; done < count; done += LANES) await made.payloads(wanted);
    },
  );
  await made.delete(kept.map(({ ref }) => ref));
  await made.close();
  return figures;
}

async function bareClient() {
  const client = new pg.Client(connection);
  await client.connect();
  await client.query(`TRUNCATE ${bare}`);
  /** @type {{ ref: number, done: () => void }[]} */
  let waiting = [];
  /** @type {number[]} */
  let gone = [];
  let last = 0;
  let isRunning = false;
  const bytes = Buffer.from(batch.bytes);
  const head = JSON.stringify({ ...fresh, batch: undefined, id: "0123456789abcdef-1", items: RECORDS });
  async function run() {
    isRunning = true;
    await Promise.resolve();
    while (waiting.length > 0) {
      const taken = waiting;
      const deleted = gone;
      waiting = [];
      gone = [];
      const rows = taken.map((_, i) => `('bench',$${3 * i + 2},0,$${3 * i + 3},$${3 * i + 4})`);
      const values = taken.flatMap(({ ref }) => [ref, head, bytes]);
      await client.query(
        `WITH gone AS (DELETE FROM ${bare} WHERE queue = 'bench' AND ref = ANY ($1::bigint[])) INSERT INTO ${bare} VALUES ${rows.join(",")}`,
        [deleted, ...values],
      );
      for (const { done } of taken) done();
      await Promise.resolve();
    }
    isRunning = false;
  }
  const put = () =>
    new Promise((/** @type {(ack: () => void) => void} */ resolve) => {
      const ref = ++last;
      waiting.push({ ref, done: () => resolve(() => void gone.push(ref)) });
      if (!isRunning) void run();
    });
  await Promise.all(Array.from({ length: LANES }, put));
  const kept = Array.from({ length: LANES }, (_, i) => i + 1);
  const figures = await measure(put, async (count) => {
    const text = `SELECT ref, payload FROM ${bare} WHERE queue = 'bench' AND ref = ANY ($1::bigint[])`;
    for (let done = 0; done < count; done += LANES) await client.query(text, [kept]);
  });
  await client.end();
  return figures;
}
