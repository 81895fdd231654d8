import { expect, it } from "vitest";
import { NameCache } from "../../../../src/runtime/otlp/signals/name-cache.js";

function countingCache(limits: { maxNames?: number; maxLength?: number }) {
  const asked: string[] = [];
  const cache = new NameCache((name) => {
    asked.push(name);
    return name.toUpperCase();
  }, limits);
  return { cache, asked };
}

it("finds out about a name once", () => {
  const { cache, asked } = countingCache({});
  expect([cache.get("a"), cache.get("b"), cache.get("a")]).toEqual(["A", "B", "A"]);
  expect(asked).toEqual(["a", "b"]);
});

it("remembers that there is nothing to know", () => {
  let asked = 0;
  const cache = new NameCache(() => {
    asked++;
    return null;
  });
  expect([cache.get("a"), cache.get("a")]).toEqual([null, null]);
  expect(asked).toBe(1);
});

it("forgets all names when there is one too many", () => {
  const { cache, asked } = countingCache({ maxNames: 2 });
  for (const name of ["a", "b", "c", "c", "a"]) cache.get(name);
  expect(asked).toEqual(["a", "b", "c", "a"]);
});

it("remembers no long name", () => {
  const { cache, asked } = countingCache({ maxLength: 2 });
  for (const name of ["abc", "abc", "ab", "ab"]) cache.get(name);
  expect(asked).toEqual(["abc", "abc", "ab"]);
});
