import { afterEach, expect, it } from "vitest";
import { newEntry } from "./entries.js";
import { makePlace, textsIn } from "./level-harness.js";

const place = makePlace();
afterEach(place.remove);

it.each(["process", "interval", "fsync"] as const)(
  "answers every put around a close, and keeps exactly what it took, in order (%s)",
  async (durability) => {
    const kept: string[] = [];
    for (let turns = 0; turns < 24; turns++) {
      const store = place.store({ durability });
      expect(await store.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0, setAside: undefined });
      expect(await textsIn(store)).toEqual(kept);
      const put = (name: string) =>
        store.put(newEntry(`${turns}${name}`)).then(
          () => void kept.push(`${turns}${name}`),
          (error) => expect(error.code).toBe("closed"),
        );
      const early = ["a", "b"].map(put);
      for (let i = 0; i < turns; i++) await (i % 3 === 2 ? new Promise(setImmediate) : undefined);
      const between = ["c", "d"].map(put);
      const closing = store.close();
      const late = ["e", "f"].map(put);
      await Promise.all([...early, ...between, ...late, closing]);
    }
    expect(kept.length).toBeGreaterThan(0);
  },
);
