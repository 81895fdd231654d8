import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffLines, diffValues } from "../../../src/runtime/text/diff-lines.js";

const lines = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 30 });

describe("a diff", () => {
  it("is the first text without what is new, and the second without what is gone", () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = diffLines(before, after);
        const without = (kind: string) => diff.filter((line) => line.kind !== kind).map(({ text }) => text);
        expect([without("new"), without("gone")]).toEqual([before, after]);
      }),
    );
  });

  it("finds nothing in what is the same, and one line in one change", () => {
    const value = { a: 1, b: [1, 2], c: "x" };
    const changed = (after: unknown) => diffValues(value, after).filter(({ kind }) => kind !== "same");
    expect(changed(structuredClone(value))).toEqual([]);
    expect(changed({ ...value, c: "y" })).toEqual([
      { kind: "gone", text: '  "c": "x"' },
      { kind: "new", text: '  "c": "y"' },
    ]);
  });

  it("shows what is too long to compare as replaced", () => {
    const many = (text: string) => Array.from({ length: 3_000 }, (_, i) => `${text}${i}`);
    const diff = diffLines(["same", ...many("a")], ["same", ...many("b")]);
    expect([diff.length, diff[0]!.kind, diff[1]!.kind, diff.at(-1)!.kind]).toEqual([6_001, "same", "gone", "new"]);
  });
});
