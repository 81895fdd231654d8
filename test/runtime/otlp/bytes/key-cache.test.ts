import fc from "fast-check";
import { expect, it } from "vitest";
import { KeyCache } from "../../../../src/runtime/otlp/bytes/key-cache.js";
import { runs } from "../../../support/runs.js";

function countingCache(slots?: number) {
  const asked: string[] = [];
  const cache = new KeyCache((b, start, end) => {
    asked.push(Buffer.from(b.subarray(start, end)).toString());
    return asked.at(-1)!.toUpperCase();
  }, slots);
  const get = (key: string) => {
    const bytes = Buffer.from(`<${key}>`);
    return cache.get(bytes, 1, bytes.length - 1);
  };
  return { get, asked };
}

it("examines a key once, wherever it is", () => {
  const { get, asked } = countingCache();
  expect(["a", "bc", "", "a", "bc", ""].map(get)).toEqual(["A", "BC", "", "A", "BC", ""]);
  expect(asked).toEqual(["a", "bc", ""]);
});

it("remembers the result for every key, for any number of keys", () => {
  const key = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 5 });
  fc.assert(
    fc.property(fc.array(key, { maxLength: 60 }), (keys) => {
      const { get } = countingCache(2);
      expect(keys.map(get)).toEqual(keys.map((one) => one.toUpperCase()));
    }),
    runs(100),
  );
});

it("remembers that there is nothing to know", () => {
  let asked = 0;
  const cache = new KeyCache(() => {
    asked++;
    return undefined;
  });
  for (let i = 0; i < 3; i++) cache.get(Buffer.from("key"), 0, 3);
  expect(asked).toBe(1);
});

it("remembers no long key, and of keys that look alike the last two", () => {
  const { get, asked } = countingCache(1);
  const long = "k".repeat(257);
  for (const key of [long, long, "a", "b", "a", "c", "a"]) get(key);
  expect(asked).toEqual([long, long, "a", "b", "c", "a"]);
});
