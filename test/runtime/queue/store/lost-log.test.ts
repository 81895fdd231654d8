import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LevelStore } from "../../../../src/runtime/queue/store/level-store.js";
import { newEntry } from "./entries.js";
import { makePlace, type Place, textsIn } from "./level-harness.js";

const texts = Array.from({ length: 41 }, (_, i) => `${i}:`.padEnd(3000, String(i)));

let place: Place;
let store: LevelStore;
beforeEach(async () => {
  place = makePlace();
  store = place.store();
  await store.open();
  // They come together, so they are one record of the log.
  await Promise.all(texts.map((text) => store.put(newEntry(text))));
});
afterEach(async () => {
  await store.close();
  await place.remove();
});

const logPath = () => join(place.directory, readdirSync(place.directory).find((name) => name.endsWith(".log"))!);

async function closeAndDamage(damage: (bytes: Buffer) => Buffer): Promise<void> {
  await store.close();
  writeFileSync(logPath(), damage(readFileSync(logPath())));
}

function flipped(bytes: Buffer, share: number): Buffer {
  bytes[Math.floor(bytes.length * share)]! ^= 0x10;
  return bytes;
}

describe("a commit of many entries with a flipped bit", () => {
  it.each([0.05, 0.3, 0.5, 0.7, 0.95])("loses the entry that was hit, and tells it (at %f)", async (share) => {
    await closeAndDamage((bytes) => flipped(bytes, share));
    const { lostEntries, corruptEntries } = await store.open();
    expect(lostEntries + corruptEntries).toBeLessThanOrEqual(1);
    const found = await textsIn(store);
    expect(texts).toEqual(expect.arrayContaining(found));
    expect(found).toHaveLength(texts.length - lostEntries);
  });

  it("loses only the range that was zeroed", async () => {
    await closeAndDamage((bytes) => bytes.fill(0, 40_000, 60_000));
    const { lostEntries } = await store.open();
    const found = await textsIn(store);
    expect(found).toHaveLength(texts.length - lostEntries);
    expect(found.length).toBeGreaterThanOrEqual(texts.length - 9);
    expect(found.at(-1)).toBe(texts.at(-1));
  });

  it("loses nothing else of the last commit when its middle is damaged, which is not what a crash leaves", async () => {
    await closeAndDamage((bytes) => bytes.fill(0xee, 32_768, 33_000));
    const { lostEntries, setAside } = await store.open();
    expect(setAside).toBeDefined();
    expect(lostEntries).toBe(1);
    expect(await textsIn(store)).toHaveLength(texts.length - 1);
  });

  it("loses nothing else when a page of the log was written into it", async () => {
    await closeAndDamage((bytes) => bytes.copyWithin(40_960, 0, 4096));
    const { lostEntries, corruptEntries } = await store.open();
    expect(lostEntries + corruptEntries).toBeLessThanOrEqual(3);
    expect(await textsIn(store)).toHaveLength(texts.length - lostEntries - corruptEntries);
  });

  it("tells what is gone although as many others have come back", async () => {
    const later = ["later-1", "later-2", "later-3", "later-4", "later-5"];
    const first = await store.pending(undefined, 5);
    for (const { ref } of first) store.ack(ref);
    await Promise.all(later.map((text) => store.put(newEntry(text))));
    await store.put(newEntry("the last of all"));
    await closeAndDamage((bytes) => {
      const [from, to] = [bytes.indexOf(texts[40]!.slice(0, 100)) + 3000, bytes.indexOf("the last of all")];
      return bytes.fill(0xee, from, to - 400);
    });
    const { lostEntries } = await store.open();
    const found = await textsIn(store);
    const missing = later.filter((text) => !found.includes(text));
    expect(missing.length).toBeGreaterThan(0);
    expect(lostEntries).toBe(missing.length);
  });
});

describe("a log that was removed", () => {
  it("is reported exactly even if the witness next to the directory was removed too", async () => {
    await store.close();
    rmSync(logPath());
    rmSync(`${place.directory}.witness`);
    expect(await store.open()).toMatchObject({ isNew: false, lostEntries: texts.length });
  });

  it("is reported even if both witnesses were removed too", async () => {
    await store.close();
    rmSync(logPath());
    rmSync(`${place.directory}.witness`);
    rmSync(join(place.directory, "WITNESS"));
    const { isNew, lostEntries } = await store.open();
    expect({ isNew, isTold: lostEntries > 0 }).toEqual({ isNew: false, isTold: true });
  });
});
