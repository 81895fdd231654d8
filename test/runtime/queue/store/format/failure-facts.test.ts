import { crc32 } from "node:zlib";
import { ClassicLevel } from "classic-level";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Entry } from "../../../../../src/runtime/contract/operations/entry.js";
import { decodeFacts, encodeFacts, factsOf } from "../../../../../src/runtime/queue/store/format/failure-facts.js";
import { HEAD_OFFSET, RANGES, refKey } from "../../../../../src/runtime/queue/store/format/layout.js";
import type { EntryRef } from "../../../../../src/runtime/queue/store/store.js";
import { anyCharacter } from "../../../../support/any-character.js";
import { runs } from "../../../../support/runs.js";
import { failedEntry, newEntry } from "../entries.js";
import { makePlace, type Place } from "../level-harness.js";

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

/** A dead letter as others may have made it up. */
const entries = fc
  .record({
    id: fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.tuple(fc.string(), fc.nat()).map(([tag, n]) => `${tag}-${n}`),
    ),
    exporter: fc.string({ unit: anyCharacter }),
    category: fc.string({ unit: anyCharacter }),
    signature: fc.string(),
    names: fc.array(fc.string({ unit: "grapheme" }), { maxLength: 3 }),
    at: fc.double(),
    items: fc.nat(),
    bytes: fc.nat({ max: 2 ** 40 }),
    attempts: fc.nat(),
    isDeleted: fc.boolean(),
  })
  .map(({ id, exporter, category, signature, names, at, items, bytes, attempts, isDeleted }) => {
    const failure = { at, reason: "permanent", category, signature, names };
    const deleted = isDeleted ? { deletedAt: 1 } : {};
    return { id, exporter, signal: "logs", items, bytes, attempts, failure, ...deleted } as unknown as Entry;
  });

describe("the facts of a dead letter", () => {
  it("are read as they were written", () => {
    fc.assert(
      fc.property(entries, (entry) => {
        expect(decodeFacts(Buffer.concat(encodeFacts(entry)))).toEqual(wellFormed(factsOf(entry)!));
      }),
      runs(100),
    );
  });

  it("are not taken from what another version wrote there", () => {
    const { failure: _, ...rest } = failedEntry({ id: "a-1", items: 1 } as Entry);
    expect(encodeFacts(rest as Entry)).toEqual([]);
    expect(decodeFacts(Buffer.alloc(0))).toBeUndefined();
    expect(decodeFacts(Buffer.alloc(100, 2))).toBeUndefined();
  });

  it("are found in the history of a dead letter that an older version wrote", async () => {
    const before = place.store();
    await before.open();
    const { ref, entry } = await before.put(newEntry("bad"));
    await before.fail(ref, failedEntry(entry));
    await before.close();
    await withoutFacts(ref);
    const store = place.store();
    await store.open();
    const [found] = await store.failedFacts(undefined, 10);
    expect(found?.facts).toEqual(factsOf(failedEntry(entry)));
    expect(found?.entry().id).toBe(entry.id);
    await store.close();
  });

  it("are those that are known of a dead letter without a recorded failure, which stays in its place", async () => {
    const store = place.store();
    await store.open();
    const { ref, entry } = await store.put({ ...newEntry("odd"), fields: { state: "failed" } });
    expect(await store.failedFacts(undefined, 10)).toMatchObject([{ ref, facts: { at: entry.enqueuedAt } }]);
    expect(store.stats).toMatchObject({ failed: { entries: 1 }, corrupt: 0 });
    await store.close();
  });

  it("are not believed when the value is damaged, which is set aside", async () => {
    const before = place.store();
    await before.open();
    const refs: EntryRef[] = [];
    for (const text of ["a", "b", "c"]) {
      const { ref, entry } = await before.put(newEntry(text));
      await before.fail(ref, failedEntry(entry));
      refs.push(ref);
    }
    await before.close();
    await change(refs[1]!, (value) => {
      value[value.length - 1]! ^= 1;
      return value;
    });
    const store = place.store();
    await store.open();
    expect((await store.failedFacts(undefined, 10)).map(({ ref }) => ref)).toEqual([refs[0], refs[2]]);
    expect(store.stats.corrupt).toBe(1);
    await store.close();
  });
});

/** Half a character is written as what stands for it. */
function wellFormed<T extends object>(facts: T): T {
  const entries = Object.entries(facts);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === "string" ? Buffer.from(value).toString() : value]),
  ) as T;
}

function withoutFacts(ref: EntryRef): Promise<void> {
  return change(ref, (value) => {
    const older = value.subarray(0, HEAD_OFFSET + value.readUInt32LE(16));
    expect(older.length).toBeLessThan(value.length);
    older.writeUInt32LE(crc32(older.subarray(4)), 0);
    return older;
  });
}

async function change(ref: EntryRef, how: (value: Buffer) => Buffer): Promise<void> {
  const db = new ClassicLevel<Buffer, Buffer>(place.directory, { keyEncoding: "buffer", valueEncoding: "buffer" });
  const key = refKey(RANGES.failed, ref);
  await db.put(key, how(Buffer.from((await db.get(key))!)));
  await db.close();
}
