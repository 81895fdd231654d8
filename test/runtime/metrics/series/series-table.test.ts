import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AttributeKey } from "../../../../src/runtime/metrics/series/attribute-key.js";
import { ByteTable } from "../../../../src/runtime/metrics/series/byte-table.js";
import { SeriesTable } from "../../../../src/runtime/metrics/series/series-table.js";
import { runs } from "../../../support/runs.js";

const key = (text: string) => Buffer.from(text);

describe("a table of byte keys", () => {
  it("finds the same as a map, for any additions and removals", () => {
    const step = fc.record({
      remove: fc.boolean(),
      owner: fc.integer({ min: 0, max: 3 }),
      text: fc.string({ maxLength: 6, unit: fc.constantFrom("a", "b", "c") }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const table = new ByteTable();
        const model = new Map<string, number>();
        for (const { remove, owner, text } of steps) {
          const bytes = key(`--${text}--`);
          const found = table.find(owner, bytes, 2, bytes.length - 2);
          expect(found).toBe(model.get(`${owner}${text}`) ?? -1);
          if (remove && found >= 0) {
            table.remove(found);
            model.delete(`${owner}${text}`);
          } else if (!remove && found < 0) model.set(`${owner}${text}`, table.add(owner, bytes, 2, bytes.length - 2));
          expect(table.size).toBe(model.size);
        }
        expect(new Set(model.values()).size).toBe(model.size);
      }),
    );
  });
});

it("tells keys of any length apart that differ in one byte, wherever it is", () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 70 });
  fc.assert(
    fc.property(bytes, fc.nat(), fc.integer({ min: 1, max: 255 }), fc.nat(9), (known, place, change, before) => {
      const table = new ByteTable();
      const slot = table.add(1, known, 0, known.length);
      const text = new Uint8Array(before + known.length + 3);
      text.set(known, before);
      const end = before + known.length;
      expect([table.find(1, text, before, end), table.matchAt(slot, 1, text, before)]).toEqual([slot, end]);
      text[before + (place % known.length)]! ^= change;
      const isThere = [table.find(1, text, before, end), table.matchAt(slot, 1, text, before)];
      expect([...isThere, table.isAt(slot, 1, text, before, end)]).toEqual([-1, -1, false]);
      expect(table.isAt(slot, 1, text.subarray(before), 0, known.length)).toBe(false);
      expect(table.matchAt(slot, 1, known.subarray(0, -1), 0)).toBe(-1);
    }),
    runs(100),
  );
});

describe("a table of series", () => {
  const table = (settings: Partial<ConstructorParameters<typeof SeriesTable<{ n: number }>>[0]> = {}) =>
    new SeriesTable<{ n: number }>({ maxSeries: 2, expireAfterMs: 100, ...settings });
  const put = (into: ReturnType<typeof table>, name: string, now: number, n = 0) => {
    const b = key(name);
    return into.find(1, b, 0, b.length, now) ?? into.add(1, b, 0, b.length, now, { n });
  };

  it("forgets what was not seen for long, and tells whom it forgot", () => {
    const gone: number[] = [];
    const series = table({ release: ({ n }) => void gone.push(n) });
    put(series, "a", 0, 1);
    put(series, "b", 60, 2);
    series.sweep(101);
    expect([series.size, gone]).toEqual([1, [1]]);
    put(series, "b", 150);
    series.sweep(200);
    expect(series.size).toBe(1);
  });

  it("finds following keys like all others, in any order and after any removal", () => {
    const step = fc.record({ name: fc.constantFrom("a", "b", "c", "d"), ahead: fc.nat(60), remove: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const series = table({ maxSeries: 10 });
        let now = 0;
        for (const [n, { name, ahead, remove }] of steps.entries()) {
          now += ahead;
          series.sweep(now);
          const b = key(name);
          const known = series.find(1, b, 0, b.length, now);
          expect(series.findNext(1, b, 0, b.length, now)).toBe(known);
          if (remove) series.delete(1, b, 0, b.length);
          else if (known === undefined) series.add(1, b, 0, b.length, now, { n });
        }
      }),
    );
  });

  it("accepts no more than its limit, and counts the rest in one series", () => {
    const series = table({ overflow: () => ({ n: -1 }) });
    put(series, "a", 0);
    put(series, "b", 0);
    expect(put(series, "c", 0)).toEqual({ n: -1 });
    expect(put(series, "d", 0)).toBe(put(series, "c", 0));
    expect([series.size, series.overflows]).toEqual([2, 3]);
    expect([...series.values()]).toHaveLength(3);
  });

  it("makes room of what has expired before it says that it is full", () => {
    const series = table();
    put(series, "a", 0);
    put(series, "b", 5000);
    expect(put(series, "c", 5000)).toBeDefined();
    expect(put(series, "d", 5000)).toBeUndefined();
  });

  it("looks at a few keys at a time, if told to", () => {
    const series = table({ maxSeries: 100 });
    for (let i = 0; i < 10; i++) put(series, `series ${i}`, 0);
    expect([series.sweep(500, 4), series.size]).toEqual([false, 6]);
    expect([series.sweep(500, 4), series.sweep(500, 4), series.size]).toEqual([false, true, 0]);
  });
});

describe("the key of attributes", () => {
  const attribute = (name: string, value: string) => {
    const body = Buffer.concat([
      Buffer.from([10, name.length]),
      key(name),
      Buffer.from([18, value.length]),
      key(value),
    ]);
    return Buffer.concat([Buffer.from([58, body.length]), body]);
  };
  const keyOf = (pairs: readonly (readonly [string, string])[]) => {
    const fields = pairs.map(([name, value]) => attribute(name, value));
    const bytes = Buffer.concat(fields);
    const found = new AttributeKey();
    found.begin(bytes);
    let at = 0;
    for (const field of fields) {
      found.add(at, at + 2, at + field.length);
      at += field.length;
    }
    found.finish();
    return {
      key: Buffer.from(found.bytes.subarray(found.start, found.end)).toString("hex"),
      copied: found.bytes !== bytes,
    };
  };

  it("is the same in any order, and no copy where they are in order", () => {
    const pairs = fc.uniqueArray(
      fc.tuple(fc.string({ maxLength: 5, unit: fc.constantFrom("a", "b", ".") }), fc.constantFrom("1", "2")),
      {
        selector: ([name]) => name,
        maxLength: 6,
      },
    );
    fc.assert(
      fc.property(pairs, fc.func(fc.integer()), (all, order) => {
        const sorted = all.toSorted(([a], [b]) => (a < b ? -1 : 1));
        const shuffled = all.toSorted((a, b) => order(a) - order(b));
        expect(keyOf(shuffled).key).toBe(keyOf(sorted).key);
        expect(keyOf(sorted).copied).toBe(false);
      }),
    );
  });
});
