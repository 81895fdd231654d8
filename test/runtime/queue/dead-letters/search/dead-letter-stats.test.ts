import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DeadLetterQuery } from "../../../../../src/runtime/contract/operations/admin.js";
import { deadLetterLanguage } from "../../../../../src/runtime/ottl/compile/dead-letter-language.js";
import { searchDeadLetters } from "../../../../../src/runtime/queue/dead-letters/dead-letters.js";
import { checkQuery } from "../../../../../src/runtime/queue/dead-letters/search/check-query.js";
import { countDeadLetters } from "../../../../../src/runtime/queue/dead-letters/search/dead-letter-stats.js";
import { FailureIndexes } from "../../../../../src/runtime/queue/dead-letters/search/failure-indexes.js";
import type { QueueStore } from "../../../../../src/runtime/queue/store/store.js";
import { failedEntry, newEntry } from "../../store/entries.js";
import { makePlace, type Place } from "../../store/level-harness.js";

let places: Place[];
let stores: QueueStore[];
beforeEach(async () => {
  places = [makePlace(), makePlace()];
  stores = places.map((place, i) => place.store({ exporter: `queue ${i}` }));
  for (const store of stores) await store.open();
});
afterEach(async () => {
  for (const store of stores) await store.close();
  for (const place of places) await place.remove();
});

function controls() {
  return new Map(stores.map((store, i) => [`queue ${i}`, { id: `queue ${i}`, store }] as const)) as never;
}

async function fail(store: QueueStore, n: number, cause: number): Promise<void> {
  const { ref, entry } = await store.put(newEntry(`text ${n}`));
  const dead = failedEntry(entry);
  const failure = { ...dead.failure!, at: 1000 + n, signature: `s${cause}`, category: `kind ${cause % 3}` };
  const error = { ...failure.error, class: `class ${cause}`, message: `message ${n}` };
  await store.fail(ref, { ...dead, failure: { ...failure, error } });
}

/** Counts by reading each. */
async function countByHand(query: DeadLetterQuery) {
  let [entries, items, bytes] = [0, 0, 0];
  const signatures = new Map<string, { entries: number; message: string; exampleId: string; lastAt: number }>();
  for await (const { entry } of searchDeadLetters(controls(), checkQuery(query, deadLetterLanguage))) {
    entries += 1;
    items += entry.items;
    bytes += entry.bytes;
    const { signature, at, error } = entry.failure!;
    const before = signatures.get(signature);
    const isNewest = before === undefined || at >= before.lastAt;
    const newest = isNewest ? { message: error.message, exampleId: entry.id, lastAt: at } : before;
    signatures.set(signature, { ...newest, entries: (before?.entries ?? 0) + 1 });
  }
  return { entries, items, bytes, signatures };
}

describe("the count of dead letters", () => {
  it("equals the count of reading every dead letter, for any query", async () => {
    for (let n = 0; n < 60; n++) await fail(stores[n % 2]!, n, n % 7);
    const queries: DeadLetterQuery[] = [
      {},
      { since: 1020 },
      { signature: "s3" },
      { exporter: "queue 1" },
      { text: "text 1" },
    ];
    for (const query of queries) {
      const byHand = await countByHand(query);
      const { signatures, ...found } = await countDeadLetters(
        controls(),
        checkQuery(query, deadLetterLanguage),
        new FailureIndexes(),
      );
      expect(byHand.entries).toBeGreaterThan(0);
      expect(found).toMatchObject({ entries: byHand.entries, items: byHand.items, bytes: byHand.bytes });
      expect(signatures).toHaveLength(byHand.signatures.size);
      for (const { signature, ...each } of signatures) expect(each).toMatchObject(byHand.signatures.get(signature)!);
      expect(Object.values(found.byCategory).reduce((sum, count) => sum + count)).toBe(byHand.entries);
    }
  });

  it("has all of them in its totals when there are more causes than are remembered", async () => {
    await Promise.all(Array.from({ length: 2010 }, (_, n) => fail(stores[0]!, n, n)));
    const found = await countDeadLetters(controls(), checkQuery({}, deadLetterLanguage), new FailureIndexes());
    expect(found).toMatchObject({ entries: 2010, byReason: { permanent: 2010 }, byExporter: { "queue 0": 2010 } });
    expect(found.signatures).toHaveLength(1000);
  });
});
