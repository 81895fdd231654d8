import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Refusal } from "../../../../src/plugin.js";
import type { LevelStore } from "../../../../src/runtime/queue/store/level-store.js";
import { type Queue, startQueue } from "../queue.js";
import { failedEntry, newEntry } from "./entries.js";
import { failingDb } from "./failing-db.js";
import { canMount, mountSmall } from "./level/small-disk.js";
import { makePlace, type Place, textsIn } from "./level-harness.js";

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

describe("a queue whose disk fails", () => {
  for (const [message, code] of [
    ["IO error: 000005.log: No space left on device", "full"],
    ["IO error: 000005.log: Read-only file system", "io"],
    ["IO error: 000005.log: Input/output error", "io"],
  ] as const)
    it(`refuses with "${code}", keeps what it has, and goes on by itself: ${message}`, async () => {
      const failing = failingDb();
      const store = place.store({ durability: "fsync" }, { makeDb: failing.make });
      await store.open();
      const a = await store.put(newEntry("a"));
      const b = await store.put(newEntry("b"));
      failing.failWrites(message);
      const outcomes = await Promise.allSettled([
        store.put(newEntry("c")),
        store.fail(a.ref, failedEntry(a.entry)),
        store.replace(b.ref, [newEntry("b1"), newEntry("b2")]),
        store.delete([b.ref]),
      ]);
      for (const outcome of outcomes) expect(outcome).toMatchObject({ status: "rejected", reason: { code } });
      expect(await textsIn(store)).toEqual(["a", "b"]);
      expect(store.stats.pending.entries).toBe(2);
      store.ack(a.ref);
      expect(await textsIn(store)).toEqual(["b"]);
      expect(store.stats.writeFailure).toMatchObject({ code });
      failing.failWrites();
      const d = await store.put(newEntry("d"));
      expect(store.stats.writeFailure).toBeUndefined();
      expect(new Set([a, b, d].map(({ entry }) => entry.id)).size).toBe(3);
      expect(failing.made).toBe(2);
      expect(await textsIn(store)).toEqual(["b", "d"]);
      await store.close();
      const again = place.store();
      expect(await again.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0, setAside: undefined });
      expect(await textsIn(again)).toEqual(["b", "d"]);
      expect(again.stats.pending.entries).toBe(2);
      await again.close();
    });

  it("knows after a write that reached the disk and failed all the same what is there", async () => {
    const failing = failingDb();
    let reopened = 0;
    const store = place.store({ durability: "fsync" }, { makeDb: failing.make, onDamage: () => reopened++ });
    await store.open();
    const [a, b, c, d] = await Promise.all(["a", "b", "c", "d"].map((text) => store.put(newEntry(text))));
    await store.fail(d!.ref, failedEntry(d!.entry));
    failing.failWrites("IO error: 000005.log: Input/output error", "late");
    const outcomes = await Promise.allSettled([
      store.put(newEntry("e")),
      store.fail(a!.ref, failedEntry(a!.entry)),
      store.replace(b!.ref, [newEntry("b1"), newEntry("b2")]),
      store.replay([{ ref: d!.ref, entry: d!.entry }]),
      store.delete([c!.ref]),
    ]);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: "rejected", reason: { code: "io" } });
    expect(reopened).toBe(0);
    failing.failWrites();
    store.ack(a!.ref);
    store.update(b!.ref, b!.entry);
    await expect(store.replace(b!.ref, [newEntry("b3")])).rejects.toMatchObject({ code: "not_found" });
    const f = await store.put(newEntry("f"));
    expect(reopened).toBe(1);
    const there = ["e", "b1", "b2", "d", "f"];
    expect(await textsIn(store)).toEqual(there);
    expect(await textsIn(store, "failed")).toEqual([]);
    expect(store.stats).toMatchObject({ pending: { entries: 5, items: 5 }, failed: { entries: 0 }, corrupt: 0 });
    expect((await store.find(d!.entry.id))?.entry.state).toBe("pending");
    const ids = (await store.pending(undefined, 10)).map(({ entry }) => entry.id);
    expect(new Set(ids).size).toBe(5);
    expect(ids.at(-1)).toBe(f.entry.id);
    await store.close();
    const again = place.store();
    expect(await again.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0, setAside: undefined });
    expect(await textsIn(again)).toEqual(there);
    await again.close();
  });

  it("sends what reached the disk in a write that failed, once", async () => {
    const failing = failingDb();
    const wake = () => queue.outlet.onReplayed([]);
    const store = place.store({ durability: "fsync" }, { makeDb: failing.make, onDamage: wake });
    const queue: Queue = await startQueue({ store });
    failing.failWrites("IO error: 000005.log: Input/output error", "late");
    const refused = queue.send("refused");
    await expect.poll(() => refused).toMatchObject([{ ok: false, refusal: { kind: "transient" } }]);
    failing.failWrites();
    const taken = queue.send("taken");
    await expect.poll(() => taken).toMatchObject([{ ok: true }]);
    await expect.poll(() => store.stats.pending.entries).toBe(0);
    expect([...queue.taken].sort()).toEqual(["refused", "taken"]);
    await queue.outlet.stop();
  });

  it("reports that it is down until it can be written again, even if nothing is put", async () => {
    const failing = failingDb();
    const store = place.store({ durability: "fsync" }, { makeDb: failing.make, checkMs: 10 });
    const queue = await startQueue({ store });
    const health = () => {
      const { state, queue: ofQueue } = queue.outlet.status();
      return [state, ofQueue.writeError?.code];
    };
    expect(health()).toEqual(["UP", undefined]);
    failing.failWrites("IO error: 000005.log: Read-only file system");
    const refused = queue.send("refused");
    await expect.poll(() => refused).toMatchObject([{ ok: false, refusal: { code: "SLUICE_QUEUE_WRITE" } }]);
    expect(health()).toEqual(["DOWN", "io"]);
    failing.failWrites();
    await expect.poll(health).toEqual(["UP", undefined]);
    await queue.outlet.stop();
  });

  it("leaves the queue all its room when everything was delivered before it could be written again", async () => {
    const failing = failingDb();
    let isUp = false;
    const queue = await startQueue({
      makeStore: (onDamage) => place.store({ durability: "fsync" }, { makeDb: failing.make, onDamage }),
      settings: { sending_queue: { queue_size: 3 } },
      backend: async () => {
        if (!isUp) throw new Refusal("transient", "down");
        return undefined;
      },
    });
    const before = [queue.send("a"), queue.send("b"), queue.send("c")];
    await expect.poll(() => before.flat()).toMatchObject([{ ok: true }, { ok: true }, { ok: true }]);
    failing.failWrites("IO error: 000005.log: No space left on device");
    isUp = true;
    await queue.pass(10_000, 1000);
    expect(queue.taken).toHaveLength(3);
    expect(queue.outlet.status().queue).toMatchObject({ entries: 0, bytes: 0, inFlight: 0 });
    const refused = queue.send("d");
    await expect.poll(() => refused).toMatchObject([{ ok: false, refusal: { code: "SLUICE_QUEUE_WRITE" } }]);
    failing.failWrites();
    await expect.poll(() => failing.made).toBe(2);
    await expect.poll(() => queue.outlet.status().queue.entries).toBe(0);
    const after = [queue.send("e"), queue.send("f"), queue.send("g")];
    await expect.poll(() => after.flat()).toMatchObject([{ ok: true }, { ok: true }, { ok: true }]);
    await queue.outlet.drain();
    await queue.outlet.stop();
  });

  it.skipIf(!canMount)("continues when a full disk has room again (needs the right to mount)", async () => {
    const { store: createStore, resize, unmount } = mountSmall();
    try {
      const store = createStore();
      await store.open();
      const kept = await fillUp(store);
      expect(await textsIn(store)).toEqual(kept.map(({ text }) => text));
      resize("400m");
      await untilTaken(store, "room");
      const texts = [...kept.map(({ text }) => text), "room"];
      expect(await textsIn(store)).toEqual(texts);
      await store.close();
      const again = createStore();
      expect(await again.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
      expect(await textsIn(again)).toEqual(texts);
      await again.close();
    } finally {
      unmount();
    }
  });

  it.skipIf(!canMount)(
    "frees a disk that it filled by delivering what is there (needs the right to mount)",
    async () => {
      const { store: createStore, unmount } = mountSmall();
      try {
        const store = createStore();
        await store.open();
        for (const { ref } of (await fillUp(store)).slice(1)) store.ack(ref);
        const takesAgain = () => store.put(newEntry("again")).then(() => true);
        await expect.poll(() => takesAgain().catch(() => false)).toBe(true);
        await store.close();
      } finally {
        unmount();
      }
    },
  );
});

async function untilTaken(store: LevelStore, text: string): Promise<void> {
  const isTaken = () =>
    store.put(newEntry(text)).then(
      () => true,
      () => false,
    );
  await expect.poll(isTaken).toBe(true);
}

/** Puts until there is no room; gives what was kept. */
async function fillUp(store: LevelStore): Promise<{ text: string; ref: number }[]> {
  const kept: { text: string; ref: number }[] = [];
  for (let n = 0; ; n++) {
    const text = `${n}${"z".repeat(500_000)}`;
    try {
      kept.push({ text, ref: (await store.put(newEntry(text))).ref });
    } catch (error) {
      expect(error).toMatchObject({ code: "full" });
      expect(kept.length).toBeGreaterThan(10);
      return kept;
    }
  }
}
