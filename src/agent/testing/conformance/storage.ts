import { check } from "../eventually.js";
import { type ConformanceCase, type ConformanceOptions, suiteOf } from "./case.js";
import { DEAD_LETTER_CASES } from "./storage-dead-letters.js";
import {
  assertEqual,
  assertMatches,
  assertRejects,
  failedEntry,
  newEntry,
  type StorageCases,
  StorageHarness,
  TEST_EXPORTER,
  type TestStorage,
} from "./storage-harness.js";

/** Cases that every queue store must pass. `createStorage` is called once per case. */
export function storageConformance(
  createStorage: () => TestStorage,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  const cases = Object.entries({ ...QUEUE_CASES, ...DEAD_LETTER_CASES }).map(([name, run]) => [
    name,
    async ({ patienceMs }: { readonly patienceMs: number }) => {
      const harness = await StorageHarness.open(createStorage(), patienceMs);
      try {
        await run(harness);
      } finally {
        await harness.close();
      }
    },
  ]);
  return suiteOf(Object.fromEntries(cases), options);
}

/** Cases about entries that wait to be sent. */
const QUEUE_CASES: StorageCases = {
  async "gives back what it was given, in order, also after reopening"(s) {
    await s.putAll("a", "b", "c");
    assertEqual(await s.pendingTexts(), ["a", "b", "c"]);
    await s.reopen();
    assertEqual(await s.pendingTexts(), ["a", "b", "c"]);
  },

  async "fills an entry with what it knows about the batch"(s) {
    const { entry } = await s.store.put(newEntry("a", "b"));
    assertMatches(entry, {
      exporter: TEST_EXPORTER,
      pipeline: "logs",
      signal: "logs",
      items: 2,
      bytes: newEntry("a", "b").batch.byteLength,
      enqueuedAt: 1_700_000_000_000,
      state: "pending",
      attempts: 0,
      calls: 0,
      history: [],
      cycles: [],
      replays: 0,
    });
    check(entry.id !== "", "the entry has no id");
    const found = await s.store.find(entry.id);
    assertEqual(found?.entry, entry);
  },

  async "gives every entry an id of its own, also after reopening"(s) {
    const first = await s.putAll("a", "b");
    for (const { ref } of first) s.store.ack(ref);
    await s.reopen();
    const second = await s.putAll("c", "d");
    const ids = [...first, ...second].map(({ entry }) => entry.id);
    assertEqual(new Set(ids).size, 4);
  },

  async "pages through what is pending"(s) {
    await s.putAll("a", "b", "c", "d", "e");
    const one = await s.store.pending(undefined, 2);
    const two = await s.store.pending(one[1]!.ref, 2);
    const three = await s.store.pending(two[1]!.ref, 2);
    assertEqual(await s.textsOf([...one, ...two, ...three]), ["a", "b", "c", "d", "e"]);
    assertEqual(await s.store.pending(three[0]!.ref, 2), []);
  },

  async "forgets what is acknowledged, at once and for good"(s) {
    const [a, b] = await s.putAll("a", "b", "c");
    s.store.ack(b.ref);
    assertEqual(await s.pendingTexts(), ["a", "c"]);
    assertEqual(await s.store.find(b.entry.id), undefined);
    s.store.ack(b.ref);
    s.store.ack(a.ref);
    await s.reopen();
    assertEqual(await s.pendingTexts(), ["c"]);
    assertEqual(s.store.stats.pending.entries, 1);
  },

  async "gives every entry once to somebody who reads on while acknowledging"(s) {
    const texts = Array.from({ length: 2000 }, (_, i) => String(i));
    await s.putAll(...texts);
    const seen: string[] = [];
    for (let after: number | undefined; ; ) {
      const page = await s.store.pending(after, 16);
      if (page.length === 0) break;
      seen.push(...(await s.textsOf(page)));
      for (const { ref } of page) s.store.ack(ref);
      after = page.at(-1)!.ref;
    }
    assertEqual(seen, texts);
    await s.eventually(() => s.store.stats.pending.entries === 0, "s.store.stats.pending.entries is not 0");
  },

  async "goes on behind an entry that is gone"(s) {
    const [a, b] = await s.putAll("a", "b", "c");
    s.store.ack(a.ref);
    s.store.ack(b.ref);
    await s.reopen();
    assertEqual(await s.textsOf(await s.store.pending(b.ref, 10)), ["c"]);
  },

  async "keeps what an attempt taught, with the next write"(s) {
    const { ref, entry } = await s.store.put(newEntry("a"));
    s.store.update(ref, { ...entry, attempts: 2, calls: 3, history: [{ at: 1, error: "HTTP 503", delayMs: 10 }] });
    const expected = { attempts: 2, calls: 3, history: [{ at: 1, error: "HTTP 503", delayMs: 10 }] };
    assertMatches((await s.store.pending(undefined, 1))[0]?.entry, expected);
    await s.reopen();
    assertMatches((await s.store.pending(undefined, 1))[0]?.entry, expected);
    assertMatches((await s.store.find(entry.id))?.entry, expected);
    assertEqual(await s.pendingTexts(), ["a"]);
  },

  async "does not bring an acknowledged entry back by updating it"(s) {
    const { ref, entry } = await s.store.put(newEntry("a"));
    s.store.ack(ref);
    s.store.update(ref, { ...entry, attempts: 1 });
    assertEqual(await s.store.find(entry.id), undefined);
    await s.reopen();
    assertEqual(await s.store.find(entry.id), undefined);
    assertEqual(s.store.stats.pending.entries, 0);
  },

  async "removes entries of either state, and does not mind those that are gone"(s) {
    const [a, b] = await s.putAll("a", "b");
    const [c] = await s.failAll("c");
    await s.store.delete([a.ref, c.ref, 9999]);
    assertEqual(await s.pendingTexts(), ["b"]);
    assertEqual(await s.failedTexts(), []);
    await s.store.delete([a.ref, b.ref]);
    await s.reopen();
    assertMatches(s.store.stats, { pending: { entries: 0 }, failed: { entries: 0 } });
    await assertRejects(s.store.payload(a.ref), "not_found");
  },

  async "says not_found for entries that are not there"(s) {
    const { ref, entry } = await s.store.put(newEntry("a"));
    await s.store.delete([ref]);
    await assertRejects(s.store.fail(ref, failedEntry(entry)), "not_found");
    await assertRejects(s.store.replace(ref, [newEntry("b")]), "not_found");
    await assertRejects(s.store.replay([{ ref, entry }]), "not_found");
    await assertRejects(s.store.payload(ref), "not_found");
    assertEqual(await s.store.find("nonsense"), undefined);
    assertEqual(await s.store.find(""), undefined);
    assertEqual(await s.pendingTexts(), []);
  },

  async "counts entries, items and bytes in each state"(s) {
    const put = await Promise.all([s.store.put(newEntry("a", "b")), s.store.put(newEntry("c"))]);
    const [two, one] = put.map(({ entry }) => entry.bytes) as [number, number];
    assertEqual(s.store.stats.pending, { entries: 2, items: 3, bytes: two + one });
    await s.store.fail(put[0]!.ref, failedEntry(put[0]!.entry));
    const expected = {
      pending: { entries: 1, items: 1, bytes: one },
      failed: { entries: 1, items: 2, bytes: two },
      corrupt: 0,
    };
    assertMatches(s.store.stats, expected);
    await s.reopen();
    assertMatches(s.store.stats, expected);
  },

  async "knows when its oldest entries came"(s) {
    assertEqual(s.store.stats.oldestPendingAt, undefined);
    const a = await s.store.put({ ...newEntry("a"), enqueuedAt: 100 });
    const b = await s.store.put({ ...newEntry("b"), enqueuedAt: 200 });
    assertEqual(s.store.stats.oldestPendingAt, 100);
    await s.store.fail(a.ref, failedEntry(a.entry));
    await s.eventually(() => s.store.stats.oldestPendingAt === 200, "s.store.stats.oldestPendingAt is not 200");
    await s.eventually(() => s.store.stats.oldestFailedAt === 100, "s.store.stats.oldestFailedAt is not 100");
    await s.reopen();
    assertMatches(s.store.stats, { oldestPendingAt: 200, oldestFailedAt: 100 });
    s.store.ack(b.ref);
    await s.store.delete([a.ref]);
    await s.eventually(
      () => s.store.stats.oldestPendingAt === undefined,
      "s.store.stats.oldestPendingAt is still there",
    );
    await s.eventually(() => s.store.stats.oldestFailedAt === undefined, "s.store.stats.oldestFailedAt is still there");
  },

  async "refuses everything once it is closed"(s) {
    const { ref, entry } = await s.store.put(newEntry("a"));
    await s.store.close();
    await assertRejects(s.store.put(newEntry("b")), "closed");
    await assertRejects(s.store.fail(ref, entry), "closed");
    await assertRejects(s.store.delete([ref]), "closed");
    await assertRejects(s.store.pending(undefined, 1), "closed");
    await assertRejects(s.store.payload(ref), "closed");
    await assertRejects(s.store.find(entry.id), "closed");
    s.store.ack(ref);
    await s.store.close();
  },
};
