import { afterEach, beforeEach, expect, it } from "vitest";
import { Compactor } from "../../../../../src/runtime/queue/store/level/compactor.js";
import { type LevelDb, type MakeLevelDb, makeLevelDb } from "../../../../../src/runtime/queue/store/level/level-db.js";
import { newEntry } from "../entries.js";
import { makePlace, type Place } from "../level-harness.js";

const MIB = 1024 * 1024;

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

it("keeps up with readers: they wait while there is much to compact", async () => {
  let compactions = 0;
  let giveBack = () => {};
  const slow = new Promise<void>((resolve) => {
    giveBack = resolve;
  });
  const makeDb: MakeLevelDb = (directory, sizes) => {
    const compactRange = async () => {
      compactions++;
      await slow;
    };
    return Object.assign(makeLevelDb(directory, sizes), { compactRange });
  };
  // So small that 8 MiB are much, when the store is opened; with room enough then for others to write meanwhile.
  let free = 64 * MIB;
  const readDisk = async () => ({ free, total: 400 * MIB });
  const store = place.store({}, { makeDb, readDisk });
  await store.open();
  free = 300 * MIB;
  try {
    const text = "x".repeat(MIB);
    const stored = [];
    for (let i = 0; i < 20; i++) stored.push(await store.put(newEntry(text)));
    for (const { ref } of stored.slice(0, 10)) store.ack(ref);
    await expect.poll(() => compactions).toBe(1);
    // One and a quarter times the threshold: writers do not wait yet.
    expect((await store.payload(stored[19]!.ref)).count).toBe(1);
    for (const { ref } of stored.slice(10, 18)) store.ack(ref);
    await store.put(newEntry(text));
    let read = 0;
    const reading = [store.payload(stored[19]!.ref), store.pending(undefined, 10)].map((each) =>
      each.then(() => read++),
    );
    await store.put(newEntry(text));
    expect(read).toBe(0);
    giveBack();
    await Promise.all(reading);
  } finally {
    giveBack();
    await store.close();
  }
});

it.each([true, false])(
  "lets LevelDB write and compact at the same time only with room on the disk (tight: %s)",
  async (tight) => {
    const events: string[] = [];
    const ends: (() => void)[] = [];
    const step = (name: string) => () => {
      events.push(`${name} begins`);
      return new Promise<void>((resolve) => ends.push(resolve)).then(() => void events.push(`${name} ends`));
    };
    const db = { compactRange: step("compaction") } as unknown as LevelDb;
    const compactor = new Compactor({
      threshold: () => 1,
      quietMs: 60_000,
      inTurn: (work) => work(tight),
    });
    compactor.resume(db);
    const endNext = async () => {
      await expect.poll(() => ends.length).toBeGreaterThan(0);
      ends.shift()!();
      await new Promise(setImmediate);
    };
    const first = compactor.write(step("write"));
    compactor.noteRemoved([{ ref: 1, bytes: 2 }]);
    await new Promise(setImmediate);
    const second = first.then(() => compactor.write(step("write")));
    if (!tight) {
      expect(events).toEqual(["write begins", "compaction begins"]);
      while (events.length < 8) await endNext();
    } else {
      for (let i = 0; i < 4; i++) await endNext();
      expect(events.filter((_, i) => i % 2 === 0).map((event) => event.split(" ")[1])).toEqual(Array(4).fill("begins"));
      expect(events.slice(0, 4)).toEqual(["write begins", "write ends", "compaction begins", "compaction ends"]);
    }
    await Promise.all([second, compactor.pause()]);
    expect(events.filter((event) => event === "compaction ends")).toHaveLength(2);
  },
);
