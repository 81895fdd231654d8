import { cpSync, readdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readSummaries } from "../../../../../../src/runtime/queue/store/level/open/summary-file.js";
import type { LevelStore } from "../../../../../../src/runtime/queue/store/level-store.js";
import { newEntry } from "../../entries.js";
import { makePlace, type Place, textsIn } from "../../level-harness.js";

let place: Place;
let copy: Place;
let store: LevelStore;
beforeEach(async () => {
  [place, copy] = [makePlace(), makePlace()];
  store = place.store();
  await store.open();
});
afterEach(async () => {
  await store.close();
  await place.remove();
  await copy.remove();
});

/** The files as a kill would leave them now. */
function kill(): void {
  cpSync(place.root, copy.root, { recursive: true, filter: (path) => !path.endsWith("LOCK") });
}

describe("the summary of a store", () => {
  it("allows for all puts and removals before the next one is written", async () => {
    let removed = 0;
    for (let round = 0; round < 40; round++) {
      const count = 1 + ((round * 7) % 23);
      const put = await Promise.all(Array.from({ length: count }, () => store.put(newEntry("a"))));
      if (round % 3 === 0) await store.delete(put.map(({ ref }) => ref));
      if (round % 3 === 0) removed += count;
      const { newest } = await readSummaries(place.directory);
      expect(newest!.maxLast).toBeGreaterThanOrEqual(put.at(-1)!.ref);
      expect(newest!.maxRemoved).toBeGreaterThanOrEqual(removed);
    }
  });

  it("says when the store was closed, and not before", async () => {
    await store.put(newEntry("a"));
    expect((await readSummaries(place.directory)).newest?.isClosed).toBeUndefined();
    await store.close();
    expect((await readSummaries(place.directory)).newest).toMatchObject({ isClosed: true, last: 1, pending: 1 });
  });
});

describe("a log that lost its end after a kill", () => {
  it("is reported within correct bounds", async () => {
    const texts = Array.from({ length: 30 }, (_, i) => `${i}:`.padEnd(3000, "."));
    for (const text of texts) await store.put(newEntry(text));
    await expect.poll(async () => (await readSummaries(place.directory)).newest?.last).toBe(texts.length);
    kill();
    const log = join(copy.directory, readdirSync(copy.directory).find((name) => name.endsWith(".log"))!);
    truncateSync(log, Math.floor(readFileSync(log).length / 2));
    const damaged = copy.store();
    const { lostEntries, lostBounds } = await damaged.open();
    const lost = texts.length - (await textsIn(damaged)).length;
    await damaged.close();
    expect(lost).toBeGreaterThan(10);
    const { atLeast, atMost } = lostBounds ?? { atLeast: lostEntries, atMost: lostEntries };
    expect(atLeast).toBe(lost);
    expect(atMost).toBeGreaterThanOrEqual(lost);
  });
});
