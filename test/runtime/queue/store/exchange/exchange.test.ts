import { cpSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../../../../src/runtime/queue/store/memory-store.js";
import { newEntry } from "../entries.js";
import { makePlace, textsIn } from "../level-harness.js";
import { EXCHANGE_CASES } from "./exchange-cases.js";

describe("entries of a store in memory", () => {
  it.each(Object.entries(EXCHANGE_CASES))("exchanged: %s", async (_name, run) => {
    const store = new MemoryStore({ exporter: "test" });
    await store.open();
    await run(store, async () => store);
  });
});

describe("entries of a store on disk", () => {
  it.each(Object.entries(EXCHANGE_CASES))("exchanged: %s", async (_name, run) => {
    const place = makePlace();
    let store = place.store();
    await store.open();
    await store.notes.load();
    await run(store, async () => {
      await store.close();
      store = place.store();
      await store.open();
      return store;
    });
    await store.close();
    await place.remove();
  });

  it("are all there or all exchanged after a kill at any moment", async () => {
    const place = makePlace();
    const store = place.store();
    await store.open();
    const refs = [(await store.put(newEntry("a"))).ref, (await store.put(newEntry("b"))).ref];
    const copies: ReturnType<typeof makePlace>[] = [];
    const copy = () => {
      const made = makePlace();
      cpSync(place.root, made.root, { recursive: true, filter: (path) => !path.endsWith("LOCK") });
      copies.push(made);
    };
    let isDone = false;
    const exchanged = store.exchange({ removed: refs, added: [newEntry("ab")] }).then(() => {
      isDone = true;
    });
    while (!isDone) {
      copy();
      await new Promise(setImmediate);
    }
    await exchanged;
    copy();
    for (const made of copies) {
      const left = made.store();
      await left.open();
      expect([["a", "b"], ["ab"]]).toContainEqual(await textsIn(left));
      await left.close();
      await made.remove();
    }
    await store.close();
    await place.remove();
  });
});
