import { afterEach, beforeEach, expect, it } from "vitest";
import { type MakeLevelDb, makeLevelDb } from "../../../../../src/extensions/reliability/store/level/level-db.js";
import { newEntry } from "../entries.js";
import { makePlace, type Place } from "../level-harness.js";

const MIB = 1024 * 1024;

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

it("is not run away from by those who read to send: they wait while much is to be given back", async () => {
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
  // So small that 8 MiB are much.
  const readDisk = async () => ({ free: 64 * MIB, total: 400 * MIB });
  const store = place.store({}, { makeDb, readDisk });
  await store.open();
  try {
    const text = "x".repeat(MIB);
    const stored = [];
    for (let i = 0; i < 20; i++) stored.push(await store.put(newEntry(text)));
    for (const { ref } of stored.slice(0, 10)) store.ack(ref);
    await expect.poll(() => compactions).toBe(1);
    // One and a quarter of what is much: nobody waits yet.
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
