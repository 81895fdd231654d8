import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { QueueStore, StoredEntry } from "../../../../src/extensions/reliability/store/store.js";
import { bodies } from "../../../support/batches.js";
import { failedOf, failure, fresh } from "./entries.js";

export interface Candidate {
  /** A store that has never been opened. */
  create(): Promise<QueueStore>;
  /** The same store, closed and opened again. */
  reopen(store: QueueStore): Promise<QueueStore>;
  remove(): Promise<void>;
}

/** What every store must do. */
export function describeStore(name: string, candidate: () => Candidate): void {
  describe(name, () => {
    let store: QueueStore;
    let made: Candidate;

    beforeEach(async () => {
      made = candidate();
      store = await made.create();
    });

    afterEach(async () => {
      await store.close();
      await made.remove();
    });

    const reopen = async () => {
      store = await made.reopen(store);
    };
    const putAll = (...texts: string[]) => Promise.all(texts.map((text) => store.put(fresh(text))));
    const pendingTexts = async () => textsOf(await store.pending(undefined, 1000));
    const failedTexts = async (order: "oldest" | "newest" = "oldest") =>
      textsOf(await store.failed(undefined, 1000, order));
    const textsOf = (found: readonly StoredEntry[]) =>
      Promise.all(found.map(async ({ ref }) => bodies(await store.payload(ref)).join("+")));
    const failAll = async (...texts: string[]) => {
      const put = await putAll(...texts);
      for (const { ref, entry } of put) await store.fail(ref, failedOf(entry));
      return put;
    };

    it("gives back what it was given, in order, also after reopening", async () => {
      await putAll("a", "b", "c");
      expect(await pendingTexts()).toEqual(["a", "b", "c"]);
      await reopen();
      expect(await pendingTexts()).toEqual(["a", "b", "c"]);
    });

    it("fills an entry with what it knows about the batch", async () => {
      const { entry } = await store.put(fresh("a", "b"));
      expect(entry).toMatchObject({
        exporter: "otlp_http/test",
        pipeline: "logs",
        signal: "logs",
        items: 2,
        bytes: fresh("a", "b").batch.byteLength,
        enqueuedAt: 1_700_000_000_000,
        state: "pending",
        attempts: 0,
        calls: 0,
        history: [],
        cycles: [],
        replays: 0,
      });
      expect(entry.id).toMatch(/^[0-9a-z]+-\d+$/);
      const found = await store.find(entry.id);
      expect(found?.entry).toEqual(entry);
    });

    it("gives every entry an id of its own, also after reopening", async () => {
      const first = await putAll("a", "b");
      for (const { ref } of first) store.ack(ref);
      await reopen();
      const second = await putAll("c", "d");
      const ids = [...first, ...second].map(({ entry }) => entry.id);
      expect(new Set(ids).size).toBe(4);
    });

    it("pages through what is pending", async () => {
      await putAll("a", "b", "c", "d", "e");
      const one = await store.pending(undefined, 2);
      const two = await store.pending(one[1]!.ref, 2);
      const three = await store.pending(two[1]!.ref, 2);
      expect(await textsOf([...one, ...two, ...three])).toEqual(["a", "b", "c", "d", "e"]);
      expect(await store.pending(three[0]!.ref, 2)).toEqual([]);
    });

    it("forgets what is acknowledged, at once and for good", async () => {
      const [a, b] = await putAll("a", "b", "c");
      store.ack(b!.ref);
      expect(await pendingTexts()).toEqual(["a", "c"]);
      expect(await store.find(b!.entry.id)).toBeUndefined();
      store.ack(b!.ref);
      store.ack(a!.ref);
      await reopen();
      expect(await pendingTexts()).toEqual(["c"]);
      expect(store.stats.pending.entries).toBe(1);
    });

    it("gives every entry once to somebody who reads on while acknowledging", async () => {
      const texts = Array.from({ length: 2000 }, (_, i) => String(i));
      await putAll(...texts);
      const seen: string[] = [];
      for (let after: number | undefined; ; ) {
        const page = await store.pending(after, 16);
        if (page.length === 0) break;
        seen.push(...(await textsOf(page)));
        for (const { ref } of page) store.ack(ref);
        after = page.at(-1)!.ref;
      }
      expect(seen).toEqual(texts);
      await expect.poll(() => store.stats.pending.entries).toBe(0);
    });

    it("goes on behind an entry that is gone", async () => {
      const [a, b] = await putAll("a", "b", "c");
      store.ack(a!.ref);
      store.ack(b!.ref);
      await reopen();
      expect(await textsOf(await store.pending(b!.ref, 10))).toEqual(["c"]);
    });

    it("keeps what an attempt taught, with the next write", async () => {
      const { ref, entry } = await store.put(fresh("a"));
      store.update(ref, { ...entry, attempts: 2, calls: 3, history: [{ at: 1, error: "HTTP 503", delayMs: 10 }] });
      const expected = { attempts: 2, calls: 3, history: [{ at: 1, error: "HTTP 503", delayMs: 10 }] };
      expect((await store.pending(undefined, 1))[0]?.entry).toMatchObject(expected);
      await reopen();
      expect((await store.pending(undefined, 1))[0]?.entry).toMatchObject(expected);
      expect((await store.find(entry.id))?.entry).toMatchObject(expected);
      expect(await pendingTexts()).toEqual(["a"]);
    });

    it("does not bring an acknowledged entry back by updating it", async () => {
      const { ref, entry } = await store.put(fresh("a"));
      store.ack(ref);
      store.update(ref, { ...entry, attempts: 1 });
      expect(await store.find(entry.id)).toBeUndefined();
      await reopen();
      expect(await store.find(entry.id)).toBeUndefined();
      expect(store.stats.pending.entries).toBe(0);
    });

    it("turns an entry into a dead letter with its payload", async () => {
      const [a, b] = await putAll("a", "b", "c");
      await store.fail(b!.ref, failedOf(b!.entry));
      expect(await pendingTexts()).toEqual(["a", "c"]);
      expect(await failedTexts()).toEqual(["b"]);
      await reopen();
      expect(await pendingTexts()).toEqual(["a", "c"]);
      expect(await failedTexts()).toEqual(["b"]);
      const found = await store.find(b!.entry.id);
      expect(found).toEqual({ ref: b!.ref, entry: failedOf(b!.entry) });
      expect((await store.find(a!.entry.id))?.entry.state).toBe("pending");
    });

    it("lists dead letters from either end, page by page", async () => {
      await failAll("a", "b", "c", "d", "e");
      await reopen();
      const newest = await store.failed(undefined, 2, "newest");
      const more = await store.failed(newest[1]!.ref, 2, "newest");
      expect(await textsOf([...newest, ...more])).toEqual(["e", "d", "c", "b"]);
      const oldest = await store.failed(undefined, 3, "oldest");
      expect(await textsOf([...oldest, ...(await store.failed(oldest[2]!.ref, 3, "oldest"))])).toEqual([
        "a",
        "b",
        "c",
        "d",
        "e",
      ]);
    });

    it("changes a dead letter that is updated", async () => {
      const [a] = await failAll("a");
      store.update(a!.ref, { ...failedOf(a!.entry), replays: 7 });
      await reopen();
      expect((await store.failed(undefined, 1, "newest"))[0]?.entry).toMatchObject({ state: "failed", replays: 7 });
    });

    it("replaces an entry by its parts in one step", async () => {
      const [a, b] = await putAll("a", "b");
      const parent = { fields: { parent: a!.entry.id, attempts: 1 } };
      const parts = await store.replace(a!.ref, [
        { ...fresh("a1"), ...parent },
        { ...fresh("a2"), fields: { state: "failed", failure, parent: a!.entry.id } },
      ]);
      expect(parts.map(({ entry }) => [entry.parent, entry.state])).toEqual([
        [a!.entry.id, "pending"],
        [a!.entry.id, "failed"],
      ]);
      await reopen();
      expect(await pendingTexts()).toEqual(["b", "a1"]);
      expect(await failedTexts()).toEqual(["a2"]);
      expect(await store.find(a!.entry.id)).toBeUndefined();
      expect((await store.find(b!.entry.id))?.ref).toBe(b!.ref);
      expect(store.stats).toMatchObject({ pending: { entries: 2 }, failed: { entries: 1 } });
    });

    it("puts dead letters back at the end of the queue under the same id", async () => {
      const [a, b] = await failAll("a", "b");
      await putAll("c");
      const back = await store.replay([{ ref: a!.ref, entry: { ...a!.entry, replays: 1 } }]);
      expect(back[0]?.entry).toMatchObject({ id: a!.entry.id, state: "pending", replays: 1 });
      expect(await pendingTexts()).toEqual(["c", "a"]);
      expect(await failedTexts()).toEqual(["b"]);
      await reopen();
      expect(await pendingTexts()).toEqual(["c", "a"]);
      expect(await failedTexts()).toEqual(["b"]);
      expect((await store.find(a!.entry.id))?.ref).toBe(back[0]?.ref);
      expect((await store.find(b!.entry.id))?.ref).toBe(b!.ref);
    });

    it("lets a replayed entry fail, be replayed again and be delivered", async () => {
      const [a] = await failAll("a");
      let [now] = await store.replay([{ ref: a!.ref, entry: a!.entry }]);
      await store.fail(now!.ref, failedOf(now!.entry));
      await reopen();
      expect(await failedTexts()).toEqual(["a"]);
      [now] = await store.replay([{ ref: now!.ref, entry: now!.entry }]);
      await reopen();
      expect(await pendingTexts()).toEqual(["a"]);
      store.ack(now!.ref);
      await reopen();
      expect(await pendingTexts()).toEqual([]);
      expect(await failedTexts()).toEqual([]);
      expect(await store.find(a!.entry.id)).toBeUndefined();
      expect(store.stats).toMatchObject({ pending: { entries: 0, bytes: 0 }, failed: { entries: 0, bytes: 0 } });
    });

    it("changes nothing when one of several dead letters to replay is not there", async () => {
      const [a] = await failAll("a");
      const changes = [a!.ref, a!.ref + 1000].map((ref) => ({ ref, entry: a!.entry }));
      await expect(store.replay(changes)).rejects.toMatchObject({ code: "not_found" });
      expect(await failedTexts()).toEqual(["a"]);
      expect(await pendingTexts()).toEqual([]);
    });

    it("removes entries of either state, and does not mind those that are gone", async () => {
      const [a, b] = await putAll("a", "b");
      const [c] = await failAll("c");
      await store.delete([a!.ref, c!.ref, 9999]);
      expect(await pendingTexts()).toEqual(["b"]);
      expect(await failedTexts()).toEqual([]);
      await store.delete([a!.ref, b!.ref]);
      await reopen();
      expect(store.stats).toMatchObject({ pending: { entries: 0 }, failed: { entries: 0 } });
      await expect(store.payload(a!.ref)).rejects.toMatchObject({ code: "not_found" });
    });

    it("says not_found for entries that are not there", async () => {
      const { ref, entry } = await store.put(fresh("a"));
      await store.delete([ref]);
      await expect(store.fail(ref, failedOf(entry))).rejects.toMatchObject({ code: "not_found" });
      await expect(store.replace(ref, [fresh("b")])).rejects.toMatchObject({ code: "not_found" });
      await expect(store.replay([{ ref, entry }])).rejects.toMatchObject({ code: "not_found" });
      await expect(store.payload(ref)).rejects.toMatchObject({ code: "not_found" });
      expect(await store.find("nonsense")).toBeUndefined();
      expect(await store.find("")).toBeUndefined();
      expect(await pendingTexts()).toEqual([]);
    });

    it("keeps the id of an imported entry unless it is taken", async () => {
      const imported = await store.put({ ...fresh("a"), fields: { id: "elsewhere-77", state: "failed" } });
      expect(imported.entry.id).toBe("elsewhere-77");
      const again = await store.put({ ...fresh("b"), fields: { id: "elsewhere-77", state: "failed" } });
      expect(again.entry.id).not.toBe("elsewhere-77");
      await reopen();
      expect((await store.find("elsewhere-77"))?.ref).toBe(imported.ref);
      await store.delete([imported.ref]);
      expect(await store.find("elsewhere-77")).toBeUndefined();
      expect(await failedTexts()).toEqual(["b"]);
    });

    it("counts entries, items and bytes in each state", async () => {
      const put = await Promise.all([store.put(fresh("a", "b")), store.put(fresh("c"))]);
      const [two, one] = put.map(({ entry }) => entry.bytes) as [number, number];
      expect(store.stats.pending).toEqual({ entries: 2, items: 3, bytes: two + one });
      await store.fail(put[0]!.ref, failedOf(put[0]!.entry));
      const expected = {
        pending: { entries: 1, items: 1, bytes: one },
        failed: { entries: 1, items: 2, bytes: two },
        corrupt: 0,
      };
      expect(store.stats).toMatchObject(expected);
      await reopen();
      expect(store.stats).toMatchObject(expected);
    });

    it("knows when its oldest entries came", async () => {
      expect(store.stats.oldestPendingAt).toBeUndefined();
      const a = await store.put({ ...fresh("a"), enqueuedAt: 100 });
      const b = await store.put({ ...fresh("b"), enqueuedAt: 200 });
      expect(store.stats.oldestPendingAt).toBe(100);
      await store.fail(a.ref, failedOf(a.entry));
      await expect.poll(() => store.stats.oldestPendingAt).toBe(200);
      await expect.poll(() => store.stats.oldestFailedAt).toBe(100);
      await reopen();
      expect(store.stats).toMatchObject({ oldestPendingAt: 200, oldestFailedAt: 100 });
      store.ack(b.ref);
      await store.delete([a.ref]);
      await expect.poll(() => store.stats.oldestPendingAt).toBeUndefined();
      await expect.poll(() => store.stats.oldestFailedAt).toBeUndefined();
    });

    it("keeps large batches whole", async () => {
      const text = "x".repeat(3_000_000);
      const [a] = await failAll(text, "b");
      await reopen();
      expect(await failedTexts()).toEqual([text, "b"]);
      const [back] = await store.replay([{ ref: a!.ref, entry: a!.entry }]);
      await reopen();
      expect(await pendingTexts()).toEqual([text]);
      store.ack(back!.ref);
      await reopen();
      expect(await pendingTexts()).toEqual([]);
    });

    it("refuses everything once it is closed", async () => {
      const { ref, entry } = await store.put(fresh("a"));
      await store.close();
      const closed = { code: "closed" };
      await expect(store.put(fresh("b"))).rejects.toMatchObject(closed);
      await expect(store.fail(ref, entry)).rejects.toMatchObject(closed);
      await expect(store.delete([ref])).rejects.toMatchObject(closed);
      await expect(store.pending(undefined, 1)).rejects.toMatchObject(closed);
      await expect(store.payload(ref)).rejects.toMatchObject(closed);
      await expect(store.find(entry.id)).rejects.toMatchObject(closed);
      expect(() => store.ack(ref)).not.toThrow();
      await store.close();
    });
  });
}
