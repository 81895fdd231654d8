import { ClassicLevel } from "classic-level";
import { afterEach, expect, it } from "vitest";
import { crc32c } from "../../../../src/extensions/reliability/store/format/crc32c.js";
import { failedEntry, newEntry } from "./entries.js";
import { makePlace, textsIn } from "./level-harness.js";

const place = makePlace();
afterEach(place.remove);

/** Makes every value what the first format of the store was: another checksum, and another number in the counters. */
async function toFirstFormat(directory: string): Promise<void> {
  const db = new ClassicLevel<Buffer, Buffer>(directory, { keyEncoding: "buffer", valueEncoding: "buffer" });
  for (const [key, value] of await db.iterator().all()) {
    const older = Buffer.from(value.toString("latin1").replace('"format":2', '"format":1'), "latin1");
    older[5] = 1;
    older.writeUInt32LE(crc32c(older.subarray(4)), 0);
    await db.put(key, older);
  }
  await db.close();
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
