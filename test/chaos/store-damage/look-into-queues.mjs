// For every case that comes on stdin, a line each: opens a copy of a queue with those damages, reads all of it, lets LevelDB go
// through all of it, opens it again, and says what there was each time. In a process of its own, since LevelDB ends the process if it
// gets to see what it does not expect.
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ClassicLevel } from "classic-level";
import { createQueueKey, Keyring } from "../../../dist/runtime/queue/store/encryption/keyring.js";
import { LevelStore } from "../../../dist/runtime/queue/store/level-store.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { root, keyName, damages } = JSON.parse(line);
  const copy = mkdtempSync(join(tmpdir(), "sluice-damage-"));
  try {
    cpSync(root, copy, { recursive: true });
    for (const damage of damages) apply(copy, damage);
    process.stdout.write(`${JSON.stringify(await look(join(copy, "queue"), keyName))}\n`);
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ error: `${error.stack} ${error.cause?.stack ?? ""}` })}\n`);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** A file that another damage has removed stays removed. */
function apply(copy, { file, remove, replaceWith, swapWith, ...edits }) {
  const path = join(copy, file);
  if (remove) return rmSync(path, { force: true });
  if (replaceWith !== undefined) return writeFileSync(path, readFileSync(replaceWith));
  if (!existsSync(path)) return;
  const bytes = readFileSync(path);
  if (swapWith === undefined) return writeFileSync(path, edited(bytes, edits));
  const other = join(copy, swapWith);
  if (!existsSync(other)) return;
  writeFileSync(path, readFileSync(other));
  writeFileSync(other, bytes);
}

function edited(bytes, { flip, cut, zero, garbage, overwrite, insert }) {
  if (flip !== undefined && flip.at < bytes.length) bytes[flip.at] ^= 1 << flip.bit;
  if (cut !== undefined) return bytes.subarray(0, cut);
  if (zero !== undefined) bytes.fill(0, Math.min(zero.from, bytes.length), Math.min(zero.to, bytes.length));
  if (garbage !== undefined) fillWithGarbage(bytes.subarray(garbage.from, garbage.to), garbage.seed);
  if (overwrite !== undefined && overwrite.at < bytes.length) {
    const copied = bytes.subarray(overwrite.from, overwrite.to);
    bytes.set(copied.subarray(0, bytes.length - overwrite.at), overwrite.at);
  }
  if (insert === undefined) return bytes;
  return Buffer.concat([
    bytes.subarray(0, insert.at),
    bytes.subarray(insert.from, insert.to),
    bytes.subarray(insert.at),
  ]);
}

function fillWithGarbage(bytes, seed) {
  for (let i = 0, state = seed; i < bytes.length; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    bytes[i] = state >>> 16;
  }
}

async function look(directory, keyName) {
  const first = await lookInto(directory, keyName);
  const db = new ClassicLevel(directory, { compression: false, keyEncoding: "buffer" });
  await db.compactRange(Buffer.alloc(0), Buffer.from([255]));
  const setAside = [];
  for await (const key of db.keys({ gte: Buffer.from("q"), lt: Buffer.from("r") }))
    setAside.push(key.readUInt32BE(1) * 2 ** 32 + key.readUInt32BE(5));
  await db.close();
  return { first: { ...first, setAside }, second: await lookInto(directory, keyName) };
}

async function lookInto(directory, keyName) {
  const keys = keyName === undefined ? [] : [createQueueKey(keyName, Buffer.alloc(32, keyName))];
  const settings = { exporter: "otlp_http/test", directory, durability: "process", intervalMs: 5 };
  const store = new LevelStore(settings, { keyring: new Keyring(keys, keys[0]) });
  const report = await store.open();
  await store.notes.load();
  const pending = await read(store, (after) => store.pending(after, 100));
  const failed = await read(store, (after) => store.failed(after, 100, "oldest"));
  const { corrupt } = store.stats;
  await store.close();
  return { report, pending, failed, corrupt };
}

/** Entries whose payload can be read. */
async function read(store, list) {
  const found = [];
  for (let page = await list(); page.length > 0; page = await list(page.at(-1).ref))
    for (const { ref, entry } of page) {
      const batch = await store.payload(ref).catch((error) => {
        if (error.code !== "corrupt") throw error;
      });
      if (batch?.byteLength === entry.bytes) found.push({ ref, id: entry.id, marker: entry.generation });
    }
  return found;
}
