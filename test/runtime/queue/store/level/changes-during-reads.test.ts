import { afterEach, beforeEach, expect, it } from "vitest";
import { type LevelDb, makeLevelDb } from "../../../../../src/runtime/queue/store/level/level-db.js";
import type { LevelStore } from "../../../../../src/runtime/queue/store/level-store.js";
import { failedEntry, newEntry } from "../entries.js";
import { makePlace, type Place, textsIn } from "../level-harness.js";

/** Reads a store's dead letters while they change. */
let place: Place;
let store: LevelStore;
/** Called with what the next listing of dead letters has read, before the store sees it. */
let meanwhile: (() => Promise<void>) | undefined;

function watchedDb(directory: string): LevelDb {
  const db = makeLevelDb(directory);
  const iterator = db.iterator.bind(db);
  const watched = (options: object) => {
    const walk = iterator(options);
    const all = walk.all.bind(walk);
    walk.all = async () => {
      const rows = await all();
      const work = meanwhile;
      meanwhile = undefined;
      await work?.();
      return rows;
    };
    return walk;
  };
  return Object.assign(db, { iterator: watched }) as LevelDb;
}

beforeEach(async () => {
  place = makePlace();
  store = place.store({}, { makeDb: watchedDb });
  await store.open();
});

afterEach(async () => {
  await store.close();
  await place.remove();
});

const putAll = (...texts: string[]) => Promise.all(texts.map((text) => store.put(newEntry(text))));

it("lists a dead letter that came while the oldest one was looked for", async () => {
  const [a, b, c] = await putAll("a", "b", "c");
  await store.fail(a!.ref, failedEntry(a!.entry));
  await store.fail(c!.ref, failedEntry(c!.entry));
  const came = new Promise<void>((resolve) => {
    meanwhile = () => store.fail(b!.ref, failedEntry(b!.entry)).then(resolve);
  });
  await store.delete([a!.ref]);
  await came;
  await new Promise(setImmediate);
  expect(await textsIn(store, "failed")).toEqual(["b", "c"]);
  await store.put(newEntry("d"));
  await store.close();
  await store.open();
  expect(await textsIn(store, "failed")).toEqual(["b", "c"]);
});

it("fills a page of dead letters even if some are removed while it reads", async () => {
  const put = await putAll("a", "b", "c", "d");
  for (const { ref, entry } of put) await store.fail(ref, failedEntry(entry));
  for (const order of ["oldest", "newest"] as const) {
    const [last] = await store.failed(undefined, 1, order);
    meanwhile = () => store.delete([last!.ref]);
    expect(await store.failed(undefined, 2, order)).toHaveLength(2);
  }
  expect(await textsIn(store, "failed")).toEqual(["b", "c"]);
});

it("reads a dead letter as it was written, also while another read began before its last update", async () => {
  const [a, b] = await putAll("a", "b");
  await store.fail(a!.ref, failedEntry(a!.entry));
  const dead = failedEntry(b!.entry);
  let found: unknown;
  meanwhile = async () => {
    store.update(b!.ref, { ...b!.entry, attempts: 1 });
    await store.fail(b!.ref, dead);
    found = await store.find(b!.entry.id);
  };
  await store.failed(undefined, 10, "oldest");
  expect(found).toEqual({ ref: b!.ref, entry: dead });
});
