import { check } from "../eventually.js";
import {
  assertEqual,
  assertMatches,
  assertRejects,
  FAILURE,
  failedEntry,
  newEntry,
  type StorageCases,
} from "./storage-harness.js";

/** Cases about entries that are dead letters, and about entries that are replaced or imported. */
export const DEAD_LETTER_CASES: StorageCases = {
  async "turns an entry into a dead letter with its payload"(s) {
    const [a, b] = await s.putAll("a", "b", "c");
    await s.store.fail(b.ref, failedEntry(b.entry));
    assertEqual(await s.pendingTexts(), ["a", "c"]);
    assertEqual(await s.failedTexts(), ["b"]);
    await s.reopen();
    assertEqual(await s.pendingTexts(), ["a", "c"]);
    assertEqual(await s.failedTexts(), ["b"]);
    const found = await s.store.find(b.entry.id);
    assertEqual(found, { ref: b.ref, entry: failedEntry(b.entry) });
    assertEqual((await s.store.find(a.entry.id))?.entry.state, "pending");
  },

  async "lists dead letters from either end, page by page"(s) {
    await s.failAll("a", "b", "c", "d", "e");
    await s.reopen();
    const newest = await s.store.failed(undefined, 2, "newest");
    const more = await s.store.failed(newest[1]!.ref, 2, "newest");
    assertEqual(await s.textsOf([...newest, ...more]), ["e", "d", "c", "b"]);
    const oldest = await s.store.failed(undefined, 3, "oldest");
    assertEqual(await s.textsOf([...oldest, ...(await s.store.failed(oldest[2]!.ref, 3, "oldest"))]), [
      "a",
      "b",
      "c",
      "d",
      "e",
    ]);
  },

  async "changes a dead letter that is updated"(s) {
    const [a] = await s.failAll("a");
    s.store.update(a.ref, { ...failedEntry(a.entry), replays: 7 });
    await s.reopen();
    assertMatches((await s.store.failed(undefined, 1, "newest"))[0]?.entry, { state: "failed", replays: 7 });
  },

  async "keeps a dead letter that gets an update of the time before it failed"(s) {
    const [a] = await s.putAll("a");
    s.store.update(a.ref, { ...a.entry, attempts: 1 });
    const failing = s.store.fail(a.ref, failedEntry(a.entry));
    s.store.update(a.ref, { ...a.entry, attempts: 2 });
    await failing;
    s.store.update(a.ref, { ...a.entry, attempts: 3 });
    assertEqual(await s.store.find(a.entry.id), { ref: a.ref, entry: failedEntry(a.entry) });
    await s.reopen();
    assertEqual(await s.store.find(a.entry.id), { ref: a.ref, entry: failedEntry(a.entry) });
  },

  async "lists entries in their order although some were updated"(s) {
    const [a, b, c] = await s.putAll("a", "b", "c");
    s.store.update(a.ref, { ...a.entry, attempts: 1 });
    assertEqual(await s.pendingTexts(), ["a", "b", "c"]);
    const first = await s.store.pending(undefined, 2);
    assertEqual(await s.textsOf([...first, ...(await s.store.pending(b.ref, 2))]), ["a", "b", "c"]);
    assertEqual((await s.store.pending(undefined, 1))[0]?.ref, a.ref);
    assertEqual((await s.store.pending(b.ref, 1))[0]?.ref, c.ref);
  },

  async "replaces an entry by its parts in one step"(s) {
    const [a, b] = await s.putAll("a", "b");
    const parent = { fields: { parent: a.entry.id, attempts: 1 } };
    const parts = await s.store.replace(a.ref, [
      { ...newEntry("a1"), ...parent },
      { ...newEntry("a2"), fields: { state: "failed", failure: FAILURE, parent: a.entry.id } },
    ]);
    assertEqual(
      parts.map(({ entry }) => [entry.parent, entry.state]),
      [
        [a.entry.id, "pending"],
        [a.entry.id, "failed"],
      ],
    );
    await s.reopen();
    assertEqual(await s.pendingTexts(), ["b", "a1"]);
    assertEqual(await s.failedTexts(), ["a2"]);
    assertEqual(await s.store.find(a.entry.id), undefined);
    assertEqual((await s.store.find(b.entry.id))?.ref, b.ref);
    assertMatches(s.store.stats, { pending: { entries: 2 }, failed: { entries: 1 } });
  },

  async "puts dead letters back at the end of the queue under the same id"(s) {
    const [a, b] = await s.failAll("a", "b");
    await s.putAll("c");
    const back = await s.store.replay([{ ref: a.ref, entry: { ...a.entry, replays: 1 } }]);
    assertMatches(back[0]?.entry, { id: a.entry.id, state: "pending", replays: 1 });
    assertEqual(await s.pendingTexts(), ["c", "a"]);
    assertEqual(await s.failedTexts(), ["b"]);
    await s.reopen();
    assertEqual(await s.pendingTexts(), ["c", "a"]);
    assertEqual(await s.failedTexts(), ["b"]);
    assertEqual((await s.store.find(a.entry.id))?.ref, back[0]?.ref);
    assertEqual((await s.store.find(b.entry.id))?.ref, b.ref);
  },

  async "lets a replayed entry fail, be replayed again and be delivered"(s) {
    const [a] = await s.failAll("a");
    let [now] = await s.store.replay([{ ref: a.ref, entry: a.entry }]);
    await s.store.fail(now!.ref, failedEntry(now!.entry));
    await s.reopen();
    assertEqual(await s.failedTexts(), ["a"]);
    [now] = await s.store.replay([{ ref: now!.ref, entry: now!.entry }]);
    await s.reopen();
    assertEqual(await s.pendingTexts(), ["a"]);
    s.store.ack(now!.ref);
    await s.reopen();
    assertEqual(await s.pendingTexts(), []);
    assertEqual(await s.failedTexts(), []);
    assertEqual(await s.store.find(a.entry.id), undefined);
    assertMatches(s.store.stats, { pending: { entries: 0, bytes: 0 }, failed: { entries: 0, bytes: 0 } });
  },

  async "changes nothing when one of several dead letters to replay is not there"(s) {
    const [a] = await s.failAll("a");
    const changes = [a.ref, a.ref + 1000].map((ref) => ({ ref, entry: a.entry }));
    await assertRejects(s.store.replay(changes), "not_found");
    assertEqual(await s.failedTexts(), ["a"]);
    assertEqual(await s.pendingTexts(), []);
  },

  async "keeps the id of an imported entry unless it is taken"(s) {
    const imported = await s.store.put({ ...newEntry("a"), fields: { id: "elsewhere-77", state: "failed" } });
    assertEqual(imported.entry.id, "elsewhere-77");
    const again = await s.store.put({ ...newEntry("b"), fields: { id: "elsewhere-77", state: "failed" } });
    check(again.entry.id !== "elsewhere-77", "two entries have the same id");
    await s.reopen();
    assertEqual((await s.store.find("elsewhere-77"))?.ref, imported.ref);
    await s.store.delete([imported.ref]);
    assertEqual(await s.store.find("elsewhere-77"), undefined);
    assertEqual(await s.failedTexts(), ["b"]);
  },

  async "keeps large batches whole"(s) {
    const text = "x".repeat(3_000_000);
    const [a] = await s.failAll(text, "b");
    await s.reopen();
    assertEqual(await s.failedTexts(), [text, "b"]);
    const [back] = await s.store.replay([{ ref: a.ref, entry: a.entry }]);
    await s.reopen();
    assertEqual(await s.pendingTexts(), [text]);
    s.store.ack(back!.ref);
    await s.reopen();
    assertEqual(await s.pendingTexts(), []);
  },
};
