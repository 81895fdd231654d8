import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { ClassicLevel } from "classic-level";
import { afterEach, expect, it } from "vitest";
import { crc32c } from "../../../../src/runtime/codecs/crc32c.js";
import { RANGES, refKey } from "../../../../src/runtime/queue/store/format/layout.js";
import { readSummaries } from "../../../../src/runtime/queue/store/level/open/summary-file.js";
import { failedEntry, newEntry } from "./entries.js";
import { makePlace, textsIn } from "./level-harness.js";

const place = makePlace();
afterEach(place.remove);

/** Makes every value what the first format of the store was: another checksum, and another number in the counters and the witness. */
async function toFirstFormat(directory: string): Promise<void> {
  const db = new ClassicLevel<Buffer, Buffer>(directory, { keyEncoding: "buffer", valueEncoding: "buffer" });
  for (const [key, value] of await db.iterator().all()) {
    const older = Buffer.from(value.toString("latin1").replace('"format":2', '"format":1'), "latin1");
    older[5] = 1;
    older.writeUInt32LE(crc32c(older.subarray(4)), 0);
    await db.put(key, older);
  }
  await db.close();
  rmSync(`${directory}/WITNESS`);
  const witness = `${directory}.witness`;
  const said = readFileSync(witness, "utf8").slice(0, 502).replace('"format":2', '"format":1');
  writeFileSync(witness, `${said} ${crc32c(Buffer.from(said)).toString(16).padStart(8, "0")}\n`);
}

it("reads what an older version has written, and writes beside it", async () => {
  const before = place.store();
  await before.open();
  for (const text of ["a", "b", "c"]) await before.put(newEntry(text));
  const { ref, entry } = await before.put(newEntry("bad"));
  await before.fail(ref, failedEntry(entry));
  await before.close();
  await toFirstFormat(place.directory);
  const store = place.store();
  expect(await store.open()).toMatchObject({ isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined });
  await store.put(newEntry("new"));
  expect(await textsIn(store)).toEqual(["a", "b", "c", "new"]);
  expect(await textsIn(store, "failed")).toEqual(["bad"]);
  await store.close();
  const again = place.store();
  expect(await again.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
  expect(await textsIn(again)).toEqual(["a", "b", "c", "new"]);
  await again.close();
});

it("reads the large, the replayed, the updated and the notes of an older version, and tells what is damaged from what is old", async () => {
  const before = place.store();
  await before.open();
  await before.notes.load();
  const large = "x".repeat(3_000_000);
  await before.put(newEntry(large));
  const updated = await before.put(newEntry("updated"));
  before.update(updated.ref, { ...updated.entry, attempts: 3 });
  const replayed = await before.put(newEntry("replayed"));
  await before.fail(replayed.ref, failedEntry(replayed.entry));
  await before.replay([{ ref: replayed.ref, entry: replayed.entry }]);
  const damaged = await before.put(newEntry("damaged"));
  before.notes.add({ owner: "sampler", after: 0, bytes: Buffer.from("note") });
  await before.close();
  await toFirstFormat(place.directory);
  await flipLastByte(place.directory, refKey(RANGES.entry, damaged.ref));
  const store = place.store();
  expect(await store.open()).toMatchObject({ isNew: false, lostEntries: 0 });
  expect(await textsIn(store)).toEqual([large, "updated", "replayed"]);
  expect((await store.pending(updated.ref - 1, 1))[0]?.entry.attempts).toBe(3);
  expect(await store.notes.load()).toMatchObject([{ owner: "sampler" }]);
  expect(store.stats).toMatchObject({ pending: { entries: 3 }, corrupt: 1 });
  for (const { ref } of await store.pending(undefined, 10)) store.ack(ref);
  await store.put(newEntry("new"));
  await store.close();
  const again = place.store();
  expect(await again.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
  expect(await textsIn(again)).toEqual(["new"]);
  await again.close();
});

it("is left alone by versions that know no other format, from the moment it was opened", async () => {
  const store = place.store();
  await store.open();
  await store.put(newEntry("a"));
  await store.close();
  await toFirstFormat(place.directory);
  expect(await readSummaries(place.directory)).toMatchObject({ format: 1 });
  const open = place.store();
  await open.open();
  expect(await readSummaries(place.directory)).toMatchObject({ format: 2 });
  await open.close();
});

async function flipLastByte(directory: string, key: Buffer): Promise<void> {
  const db = new ClassicLevel<Buffer, Buffer>(directory, { keyEncoding: "buffer", valueEncoding: "buffer" });
  const value = Buffer.from((await db.get(key))!);
  value[value.length - 1]! ^= 1;
  await db.put(key, value);
  await db.close();
}
