import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DeadLetterQuery } from "../../../../../src/runtime/contract/operations/admin.js";
import type { Entry } from "../../../../../src/runtime/contract/operations/entry.js";
import { queryMatcher } from "../../../../../src/runtime/queue/dead-letters/dead-letters.js";
import { CauseTally } from "../../../../../src/runtime/queue/dead-letters/search/cause-tally.js";
import { FailureIndex } from "../../../../../src/runtime/queue/dead-letters/search/failure-index.js";
import { FailureIndexes } from "../../../../../src/runtime/queue/dead-letters/search/failure-indexes.js";
import { walkDeadLetters } from "../../../../../src/runtime/queue/store/dead-letter-access.js";
import { MemoryStore } from "../../../../../src/runtime/queue/store/memory-store.js";
import type { QueueStore, StoredEntry } from "../../../../../src/runtime/queue/store/store.js";
import { runs } from "../../../../support/runs.js";
import { failedEntry, newEntry } from "../../store/entries.js";
import { makePlace, type Place } from "../../store/level-harness.js";

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

function failed(entry: Entry, cause: number, deletedAt?: number): Entry {
  const { failure, ...rest } = failedEntry(entry);
  const names = cause === 3 ? ["a", "b"] : [`event.${cause}`];
  const error = { ...failure!.error, class: `class ${cause}`, message: `message ${cause}` };
  const deleted = deletedAt === undefined ? {} : { deletedAt };
  return { ...rest, ...deleted, failure: { ...failure!, at: cause * 1000, signature: `s${cause}`, names, error } };
}

async function addFailed(store: QueueStore, cause: number): Promise<StoredEntry> {
  const { ref, entry } = await store.put(newEntry(`text ${cause}`));
  await store.fail(ref, failed(entry, cause));
  return { ref, entry: failed(entry, cause) };
}

/** One for each cause, several at a time. */
async function addAllFailed(store: QueueStore, causes: readonly number[]): Promise<StoredEntry[]> {
  const added: StoredEntry[] = [];
  for (let i = 0; i < causes.length; i += 100)
    added.push(...(await Promise.all(causes.slice(i, i + 100).map((cause) => addFailed(store, cause)))));
  return added;
}

async function all(store: QueueStore): Promise<StoredEntry[]> {
  const found: StoredEntry[] = [];
  for await (const stored of walkDeadLetters(store)) found.push(stored);
  return found;
}

const QUERIES: readonly DeadLetterQuery[] = [
  {},
  { deleted: true },
  { signature: "s1" },
  { category: "nowhere" },
  { reason: "permanent", signal: "logs" },
  { since: 1000, until: 3000 },
  { event: "event.*" },
  { event: "b" },
];

/** The index finds the same as a read of all dead letters. */
async function expectSame(index: FailureIndex, store: QueueStore): Promise<void> {
  await index.ready();
  const present = await all(store);
  for (const query of QUERIES) {
    const { sure, unsure } = index.rows.select(query);
    const wanted = present.filter(({ entry }) => queryMatcher(query)(entry));
    expect([...sure].sort((a, b) => a - b)).toEqual(wanted.map(({ ref }) => ref));
    expect([...unsure]).toEqual([]);
  }
  for (const { ref, entry } of present) expect(await index.idOf(ref)).toBe(entry.id);
}

/** One change of a store: what is done, and to which of its dead letters. */
const changes = fc.array(
  fc.tuple(
    fc.constantFrom("fail", "put", "change", "delete", "restore", "replay", "remove", "split"),
    fc.nat(5),
    fc.nat(9),
  ),
  { maxLength: 20 },
);

async function change(store: QueueStore, [what, cause, which]: [string, number, number]): Promise<unknown> {
  const present = await all(store);
  if (what === "put") return store.put(newEntry("waits"));
  if (what === "fail" || present.length === 0) return addFailed(store, cause);
  const { ref, entry } = present[which % present.length]!;
  if (what === "change") return store.fail(ref, failed(entry, cause));
  if (what === "delete") return store.fail(ref, failed(entry, cause, 5));
  if (what === "restore") return store.fail(ref, failed(entry, cause));
  if (what === "replay") return store.replay([{ ref, entry: { ...entry, state: "pending" } }]);
  if (what === "remove") return store.delete([ref]);
  const part = { ...newEntry("part"), fields: { state: "failed" as const, failure: entry.failure! } };
  return store.replace(ref, [part, newEntry("good part"), part]);
}

