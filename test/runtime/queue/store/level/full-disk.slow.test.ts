import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DiskReading } from "../../../../../src/runtime/queue/store/level/disk/disk-plan.js";
import { sizeOfFiles } from "../../../../../src/runtime/queue/store/level/disk/disk-plan.js";
import type { LevelStore } from "../../../../../src/runtime/queue/store/level-store.js";
import { newEntry } from "../entries.js";
import { failingDb } from "../failing-db.js";
import { makePlace, type Place, textsIn } from "../level-harness.js";
import { canMount, mountSmall } from "./small-disk.js";

const MIB = 1024 * 1024;

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

it("opens on a disk without any room, refuses, and has everything when there is room again", async () => {
  const before = place.store();
  await before.open();
  await before.put(newEntry("a"));
  await before.put(newEntry("b"));
  await before.close();
  let free = 0;
  const readDisk = async (): Promise<DiskReading> => ({ free, total: 400 * MIB });
  await expect(place.store({}, { readDisk }).open()).rejects.toMatchObject({ code: "full" });
  const reopened: unknown[] = [];
  const options = { readDisk, mayOpenLater: true, checkMs: 10 };
  const store = place.store({}, { ...options, onDamage: (report) => reopened.push(report) });
  await store.open();
  expect(store.stats).toMatchObject({ pending: { entries: 2 }, writeFailure: { code: "full" } });
  await expect(store.put(newEntry("c"))).rejects.toMatchObject({ code: "full" });
  await expect(store.pending(undefined, 10)).rejects.toMatchObject({ code: "full" });
  free = 400 * MIB;
  await expect.poll(() => store.stats.writeFailure).toBeUndefined();
  expect(reopened).toMatchObject([{ lostEntries: 0, corruptEntries: 0 }]);
  await store.put(newEntry("c"));
  expect(await textsIn(store)).toEqual(["a", "b", "c"]);
  await store.close();
});

it("is opened again after a merge that found no room, though nothing new is let in", async () => {
  const failing = failingDb();
  let free = 400 * MIB;
  const readDisk = async (): Promise<DiskReading> => ({ free, total: 400 * MIB });
  const store = place.store({}, { readDisk, makeDb: failing.make, checkMs: 10 });
  await store.open();
  free = 50 * MIB;
  failing.failWrites("IO error: 000005.ldb: No space left on device");
  await expect.poll(() => failing.made).toBeGreaterThan(1);
  failing.failWrites();
  expect(store.stats.writeFailure).toMatchObject({ code: "full" });
  free = 400 * MIB;
  await expect.poll(() => store.stats.writeFailure).toBeUndefined();
  await store.close();
});

it("leaves a queue that it could not open as it was", async () => {
  const before = place.store();
  await before.open();
  await before.put(newEntry("a"));
  await before.close();
  const store = place.store({}, { readDisk: async () => ({ free: 0, total: MIB }), mayOpenLater: true });
  await store.open();
  await store.close();
  const after = place.store();
  expect(await after.open()).toMatchObject({ isNew: false, lostEntries: 0 });
  expect(await textsIn(after)).toEqual(["a"]);
  await after.close();
});

describe("disk that was removed from", () => {
  const sizeOfTables = async () => (await sizeOfFiles(place.directory)).tables;

  /** One life of a queue in which 5 MB come and are delivered. */
  async function live() {
    const store = place.store();
    await store.open();
    for (let n = 0; n < 20; n++) store.ack((await store.put(newEntry(`${n}${"z".repeat(250_000)}`))).ref);
    await store.close();
  }

  it("is given back in a quiet moment, also what former processes have left", async () => {
    for (let n = 0; n < 3; n++) await live();
    const store = place.store({}, { quietMs: 10 });
    await store.open();
    const kept = await store.put(newEntry("kept"));
    await expect.poll(sizeOfTables).toBeLessThan(MIB);
    expect((await store.payload(kept.ref)).count).toBe(1);
    await store.close();
  });

  it("is given back at once when it is much, and what is live is kept", async () => {
    const first = place.store();
    await first.open();
    await first.put(newEntry("kept"));
    await first.close();
    for (let n = 0; n < 3; n++) await live();
    const store = place.store({}, { readDisk: async () => ({ free: 80 * MIB, total: 80 * MIB }), quietMs: 1e6 });
    await store.open();
    await expect.poll(sizeOfTables).toBeLessThan(MIB);
    expect(await textsIn(store)).toEqual(["kept"]);
    await store.close();
  });
});

describe.skipIf(!canMount)("a small disk of its own (needs the right to mount)", () => {
  /** Puts until there is no room; delivers a part meanwhile. */
  async function fillUp(store: LevelStore): Promise<number[]> {
    const refs: number[] = [];
    for (let n = 0; ; n++) {
      try {
        refs.push((await store.put({ ...newEntry(`${n}${"z".repeat(200_000)}`), isNew: true })).ref);
        if (n % 3 === 0) store.ack(refs.shift()!);
      } catch (error) {
        expect(error).toMatchObject({ code: "full" });
        return refs;
      }
    }
  }

  /** While the store cannot be opened again, it cannot be read. */
  const countOf = (store: LevelStore, ref: number) =>
    store.payload(ref).then(
      ({ count }) => count,
      () => 0,
    );

  const takes = (store: LevelStore) =>
    store.put({ ...newEntry("again"), isNew: true }).then(
      ({ ref }) => {
        store.ack(ref);
        return true;
      },
      () => false,
    );

  it("is filled, emptied and used again, even if another program takes all remaining room", async () => {
    const disk = mountSmall("60m");
    try {
      const store = disk.store({ checkMs: 10, quietMs: 10 });
      await store.open();
      const refs = await fillUp(store);
      expect(refs.length).toBeGreaterThan(50);
      await expect.poll(() => existsSync(join(disk.directory, "BALLAST"))).toBe(true);
      fillWithOther(disk.root);
      for (const ref of refs) {
        await expect.poll(() => countOf(store, ref)).toBe(1);
        store.ack(ref);
      }
      await expect.poll(async () => (await sizeOfFiles(disk.directory)).tables).toBeLessThan(16 * MIB);
      rmSync(join(disk.root, "other"));
      await expect.poll(() => takes(store)).toBe(true);
      await store.close();
    } finally {
      disk.unmount();
    }
  });

  it("that is full to the last byte lets the queue start again with all of its entries", async () => {
    const disk = mountSmall("60m");
    try {
      const store = disk.store({ checkMs: 10 });
      await store.open();
      const refs = await fillUp(store);
      await store.close();
      fillWithOther(disk.root);
      // A merge that found no room may have cost the ballast: then the queue waits for room.
      const hasBallast = existsSync(join(disk.directory, "BALLAST"));
      const again = disk.store({ mayOpenLater: true, checkMs: 10 });
      expect(await again.open()).toMatchObject({ isNew: false, lostEntries: 0, corruptEntries: 0 });
      expect(again.stats.pending.entries).toBe(refs.length);
      if (!hasBallast) rmSync(join(disk.root, "other"));
      await expect.poll(() => textsIn(again).catch(() => [])).toHaveLength(refs.length);
      for (const ref of refs) again.ack(ref);
      rmSync(join(disk.root, "other"), { force: true });
      await expect.poll(() => takes(again)).toBe(true);
      await again.close();
    } finally {
      disk.unmount();
    }
  });
});

/** Another program's file takes all that is free. */
function fillWithOther(root: string): void {
  try {
    execFileSync("dd", ["if=/dev/zero", `of=${join(root, "other")}`, "bs=64k"], { stdio: "ignore" });
  } catch {
    // It ends when the disk is full.
  }
}
