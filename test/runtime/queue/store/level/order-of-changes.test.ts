import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LevelStore } from "../../../../../src/runtime/queue/store/level-store.js";
import { failedEntry, newEntry } from "../entries.js";
import { makePlace, type Place } from "../level-harness.js";
import { ScriptedDisk } from "./scripted-disk.js";

let place: Place;
let disk: ScriptedDisk;
let store: LevelStore;

beforeEach(async () => {
  place = makePlace();
  disk = new ScriptedDisk();
  store = place.store({}, { makeDb: disk.make });
  await store.open();
});

afterEach(async () => {
  disk.release();
  await store.close();
  await place.remove();
});

/** An entry whose update is being written. */
async function entryBeingUpdated() {
  const { ref, entry } = await store.put(newEntry("a"));
  disk.hold();
  const { begun } = disk;
  store.update(ref, { ...entry, attempts: 1 });
  await expect.poll(() => disk.begun).toBe(begun + 1);
  return { ref, entry };
}

async function reopened(): Promise<void> {
  await store.close();
  store = place.store({}, { makeDb: disk.make });
  await store.open();
}

describe("a dead letter that is written while an earlier update waits", () => {
  it("stays as it is", async () => {
    const { ref, entry } = await entryBeingUpdated();
    store.update(ref, { ...entry, attempts: 2 });
    const dead = failedEntry({ ...entry, attempts: 2 });
    const failing = store.fail(ref, dead);
    disk.release();
    await failing;
    await store.put(newEntry("b"));
    expect(await store.find(entry.id)).toEqual({ ref, entry: dead });
    await reopened();
    expect(await store.find(entry.id)).toEqual({ ref, entry: dead });
    expect(await store.failedFacts(undefined, 10)).toMatchObject([{ ref, facts: { attempts: dead.attempts } }]);
  });

  it("stays as it is if its commit was reported as failed although it was written", async () => {
    const { ref, entry } = await entryBeingUpdated();
    store.update(ref, { ...entry, attempts: 2 });
    const failing = store.fail(ref, failedEntry({ ...entry, attempts: 2 }));
    disk.end("done");
    disk.end("late");
    await expect(failing).rejects.toMatchObject({ code: "io" });
    disk.release();
    await store.put(newEntry("b"));
    expect((await store.find(entry.id))?.entry).toEqual(failedEntry({ ...entry, attempts: 2 }));
  });
});

it("keeps the last of many updates, whichever writes fail", async () => {
  const { ref, entry } = await entryBeingUpdated();
  for (const [i, outcome] of (["failed", "late", "failed"] as const).entries()) {
    store.update(ref, { ...entry, attempts: 2 + i });
    disk.end(outcome);
    store.put(newEntry("b")).catch(() => {});
  }
  store.update(ref, { ...entry, attempts: 9 });
  disk.release();
  await store.put(newEntry("c"));
  await reopened();
  expect((await store.find(entry.id))?.entry.attempts).toBe(9);
});

it("writes an update behind a change that was called before it", async () => {
  const { ref, entry } = await entryBeingUpdated();
  store.update(ref, { ...entry, attempts: 2 });
  const dead = failedEntry(entry);
  const failing = store.fail(ref, dead);
  store.update(ref, { ...dead, replays: 3 });
  disk.release();
  await failing;
  await reopened();
  expect((await store.find(entry.id))?.entry).toEqual({ ...dead, replays: 3 });
});
