import { expect, it } from "vitest";
import { type LevelDb, makeLevelDb } from "../../../../../src/runtime/queue/store/level/level-db.js";
import { newEntry } from "../entries.js";
import { makePlace } from "../level-harness.js";

it("syncs all changes since the last time, even if only entries were added", async () => {
  const place = makePlace();
  let unsynced = 0;
  const makeDb = (directory: string) => {
    const db = makeLevelDb(directory);
    const batch = db.batch.bind(db) as () => ReturnType<LevelDb["batch"]>;
    const watchedBatch = () => {
      const chained = batch();
      const write = chained.write.bind(chained);
      chained.write = async (options?: { sync?: boolean | undefined }) => {
        const isEmpty = chained.length === 0;
        await write(options ?? {});
        if (!isEmpty) unsynced = options?.sync ? 0 : unsynced + 1;
      };
      return chained;
    };
    return Object.assign(db, { batch: watchedBatch }) as LevelDb;
  };
  const store = place.store({ durability: "interval", intervalMs: 5 }, { makeDb });
  try {
    await store.open();
    for (const text of ["a", "b", "c"]) {
      await store.put(newEntry(text));
      await expect.poll(() => unsynced).toBe(0);
    }
  } finally {
    await store.close();
    await place.remove();
  }
});
