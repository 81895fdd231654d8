import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { adoptOldBallasts } from "../../../../../../src/runtime/queue/store/level/disk/ballast.js";
import { planFor } from "../../../../../../src/runtime/queue/store/level/disk/disk-plan.js";
import { SharedDisk, StoreDisk } from "../../../../../../src/runtime/queue/store/level/disk/shared-disk.js";
import { holdDirectory } from "../../../../../../src/runtime/queue/store/level/open/directory-access.js";
import { makePlace, type Place } from "../../level-harness.js";

const MIB = 1024 * 1024;
const FULL = { code: "ENOSPC" };

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

const ballastIn = (directory: string) => statSync(join(directory, "BALLAST"), { throwIfNoEntry: false })?.size ?? 0;

/** A disk with this much free space, with queues on it, and journals that hand on to them in this order. */
async function diskWith(free: number, queues = 1, journals = 0) {
  const disk = { free, total: 400 * MIB };
  const shared = new SharedDisk(place.root, async () => disk);
  const numbers = Array.from({ length: queues + journals }, (_, i) => i);
  const stores = numbers.map((i) => new StoreDisk(storeDirectory(i), shared, i >= queues));
  for (const store of stores) await store.makePlan();
  return { disk, shared, stores, store: stores[0]!, ballast: () => ballastIn(place.root) };
}

function storeDirectory(number: number): string {
  const directory = join(place.root, `store-${number}`);
  mkdirSync(directory, { recursive: true });
  return directory;
}

