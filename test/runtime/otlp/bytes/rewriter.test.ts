import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Rewriter, WireWriter } from "../../../../src/runtime/otlp/bytes/writer.js";

/** So much of the source stays, so much of it goes, and this stands in its place. */
const steps = fc.array(
  fc.record({
    kept: fc.nat(60),
    left: fc.nat(60),
    put: fc.uint8Array({ maxLength: 120 }),
  }),
  { maxLength: 40, size: "max" },
);

describe("the rewriter", () => {
  test("returns the source with every change in its place, for any additions and removals", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000, size: "max" }), steps, (source, changes) => {
        const rewriter = new Rewriter(source);
        const expected: number[] = [];
        let at = 0;
        for (const { kept, left, put } of changes) {
          const from = Math.min(source.length, at + kept);
          const to = Math.min(source.length, from + left);
          expected.push(...source.subarray(at, from), ...put);
          const out = rewriter.copyTo(from);
          out.copy(put, 0, put.length);
          rewriter.skipTo(to);
          at = to;
        }
        expected.push(...source.subarray(at));
        expect([...rewriter.finish()]).toEqual(expected);
      }),
    );
  });

  test("leaves the source as it is", () => {
    const source = Uint8Array.from({ length: 900 }, (_, i) => i);
    const before = Uint8Array.from(source);
    const rewriter = new Rewriter(source);
    rewriter.copyTo(300).copy(new Uint8Array(5000).fill(7), 0, 5000);
    rewriter.skipTo(700);
    rewriter.finish();
    expect(source).toEqual(before);
  });
});

describe("a writer that rewrites", () => {
  test("copies pieces of what it replaces in any order, twice or not at all", () => {
    const piece = fc.tuple(fc.nat(400), fc.nat(400)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 400, maxLength: 400, size: "max" }),
        fc.nat(400),
        fc.array(piece, { maxLength: 12 }),
        (source, replacedTo, pieces) => {
          const rewriter = new Rewriter(source);
          const out = rewriter.copyTo(0);
          out.replaceUpTo(replacedTo);
          for (const [from, to] of pieces) out.copy(source, from, to);
          rewriter.skipTo(replacedTo);
          const expected = [...pieces.flatMap(([from, to]) => [...source.subarray(from, to)])];
          expect([...rewriter.finish()]).toEqual([...expected, ...source.subarray(replacedTo)]);
        },
      ),
    );
  });

  test("grows with what is written and with what waits", () => {
    const writer = WireWriter.rewriting(Uint8Array.of(1, 2, 3), 0);
    for (let i = 0; i < 500; i++) writer.byte(9);
    writer.takeSource(2);
    writer.byte(8);
    writer.takeSource(1);
    expect([...writer.written().subarray(498)]).toEqual([9, 9, 1, 2, 8, 3]);
  });
});
