// Changes a queue in every way until it is killed: puts small and large entries, delivers, fails, replays and updates some, and
// keeps notes. With small tables, so that a few hundred entries fill several of them. Copies the files twice on the way, for
// whoever wants to put back older ones. Says on stdout when it has filled the queue, and every step from then on.
import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { batchFromJson } from "../../../dist/plugin.js";
import { createQueueKey, Keyring } from "../../../dist/runtime/queue/store/encryption/keyring.js";
import { makeLevelDb } from "../../../dist/runtime/queue/store/level/level-db.js";
import { LevelStore } from "../../../dist/runtime/queue/store/level-store.js";

const [root, copies, session, keyName] = process.argv.slice(2);
const keys = keyName === undefined ? [] : [createQueueKey(keyName, Buffer.alloc(32, keyName))];
const settings = { exporter: "otlp_http/test", directory: `${root}/queue`, durability: "process", intervalMs: 5 };
const makeDb = (path) => makeLevelDb(path, { writeBuffer: 256 * 1024, maxTable: 128 * 1024 });
const store = new LevelStore(settings, { makeDb, keyring: new Keyring(keys, keys[0]) });
await store.open();
await store.notes.load();

const MAX_WAITING = 150;
const waiting = [];
let serial = 0;

/** The text of every entry is its own from beginning to end, so that it can be found in the files. */
function fresh(n) {
  const marker = `<${session}-${n}>`;
  const size = n % 40 === 39 ? 300_000 : n % 5 === 0 ? 12_000 : 200 + (n % 7) * 300;
  const logRecords = [{ body: { stringValue: marker.repeat(Math.ceil(size / marker.length)) } }];
  const batch = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
  const source = { receiver: "otlp", transport: "http" };
  return { batch, pipeline: "logs", source, enqueuedAt: Date.now(), generation: marker };
}

async function step() {
  const n = ++serial;
  const put = await store.put(fresh(n));
  waiting.push(put);
  if (n % 10 === 0) store.notes.add({ owner: "sampler", after: put.ref, bytes: Buffer.from(`note ${n}`) });
  if (n % 6 === 0) await failAndReplay(put, n);
  if (n % 4 === 0) store.update(put.ref, { ...put.entry, attempts: 2 });
  while (waiting.length > MAX_WAITING) store.ack(waiting.splice(n % waiting.length, 1)[0].ref);
  if (n % 3 === 0) store.ack(waiting.splice(n % waiting.length, 1)[0].ref);
}

async function failAndReplay(put, n) {
  await store.fail(put.ref, { ...put.entry, attempts: 3 });
  if (n % 12 !== 0) return void waiting.splice(waiting.indexOf(put), 1);
  const [again] = await store.replay([{ ref: put.ref, entry: put.entry }]);
  const at = waiting.indexOf(put);
  if (at >= 0) waiting[at] = again;
}

async function steps(count) {
  for (let i = 0; i < count; i += 4) await Promise.all([step(), step(), step(), step()]);
}

/** LevelDB continues meanwhile, and removes tables that it has merged. */
function copyFiles(to) {
  mkdirSync(`${to}/queue`, { recursive: true });
  for (const file of ["queue.witness", ...readdirSync(`${root}/queue`).map((name) => `queue/${name}`)])
    try {
      copyFileSync(`${root}/${file}`, `${to}/${file}`);
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
}

await steps(160);
copyFiles(`${copies}/${session}-early`);
await steps(120);
copyFiles(`${copies}/${session}-late`);
await steps(60);
for (;;) {
  process.stdout.write(`${serial}\n`);
  await steps(4);
}
