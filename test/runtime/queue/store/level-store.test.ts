import { describe, expect, it } from "vitest";
import { storageConformance } from "../../../../src/testing.js";
import { newEntry } from "./entries.js";
import { makePlace } from "./level-harness.js";

describe("LevelStore (fsync)", () => {
  const storage = () => {
    const place = makePlace();
    const create = () => place.store({ durability: "fsync" });
    return { create, again: create, remove: place.remove };
  };
  for (const { name, run } of storageConformance(storage)) it(name, run);
});

it("lets new entries in while it deletes many", async () => {
  const place = makePlace();
  const store = place.store();
  await store.open();
  const refs = await Promise.all(Array.from({ length: 1500 }, async (_, n) => (await store.put(newEntry(`${n}`))).ref));
  const order: string[] = [];
  const deleting = store.delete(refs).then(() => order.push("deleted"));
  await store.put(newEntry("meanwhile")).then(() => order.push("put"));
  await deleting;
  expect(order).toEqual(["put", "deleted"]);
  expect(store.stats.pending.entries).toBe(1);
  await store.close();
  await place.remove();
});