describe("the disk that the stores of a directory share", () => {
  it("counts what is on its way into any of them as if it were there", async () => {
    const { disk, shared, stores } = await diskWith(320 * MIB, 2);
    const [one, other] = stores as [StoreDisk, StoreDisk];
    disk.free = shared.plan.reserve + MIB;
    await one.claim(700_000, true);
    await expect(other.claim(700_000, true)).rejects.toMatchObject(FULL);
    one.written(700_000);
    await other.claim(700_000, true);
    await expect(one.claim(700_000, true)).rejects.toMatchObject(FULL);
  });

  it("has one ballast for any number of stores: held while there is little room, removed to open a store", async () => {
    const { disk, shared, store, ballast } = await diskWith(60 * MIB, 9);
    disk.free = 2 * shared.plan.reserve;
    await shared.check();
    expect(ballast()).toBe(0);
    disk.free = 50 * MIB;
    await Promise.all(Array.from({ length: 9 }, () => shared.check()));
    expect(ballast()).toBe(shared.plan.ballast);
    disk.free = 100_000;
    await expect(shared.check()).rejects.toMatchObject(FULL);
    await store.makeRoomToOpen();
    expect(ballast()).toBe(0);
    await expect(store.makeRoomToOpen()).rejects.toMatchObject(FULL);
    disk.free = 50 * MIB;
    await shared.check();
    expect(ballast()).toBe(shared.plan.ballast);
    disk.free = 3 * shared.plan.reserve;
    await shared.check();
    expect(ballast()).toBe(0);
  });

  it("is not taken from new entries by the ballast, including those of another agent", async () => {
    const { disk, shared, ballast } = await diskWith(60 * MIB);
    disk.free = shared.plan.reserve + shared.plan.ballast - 1;
    await shared.check();
    expect(ballast()).toBe(0);
    disk.free++;
    await shared.check();
    expect(ballast()).toBe(shared.plan.ballast);
  });

  it("counts on no ballast that somebody has removed", async () => {
    const { disk, shared, store, ballast } = await diskWith(60 * MIB);
    writeFileSync(join(place.root, "BALLAST"), Buffer.alloc(shared.plan.ballast));
    disk.free = shared.plan.reserve;
    await store.claim(MIB, true);
    await shared.removeBallast();
    expect(ballast()).toBe(0);
    await expect(shared.check().then(() => store.claim(8 * MIB, true))).rejects.toMatchObject(FULL);
  });

  it("has room for the next step on the way out when there is none for new entries, and asks all stores to compact", async () => {
    const { disk, shared, stores } = await diskWith(320 * MIB, 1, 2);
    const [exporter, inner, outer] = stores as [StoreDisk, StoreDisk, StoreDisk];
    let asked = 0;
    let told = 0;
    for (const store of stores) store.use({ compactNow: () => void asked++, onRoom: () => void told++ });
    disk.free = shared.plan.reserve;
    for (const store of stores) await expect(store.claim(1000, true)).rejects.toMatchObject(FULL);
    expect(asked).toBe(9);
    // A journal that others hand on to may be filled only so far that it can still hand on itself.
    await fill(outer);
    await fill(inner);
    await fill(exporter);
    const taken = [outer, inner, exporter].map((store) => takenBy.get(store)!);
    expect(taken.every((bytes) => bytes > MIB)).toBe(true);
    const left = disk.free - taken.reduce((sum, bytes) => sum + bytes, 0);
    expect(left).toBeGreaterThanOrEqual(shared.plan.reserve / 2 - MIB);
    disk.free = 1000;
    await expect(shared.check()).rejects.toMatchObject(FULL);
    expect(told).toBe(0);
    disk.free = shared.plan.reserve;
    await shared.check();
    await shared.check();
    expect(told).toBe(3);
  });

  const takenBy = new Map<StoreDisk, number>();

  async function fill(store: StoreDisk): Promise<void> {
    for (let taken = 0; ; taken += MIB / 4) {
      takenBy.set(store, taken);
      const claimed = await Promise.resolve(store.claim(MIB / 4, false)).then(
        () => true,
        () => false,
      );
      if (!claimed) return;
    }
  }

  it("removes the ballast for moving entries and for compactions if they fit only without it", async () => {
    const { disk, shared, store, ballast } = await diskWith(60 * MIB);
    disk.free = 50 * MIB;
    await shared.check();
    disk.free = MIB;
    await store.claim(MIB, false);
    expect(ballast()).toBe(0);
    disk.free = 50 * MIB;
    await shared.check();
    disk.free = MIB;
    await shared.compact(async (isTight) => {
      expect([isTight, ballast()]).toEqual([true, 0]);
    });
  });

  it("is divided among the stores as before after one was closed and opened again many times", async () => {
    const { disk, shared, stores } = await diskWith(320 * MIB, 1, 2);
    const roomOf = async (journal: StoreDisk) => {
      disk.free = shared.plan.reserve;
      await fill(journal);
      const room = takenBy.get(journal)!;
      journal.written(room);
      return room;
    };
    const before = [await roomOf(stores[2]!), await roomOf(stores[1]!)];
    for (let i = 0; i < 20; i++) {
      // A reload creates the successor of a store before it closes the store.
      const successor = new StoreDisk(storeDirectory(1), shared, true);
      stores[1]!.leave({ compactNow: () => {}, onRoom: () => {} });
      stores[1] = successor;
      await successor.makePlan();
    }
    disk.free = 320 * MIB;
    await new StoreDisk(storeDirectory(3), shared, false).makePlan();
    expect(shared.plan.writeBuffer / planFor(320 * MIB, 4).writeBuffer).toBeCloseTo(1, 2);
    expect([await roomOf(stores[2]!), await roomOf(stores[1]!)]).toEqual(before);
  });

  it("lets one store compact at a time", async () => {
    const { shared } = await diskWith(60 * MIB);
    let running = 0;
    let most = 0;
    const compact = () =>
      shared.compact(async () => {
        most = Math.max(most, ++running);
        await new Promise(setImmediate);
        running--;
      });
    await Promise.all([compact(), compact(), compact().then(() => compact())]);
    await expect(shared.compact(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await compact();
    expect(most).toBe(1);
  });
});

it("is mostly used for any size and number of stores, and the writes of LevelDB fit into the rest", () => {
  fc.assert(
    fc.property(fc.integer({ min: 30, max: 100_000 }), fc.integer({ min: 1, max: 20 }), (room, stores) => {
      const { reserve, ballast, writeBuffer, maxCommit } = planFor(room * MIB, stores);
      expect(reserve).toBeLessThanOrEqual((room * MIB) / 2);
      // Two logs become tables, and the first level's four are merged.
      expect(6 * (writeBuffer + maxCommit)).toBeLessThanOrEqual(reserve);
      // When stores are opened again on a full disk, the logs of one after the other become tables.
      expect(2 * (writeBuffer + maxCommit)).toBeLessThanOrEqual(ballast);
    }),
  );
});

it("is written through buffers that take at most 128 MiB of memory together", () => {
  fc.assert(
    fc.property(fc.integer({ min: 30, max: 1_000_000 }), fc.integer({ min: 1, max: 128 }), (room, stores) => {
      const { writeBuffer } = planFor(room * MIB, stores);
      expect(stores * writeBuffer).toBeLessThanOrEqual(128 * MIB);
    }),
  );
  expect([1, 4, 8].map((stores) => planFor(1e6 * MIB, stores).writeBuffer / MIB)).toEqual([32, 32, 16]);
});

describe("ballasts of earlier versions, one in each store's directory", () => {
  it("become one, whose room no other user gets", async () => {
    for (const [i, size] of [1, 3, 2].entries())
      writeFileSync(join(storeDirectory(i), "BALLAST"), Buffer.alloc(size * MIB));
    await adoptOldBallasts(place.root);
    expect(ballastIn(place.root)).toBe(3 * MIB);
    for (let i = 0; i < 3; i++) expect(existsSync(join(storeDirectory(i), "BALLAST"))).toBe(false);
  });

  it("are removed when there is one already, but not those of a store that is open", async () => {
    writeFileSync(join(place.root, "BALLAST"), Buffer.alloc(MIB));
    for (let i = 0; i < 2; i++) writeFileSync(join(storeDirectory(i), "BALLAST"), Buffer.alloc(2 * MIB));
    const hold = await holdDirectory(storeDirectory(0));
    await adoptOldBallasts(place.root);
    await hold.release();
    expect([0, 1].map((i) => ballastIn(storeDirectory(i)))).toEqual([2 * MIB, 0]);
    expect(ballastIn(place.root)).toBe(MIB);
  });

  it("are ignored if there is no directory", async () => {
    await adoptOldBallasts(join(place.root, "nowhere"));
  });
});
