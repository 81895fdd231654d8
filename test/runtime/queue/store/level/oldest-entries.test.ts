import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type LevelDb, makeLevelDb } from "../../../../../src/runtime/queue/store/level/level-db.js";
import type { LevelStore } from "../../../../../src/runtime/queue/store/level-store.js";
import { failedEntry, newEntry } from "../entries.js";
import { makePlace, type Place } from "../level-harness.js";

/** Longer than a store waits until it looks for its oldest entry. */
const SEARCH_MS = 300;
let place: Place;
let store: LevelStore;
let scans = 0;

function watchedDb(directory: string): LevelDb {
  const db = makeLevelDb(directory);
  for (const name of ["keys", "iterator"] as const) {
    const scan = db[name].bind(db) as (options: object) => unknown;
    Object.assign(db, {
      [name](options: object) {
        scans++;
        return scan(options);
      },
    });
  }
  return db;
}

beforeEach(async () => {
  place = makePlace();
  store = place.store({}, { makeDb: watchedDb });
  await store.open();
  await delay(SEARCH_MS);
});

afterEach(async () => {
  await store.close();
  await place.remove();
});

it("scans nothing when the last entry has left the queue", async () => {
  const { ref } = await store.put(newEntry("a"));
  scans = 0;
  store.ack(ref);
  await delay(SEARCH_MS);
  expect(scans).toBe(0);
  expect(store.stats).toMatchObject({ pending: { entries: 0 }, oldestPendingAt: undefined });
});

it("looks for the oldest entry when another one is left", async () => {
  const [a, b] = [await store.put(newEntry("a")), await store.put(newEntry("b"))];
  scans = 0;
  store.ack(a.ref);
  await expect.poll(() => scans).toBeGreaterThan(0);
  await expect.poll(() => store.stats.oldestPendingAt).toBe(b.entry.enqueuedAt);
});

it("finds an entry that fails after there was no dead letter", async () => {
  const [a, b] = [await store.put(newEntry("a")), await store.put(newEntry("b"))];
  await store.fail(b.ref, failedEntry(b.entry));
  await store.fail(a.ref, failedEntry(a.entry));
  await store.delete([b.ref]);
  expect((await store.failed(undefined, 9, "oldest")).map(({ ref }) => ref)).toEqual([a.ref]);
});
