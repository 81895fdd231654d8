import { execFileSync } from "node:child_process";
import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DiskReading } from "../../../../../src/extensions/reliability/store/level/disk-plan.js";
import { planFor, sizeOfFiles } from "../../../../../src/extensions/reliability/store/level/disk-plan.js";
import { DiskSpace } from "../../../../../src/extensions/reliability/store/level/open/disk-space.js";
import type { LevelStore } from "../../../../../src/extensions/reliability/store/level-store.js";
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

describe("the room on a queue's disk", () => {
  /** A disk that has as much free as it is told. */
  async function diskWith(free: number) {
    const disk = { free, total: 400 * MIB };
    const space = new DiskSpace(place.root, async () => disk);
    await space.makePlan();
    return { disk, space, ballast: () => statSync(join(place.root, "BALLAST"), { throwIfNoEntry: false })?.size ?? 0 };
  }

  it("counts what is on its way to the disk as if it were there", async () => {
    const { disk, space } = await diskWith(320 * MIB);
    disk.free = space.plan.reserve + MIB;
    await space.claim(700_000);
    await expect(space.claim(700_000)).rejects.toMatchObject({ code: "ENOSPC" });
    space.written(700_000);
    await space.claim(700_000);
    await expect(space.claim(700_000)).rejects.toMatchObject({ code: "ENOSPC" });
  });

  it("is held by a ballast while there is little of it, and given up for opening when there is none", async () => {
    const { disk, space, ballast } = await diskWith(60 * MIB);
    await space.check();
    expect(ballast()).toBe(0);
    disk.free = 40 * MIB;
    await space.check();
    expect(ballast()).toBe(space.plan.ballast);
    disk.free = 100_000;
    await expect(space.check()).rejects.toMatchObject({ code: "ENOSPC" });
    await space.makeRoomToOpen();
    expect(ballast()).toBe(0);
    await expect(space.makeRoomToOpen()).rejects.toMatchObject({ code: "ENOSPC" });
    disk.free = 40 * MIB;
    await space.check();
    expect(ballast()).toBe(space.plan.ballast);
    disk.free = 90 * MIB;
    await space.check();
    expect(ballast()).toBe(0);
  });

  it("is used for the most part however small the disk is, and LevelDB's tables fit into what is left", () => {
    for (const room of [60, 120, 320, 500, 2000, 8000, 100_000]) {
      const { reserve, writeBuffer, maxCommit } = planFor(room * MIB);
      expect(reserve).toBeLessThanOrEqual((room * MIB) / 2);
      // Two logs become tables, and the first level's four are merged.
      expect(6 * (writeBuffer + maxCommit)).toBeLessThanOrEqual(reserve);
    }
  });
});

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
        refs.push((await store.put(newEntry(`${n}${"z".repeat(200_000)}`))).ref);
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
    store.put(newEntry("again")).then(
      ({ ref }) => {
        store.ack(ref);
        return true;
      },
      () => false,
    );

  it("is filled, delivered and used again, also when something else takes all that was left", async () => {
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

  it("that is full to the last byte lets the queue start again, with all that is in it", async () => {
    const disk = mountSmall("60m");
    try {
      const store = disk.store({ checkMs: 10 });
      await store.open();
      const refs = await fillUp(store);
      await expect.poll(() => existsSync(join(disk.directory, "BALLAST"))).toBe(true);
      await store.close();
      fillWithOther(disk.root);
      // A merge that found no room may have cost the ballast just now: then the queue waits for room.
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