describe.each([
  ["in memory", async () => new MemoryStore({ exporter: "otlp_http/test" })],
  ["on disk", async () => place.store()],
])("what is known of dead letters %s", (_, make) => {
  it("equals the result of reading all dead letters, after any changes", async () => {
    await fc.assert(
      fc.asyncProperty(changes, async (steps) => {
        place = makePlace();
        const store = await make();
        await store.open();
        const index = new FailureIndex(store);
        await index.ready();
        const { rows } = index;
        for (const step of steps) {
          await change(store, step);
          await expectSame(index, store);
        }
        // All of that was told by the store: nothing had to be read again.
        expect(index.rows).toBe(rows);
        await expectSame(new FailureIndex(store), store);
        await store.close();
        await place.remove();
      }),
      runs(20),
    );
  });

  it("misses nothing that changes while they are read", async () => {
    const store = await make();
    await store.open();
    const dead: StoredEntry[] = [];
    const causes = Array.from({ length: 600 }, (_, n) => n % 5);
    dead.push(...(await addAllFailed(store, causes)));
    const index = new FailureIndex(store);
    const ready = index.ready();
    await Promise.all([
      store.delete(dead.slice(0, 3).map(({ ref }) => ref)),
      store.fail(dead[4]!.ref, failed(dead[4]!.entry, 3)),
      store.replay([dead[599]!]),
      addFailed(store, 2),
      ready,
    ]);
    await expectSame(index, store);
    await store.close();
  });

  it("is read again when there is room for causes that were not remembered", async () => {
    const store = await make();
    await store.open();
    const dead = await addAllFailed(store, [...Array(2010).keys()]);
    const indexes = new FailureIndexes();
    const control = { store } as never;
    await indexes.ready([control]);
    const { rows } = indexes.of(control);
    expect(rows.select({ signature: "s2005" }).unsure).toHaveLength(10);
    expect([...(await indexes.matching(control, { signature: "s2005" }))]).toEqual([dead[2005]!.ref]);
    const tally = new CauseTally(0);
    tally.add(indexes.of(control), rows.select({}).sure);
    expect(tally.others).toBe(10);
    expect((await tally.list(5000)).total).toBe(2000);
    await store.delete(dead.slice(0, 1500).map(({ ref }) => ref));
    await indexes.ready([control]);
    expect(indexes.of(control).rows.select({ signature: "s2005" })).toEqual({
      sure: Float64Array.of(dead[2005]!.ref),
      unsure: new Float64Array(),
    });
    await store.close();
  });
});

describe("what is known of dead letters", () => {
  it("is read again after the store was reopened", async () => {
    const store = place.store();
    await store.open();
    const { ref } = await addFailed(store, 1);
    const index = new FailureIndex(store);
    await index.ready();
    await store.close();
    const other = place.store();
    await other.open();
    await other.delete([ref]);
    await addFailed(other, 2);
    await other.close();
    await store.open();
    await expectSame(index, store);
    expect(index.rows.size).toBe(1);
    await store.close();
  });

  it("is read each time from a store that reports no changes", async () => {
    const store = new MemoryStore({ exporter: "otlp_http/test" });
    Object.defineProperty(store, "watchFailed", { value: undefined });
    await store.open();
    const index = new FailureIndex(store);
    for (let n = 0; n < 3; n++) {
      await addFailed(store, n);
      await expectSame(index, store);
    }
  });

  it("is unavailable while the store is closed, and available once it is open", async () => {
    const store = place.store();
    const index = new FailureIndex(store);
    await expect(index.ready()).rejects.toThrow("is closed");
    await store.open();
    await addFailed(store, 1);
    await expectSame(index, store);
    await store.close();
  });
});
