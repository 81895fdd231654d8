import { expect, it } from "vitest";
import { describeStore } from "./conformance.js";
import { fresh } from "./entries.js";
import { makePlace } from "./level-harness.js";

for (const durability of ["fsync", "interval", "process"] as const) {
  describeStore(`LevelStore (${durability})`, () => {
    const place = makePlace();
    return {
      async create() {
        const store = place.store({ durability });
        await store.open();
        return store;
      },
      async reopen(store) {
        await store.close();
        const again = place.store({ durability });
        await again.open();
        return again;
      },
      remove: place.remove,
    };
  });
}

it("lets new entries in while it deletes many", async () => {
  const place = makePlace();
  const store = place.store();
  await store.open();
  const refs = await Promise.all(Array.from({ length: 1500 }, async (_, n) => (await store.put(fresh(`${n}`))).ref));
  const order: string[] = [];
  const deleting = store.delete(refs).then(() => order.push("deleted"));
  await store.put(fresh("meanwhile")).then(() => order.push("put"));
  await deleting;
  expect(order).toEqual(["put", "deleted"]);
  expect(store.stats.pending.entries).toBe(1);
  await store.close();
  await place.remove();
});
