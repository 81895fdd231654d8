import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
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

  it("goes on while entries come and others are erased", async () => {
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
