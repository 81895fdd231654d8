// Changes a queue as fast as it can and says on stdout what it was promised, until it is killed.

import { batchFromJson } from "../../../../dist/plugin.js";
import { createQueueKey, Keyring } from "../../../../dist/runtime/queue/store/encryption/keyring.js";
import { LevelStore } from "../../../../dist/runtime/queue/store/level-store.js";

const [directory, durability, round, ...names] = process.argv.slice(2);
const keys = names.map((name) => createQueueKey(name, Buffer.alloc(32, name)));
const keyring = new Keyring(keys, keys[0]);
const store = new LevelStore({ exporter: "otlp_http/test", directory, durability, intervalMs: 5 }, { keyring });
const report = await store.open();
say("open", JSON.stringify(report));

function say(...words) {
  process.stdout.write(`${words.join(" ")}\n`);
}

function fresh(text) {
  const logRecords = [{ body: { stringValue: text } }];
  const batch = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
  const source = { receiver: "otlp", transport: "http" };
  return { batch, pipeline: "logs", source, enqueuedAt: Date.now(), generation: "1" };
}

async function work(n) {
  const text = `${round}:${n}`;
  const { ref, entry } = await store.put(fresh(text.padEnd(n % 50 === 0 ? 400_000 : 5000, ".")));
  say("put", text, entry.id);
  if (n % 3 === 0) {
    say("ack", text);
    store.ack(ref);
  } else if (n % 7 === 0) {
    say("failing", text);
    await store.fail(ref, { ...entry, attempts: 3 });
    say("failed", text);
  }
}

for (let n = 1; ; n += 8) await Promise.all(Array.from({ length: 8 }, (_, i) => work(n + i)));
