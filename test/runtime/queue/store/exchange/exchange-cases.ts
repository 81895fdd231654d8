import { expect } from "vitest";
import type { QueueStore } from "../../../../../src/runtime/queue/store/store.js";
import { newEntry } from "../entries.js";
import { textsIn } from "../level-harness.js";

const note = (text: string, replaces: readonly number[] = []) => ({
  owner: "queue:test",
  after: 0,
  bytes: Buffer.from(text),
  replaces,
});

/**
 * The cases that every store passes when entries are exchanged. `reopen` gives the same store as another process would
 * see it.
 */
export const EXCHANGE_CASES: Readonly<
  Record<string, (store: QueueStore, reopen: () => Promise<QueueStore>) => Promise<void>>
> = {
  "puts new entries and a note in the place of others": async (store, reopen) => {
    const [a, b] = [await store.put(newEntry("a")), await store.put(newEntry("b"))];
    await store.put(newEntry("c"));
    const first = await store.exchange({ removed: [], added: [], note: note("old") });
    const added = [newEntry("d"), newEntry("e")];
    const { stored } = await store.exchange({ removed: [a.ref, b.ref], added, note: note("new", [first.note!]) });
    expect(stored.map(({ entry }) => entry.state)).toEqual(["pending", "pending"]);
    expect(await textsIn(store)).toEqual(["c", "d", "e"]);
    expect(store.stats.pending.entries).toBe(3);
    const again = await reopen();
    expect(await textsIn(again)).toEqual(["c", "d", "e"]);
    const notes = (await again.notes!.load()).map(({ bytes }) => Buffer.from(bytes).toString());
    expect(notes).toEqual(["new"]);
  },
  "does not mind what is gone, unless nothing of it is there": async (store) => {
    const [a, b] = [await store.put(newEntry("a")), await store.put(newEntry("b"))];
    await store.exchange({ removed: [a.ref], added: [] });
    await store.exchange({ removed: [a.ref, b.ref], added: [newEntry("c")], mustExist: true });
    const again = { removed: [a.ref, b.ref], added: [newEntry("d")] };
    await expect(store.exchange({ ...again, mustExist: true })).rejects.toMatchObject({ code: "not_found" });
    expect(await textsIn(store)).toEqual(["c"]);
    await store.exchange(again);
    expect(await textsIn(store)).toEqual(["c", "d"]);
  },
  "forgets an acknowledgement of what was exchanged": async (store) => {
    const { ref } = await store.put(newEntry("a"));
    await store.exchange({ removed: [ref], added: [newEntry("b")] });
    store.ack(ref);
    await store.put(newEntry("c"));
    expect(await textsIn(store)).toEqual(["b", "c"]);
    expect(store.stats.pending.entries).toBe(2);
  },
};
