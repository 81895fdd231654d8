import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LevelStore } from "../../../../../../src/runtime/queue/store/level-store.js";
import { newEntry } from "../../entries.js";
import { makePlace, type Place, textsIn } from "../../level-harness.js";

const texts = Array.from({ length: 60 }, (_, i) => `${i}:`.padEnd(3000, String(i)));
const BLOCK = 32_768;

let place: Place;
let store: LevelStore;
beforeEach(async () => {
  place = makePlace();
  store = place.store();
  await store.open();
  for (const text of texts) await store.put(newEntry(text));
  for (const { ref } of await store.pending(undefined, 10)) store.ack(ref);
});
afterEach(async () => {
  await store.close();
  await place.remove();
});

const pathOf = (pattern: RegExp) =>
  join(place.directory, readdirSync(place.directory).find((name) => pattern.test(name))!);

async function closeAndDamage(pattern: RegExp, damage: (bytes: Buffer) => Buffer): Promise<void> {
  await store.close();
  writeFileSync(pathOf(pattern), damage(readFileSync(pathOf(pattern))));
}

/** A stretch stands a second time between other bytes. */
function inserted(bytes: Buffer, from: number, to: number, at: number): Buffer {
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(from, to), bytes.subarray(at)]);
}

describe("a stretch of a log that stands twice", () => {
  it.each([
    ["blocks in a row", (bytes: Buffer) => inserted(bytes, 0, BLOCK, BLOCK)],
    ["all of it", (bytes: Buffer) => inserted(bytes, 0, bytes.length, bytes.length)],
    ["a few bytes, after which no block is where it was", (bytes: Buffer) => inserted(bytes, 100, 105, 4 * BLOCK)],
  ])("is read once, and everything is there (%s)", async (_, damage) => {
    await closeAndDamage(/\.log$/, damage);
    const report = await store.open();
    expect(report).toMatchObject({ lostEntries: 0, corruptEntries: 0, setAside: expect.any(String) });
    expect(report.lostBounds).toBeUndefined();
    expect(await textsIn(store)).toEqual(texts.slice(10));
  });

  it("costs what it overwrites, which is reported exactly", async () => {
    await closeAndDamage(/\.log$/, (bytes) => Buffer.from(bytes).fill(bytes.subarray(0, BLOCK), 2 * BLOCK, 3 * BLOCK));
    const { lostEntries, lostBounds } = await store.open();
    const found = await textsIn(store);
    expect(found.at(-1)).toBe(texts.at(-1));
    expect(lostBounds).toBeUndefined();
    expect(lostEntries).toBeGreaterThan(5);
    expect(found).toHaveLength(texts.length - 10 - lostEntries);
  });
});

describe("edits of a MANIFEST that stand twice", () => {
  it("are not shown to LevelDB; nothing is lost", async () => {
    await store.close();
    await store.open();
    await closeAndDamage(/^MANIFEST/, (bytes) => Buffer.concat([bytes, bytes]));
    expect(await store.open()).toMatchObject({ lostEntries: 0, setAside: expect.any(String) });
    expect(await textsIn(store)).toEqual(texts.slice(10));
  });
});
