import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { entriesOfKey, GroupKey, type KeyedEntry } from "../../../../src/runtime/contract/calls/group-key.js";
import { runs } from "../../../support/runs.js";

const entry: fc.Arbitrary<KeyedEntry> = fc.record({
  id: fc
    .tuple(fc.constantFrom("a1", "0123456789abcdef"), fc.integer({ min: 1, max: 40 }))
    .map(([tag, sequence]) => `${tag}-${sequence}`),
  items: fc.integer({ min: 1, max: 3 }),
});

/** Adds as many as go into one key. */
function keyOf(entries: readonly KeyedEntry[]): { readonly text: string; readonly named: readonly KeyedEntry[] } {
  const key = new GroupKey();
  const named = entries.slice(
    0,
    Math.max(
      0,
      entries.findIndex((each) => !key.add(each)),
    ) || entries.length,
  );
  return { text: key.text, named };
}

const records = (entries: readonly KeyedEntry[]) => entries.reduce((sum, { items }) => sum + items, 0);

describe("the key of a merged request", () => {
  it("names every entry with its records, in their order", () => {
    fc.assert(
      fc.property(fc.array(entry, { minLength: 2, maxLength: 400 }), (entries) => {
        const { text, named } = keyOf(entries);
        expect(named.length).toBeGreaterThan(1);
        expect(text.length).toBeLessThan(4096);
        expect(entriesOfKey(text, records(named))).toEqual(named);
        expect(entriesOfKey(text, records(named) + 1)).toBeUndefined();
      }),
      runs(100),
    );
  });

  it("is short when entries follow one another", () => {
    const entries = Array.from({ length: 5000 }, (_, i) => ({ id: `tag-${i + 1}`, items: 1 }));
    expect(keyOf(entries)).toMatchObject({ text: "entries;tag-1+4999:1", named: { length: 5000 } });
  });

  it("is the id itself for one entry, also one whose id has another form", () => {
    expect(keyOf([{ id: "tag-7", items: 3 }]).text).toBe("tag-7");
    expect(keyOf([{ id: "imported, as it was", items: 3 }]).text).toBe("imported, as it was");
  });

  it("does not name an entry without records beside others", () => {
    const key = new GroupKey();
    expect([key.add({ id: "tag-1", items: 0 }), key.add({ id: "tag-2", items: 1 })]).toEqual([true, false]);
    expect(key.text).toBe("tag-1");
  });

  it("does not name an id of another form beside others", () => {
    const key = new GroupKey();
    expect([key.add({ id: "tag-1", items: 1 }), key.add({ id: "other", items: 1 })]).toEqual([true, false]);
    const other = new GroupKey();
    expect([other.add({ id: "other", items: 1 }), other.add({ id: "tag-1", items: 1 })]).toEqual([true, false]);
  });

  it.each([
    "tag-1",
    "entries;",
    "entries;tag-1",
    "entries;tag-1+999999999999:0",
    "entries;tag-1+2:1,",
    "entries;tag-1+2:1,tag-9+0:0",
    "entries;tag-1+2:01",
    "entries;t-1+1:x",
  ])("is not read from %j", (text) => expect(entriesOfKey(text, 3)).toBeUndefined());
});
