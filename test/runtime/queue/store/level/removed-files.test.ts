import { cpSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type LevelDb, makeLevelDb } from "../../../../../src/runtime/queue/store/level/level-db.js";
import { newEntry } from "../entries.js";
import { makePlace, type Place, textsIn } from "../level-harness.js";

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

const WAYS: Record<string, () => void> = {
  "the directory is removed": () => rmSync(place.directory, { recursive: true }),
  "everything is removed": () => rmSync(place.root, { recursive: true }),
  "the log is removed": () => {
    for (const name of readdirSync(place.directory)) if (name.endsWith(".log")) rmSync(join(place.directory, name));
  },
  "the directory is replaced by a copy": () => {
    cpSync(place.directory, join(place.root, "copy"), { recursive: true });
    renameSync(place.directory, join(place.root, "moved"));
    renameSync(join(place.root, "copy"), place.directory);
  },
};

describe("a queue whose files are taken away while it is in use", () => {
  for (const [way, takeAway] of Object.entries(WAYS)) {
    it(`refuses the next entry, delivers what it has, and begins anew: ${way}`, async () => {
      const store = place.store({ durability: "fsync" }, { checkMs: 1e6 });
      await store.open();
      const a = await store.put(newEntry("a"));
      takeAway();
      await expect(store.put(newEntry("b"))).rejects.toMatchObject({
        code: "io",
        message: expect.stringContaining("removed or replaced"),
      });
      expect(store.stats).toMatchObject({ pending: { entries: 1 }, writeFailure: { code: "io" } });
      expect(await textsIn(store)).toEqual(["a"]);
      await expect(store.put(newEntry("c"))).rejects.toMatchObject({
        code: "io",
        message: expect.stringContaining("removed or replaced"),
      });
      store.ack(a.ref);
      await store.put(newEntry("d"));
      expect(store.stats.writeFailure).toBeUndefined();
      await store.close();
      const again = place.store();
      expect(await again.open()).toMatchObject({ isNew: false, lostEntries: 0, corruptEntries: 0 });
      expect(await textsIn(again)).toContain("d");
      await again.close();
    });
  }

  it.each(Object.entries(WAYS))(
    "answers no entry when it happens in the moment of its write: %s",
    async (_, takeAway) => {
      let beforeNextWrite = () => {};
      const makeDb = (...args: Parameters<typeof makeLevelDb>) => {
        const db = makeLevelDb(...args);
        const begin = db.batch.bind(db) as () => ReturnType<LevelDb["batch"]>;
        const batch = () => {
          const chained = begin();
          const write = chained.write.bind(chained);
          chained.write = (options?: object) => {
            beforeNextWrite();
            beforeNextWrite = () => {};
            return write(options ?? {});
          };
          return chained;
        };
        return Object.assign(db, { batch }) as LevelDb;
      };
      const store = place.store({ durability: "fsync" }, { checkMs: 1e6, makeDb });
      await store.open();
      await store.put(newEntry("a"));
      beforeNextWrite = takeAway;
      await expect(store.put(newEntry("b"))).rejects.toMatchObject({
        code: "io",
        message: expect.stringContaining("removed or replaced"),
      });
      await store.close();
    },
  );

  it("is noticed even if nothing is written", async () => {
    const store = place.store({}, { checkMs: 10 });
    await store.open();
    await store.put(newEntry("a"));
    rmSync(place.directory, { recursive: true });
    await expect.poll(() => store.stats.writeFailure?.code).toBe("io");
    await store.close();
  });

  it("is not suspected while LevelDB begins new logs and drops old ones", async () => {
    const small = async () => ({ free: 60 * 1024 * 1024, total: 60 * 1024 * 1024 });
    const store = place.store({}, { checkMs: 1, quietMs: 1, readDisk: small });
    await store.open();
    for (let n = 0; n < 60; n++) {
      const puts = Array.from({ length: 4 }, (_, i) => store.put(newEntry(`${n}.${i}${"z".repeat(100_000)}`)));
      for (const { ref } of await Promise.all(puts)) store.ack(ref);
    }
    await store.close();
  });
});
