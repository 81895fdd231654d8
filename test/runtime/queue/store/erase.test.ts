import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ErasureServices, eraseKeys, keysOfEntry } from "../../../../src/runtime/queue/store/level-erasure.js";
import { failedEntry, newEntry } from "./entries.js";
import { makePlace, type Place, textsIn } from "./level-harness.js";

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

/** Files in which a text can be found. */
function filesWith(text: string, directory = place.directory): string[] {
  return readdirSync(directory).filter((name) => readFileSync(join(directory, name)).includes(text));
}

const SECRET = "the secret that must go";

describe("erasing", () => {
  it.each([0, 1, 30])("leaves nothing in any file of what came shortly before, among %i others", async (others) => {
    const store = place.store();
    await store.open();
    const refs: number[] = [];
    for (let i = 0; i < others; i++) await store.put(newEntry(`kept ${i}`));
    for (let i = 0; i < 3; i++) {
      const { ref, entry } = await store.put(newEntry(`${SECRET} ${"x".repeat(i * 300_000)}`));
      await store.fail(ref, { ...failedEntry(entry), failure: { ...failedEntry(entry).failure!, names: [SECRET] } });
      refs.push(ref);
    }
    for (let i = 0; i < others; i++) await store.put(newEntry(`kept too ${i}`));
    expect(filesWith(SECRET)).not.toEqual([]);
    await store.erase(refs);
    expect(filesWith(SECRET)).toEqual([]);
    expect(await textsIn(store)).toHaveLength(2 * others);
    await store.close();
    expect(filesWith(SECRET)).toEqual([]);
  });

  it("leaves nothing of what was there before a restart, was replayed, and failed again", async () => {
    const before = place.store();
    await before.open();
    const { ref, entry } = await before.put(newEntry(SECRET));
    await before.put(newEntry("kept"));
    await before.fail(ref, failedEntry(entry));
    await before.close();
    const store = place.store();
    await store.open();
    const [dead] = await store.failed(undefined, 1, "oldest");
    const [replayed] = await store.replay([{ ref: dead!.ref, entry: { ...dead!.entry, state: "pending" } }]);
    await store.fail(replayed!.ref, failedEntry(replayed!.entry));
    await store.erase([replayed!.ref]);
    expect(filesWith(SECRET)).toEqual([]);
    expect(await textsIn(store)).toEqual(["kept"]);
    expect(store.stats.failed.entries).toBe(0);
    await store.close();
  });

  it("leaves nothing of what is far apart among others", async () => {
    const store = place.store();
    await store.open();
    const refs: number[] = [];
    for (let i = 0; i < 3; i++) {
      const { ref, entry } = await store.put(newEntry(`${SECRET} ${"x".repeat(100_000)}`));
      await store.fail(ref, failedEntry(entry));
      refs.push(ref);
      await Promise.all(Array.from({ length: 100 }, (_, n) => store.put(newEntry(`kept ${i} ${n}`))));
    }
    await store.erase(refs);
    expect(filesWith(SECRET)).toEqual([]);
    expect(await textsIn(store)).toHaveLength(300);
    await store.close();
  });

  it("continues while entries are added and others are erased", async () => {
    const store = place.store();
    await store.open();
    const doomed = await Promise.all(Array.from({ length: 60 }, (_, i) => store.put(newEntry(`${SECRET} ${i}`))));
    const rounds = [doomed.slice(0, 20), doomed.slice(20, 40), doomed.slice(40)];
    const erased = rounds.map((round) => store.erase(round.map(({ ref }) => ref)));
    const put = Promise.all(Array.from({ length: 200 }, (_, i) => store.put(newEntry(`new ${i}`))));
    const readAll = Promise.all(Array.from({ length: 20 }, () => textsIn(store)));
    await Promise.all([...erased, put, readAll]);
    expect(filesWith(SECRET)).toEqual([]);
    expect(await textsIn(store)).toHaveLength(200);
    await store.close();
  });
});

/** Returns the operations on the files, in order: compacted stretches, written marks, awaited reads. */
async function steps(refs: readonly number[]): Promise<unknown[]> {
  const done: unknown[] = [];
  const services: ErasureServices = {
    writes: {
      commitChange: async (_refs, _bytes, change) => {
        const transaction = {
          markDeleted: (keys: readonly Uint8Array[]) => void done.push(["mark", keys.length]),
          requireMeta: () => void done.push("write"),
        };
        return change(transaction as never) as never;
      },
    },
    compactor: {
      compactRuns: async (runs) => void done.push(["compact", ...runs.map(([from, to]) => `${from}-${to}`)]),
    },
    reads: { whenEnded: async () => void done.push("reads ended") },
  };
  const keys = refs.flatMap((ref) => keysOfEntry(ref, { origin: ref, chunks: 0 }));
  await eraseKeys(keys, refs, services);
  return done;
}

// Which table LevelDB puts a value and its mark into depends on all that was written before, over tens of megabytes: what holds for
// each of them is that every stretch is compacted before the second marks, and after them, when all reads have ended.
describe("erasing keys", () => {
  it("compacts every stretch before the second marks and again after them, once no read is under way", async () => {
    expect(await steps([7, 8, 1000, 5000])).toEqual([
      ["compact", "7-8", "1000-1000", "5000-5000"],
      ["mark", 24],
      "reads ended",
      ["compact", "7-8", "1000-1000", "5000-5000"],
      "reads ended",
      ["compact", "7-8"],
      "write",
    ]);
  });

  it("compacts a few dozen stretches at most, in which all of them are", async () => {
    const [[, ...runs]] = (await steps(Array.from({ length: 500 }, (_, i) => i * 1000))) as [string[]];
    expect(runs.length).toBeLessThanOrEqual(32);
    const stretches = runs.map((run) => run.split("-").map(Number) as [number, number]);
    for (let i = 0; i < 500; i++) expect(stretches.some(([from, to]) => from <= i * 1000 && i * 1000 <= to)).toBe(true);
  });
});
