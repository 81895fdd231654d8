import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildAutomaton } from "../../../../src/runtime/text/patterns/automaton.js";
import { maxBacktrackingLength } from "../../../../src/runtime/text/patterns/backtracking.js";
import { compilePattern } from "../../../../src/runtime/text/patterns/pattern.js";
import { type PatternNode, parsePattern } from "../../../../src/runtime/text/patterns/syntax.js";
import { isNullable } from "../../../../src/runtime/text/patterns/translate.js";
import { runs } from "../../../support/runs.js";
import { patterns } from "./random-patterns.js";

function maxLength(source: string): number {
  const automaton = buildAutomaton(parsePattern(source)!.root);
  return automaton === undefined ? 0 : maxBacktrackingLength(automaton);
}

describe("texts that a backtracking engine may search", () => {
  it.each([
    ["a number with dashes", "\\b\\d{3}-\\d{2}-\\d{4}\\b"],
    ["card numbers", "4[0-9]{12}(?:[0-9]{3})?"],
    ["an IPv4 address", "\\b(?:\\d{1,3}\\.){3}\\d{1,3}\\b"],
    ["a key with a prefix", "AKIA[0-9A-Z]{16}"],
    ["a UUID", "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"],
    ["names and values", "user=(?P<user>\\w+) status=(?P<status>\\d+)"],
    ["words", "(?i)password|secret|token"],
    ["from the start on", "^/api/v[0-9]+/[^/]+$"],
  ])("are of any length for %s: %s", (_what, source) => {
    expect(maxLength(source)).toBe(Number.POSITIVE_INFINITY);
  });

  it.each([
    ["an address of mail", "[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}"],
    ["what is between two words", "begin.*end"],
    ["a host", "(?:[\\w-]+\\.)+[a-z]{2,}"],
  ])("are bounded for %s, where each start can read on to the end: %s", (_what, source) => {
    expect(maxLength(source)).toBeGreaterThan(100);
    expect(maxLength(source)).toBeLessThan(2000);
  });

  it.each([
    ["nested repetition", "(a+)+$"],
    ["nested repetition of a class", "([a-zA-Z]+)*!"],
    ["nested repetition behind the start", "^(([a-z])+.)+[A-Z]([a-z])+$"],
    ["a choice of the same", "(a|aa)+$"],
    ["a choice of overlapping classes", "(?:\\d|\\w)+x"],
    ["a choice with dots", "(.|a)*b"],
    ["repetitions side by side", "\\w*\\d*\\w*x"],
    ["blanks around blanks", "\\s*\\s*\\s*x"],
    ["a list of lists", "(.*,)*(.*,)*x"],
    ["digits in front of anything", "status=(\\d+).*end"],
    ["dots side by side", ".*.*=.*"],
    ["counted nested repetition", "(?:a{1,30}){1,30}b"],
    ["optional letters in front of letters", "a?a?a?a?a?a?a?a?a?a?aaaaaaaaaa"],
    ["choices in a row", "(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)(?:a|a)b"],
    ["optional parts of an address", "^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+"],
    ["a path with repeated separators", "^(/+[^?]*)*$"],
    ["a large counted repetition", "(?:abc){900}"],
  ])("are none for %s: %s", (_what, source) => {
    expect(maxLength(source)).toBe(0);
  });

  it("are searched in steps that grow with the text, whatever the pattern and the text", () => {
    let counted = 0;
    const letters = fc.constantFrom("a", "b", "k", "0", ".", "-", "@", " ", "\n");
    const hostile = fc
      .tuple(fc.array(letters, { minLength: 1, maxLength: 3 }), fc.array(letters, { maxLength: 2 }))
      .map(([unit, tail]) => unit.join("").repeat(120) + tail.join(""));
    fc.assert(
      fc.property(patterns(), hostile, (source, text) => {
        const root = parsePattern(source)?.root;
        if (root === undefined || hasNullableRepeat(root)) return; // left to RE2 for other reasons
        const length = Math.min(maxLength(source), 300);
        if (length < 64) return;
        counted++;
        const isLinear = maxLength(source) === Number.POSITIVE_INFINITY;
        const searched = text.slice(0, length);
        const allowed = (isLinear ? 64 : 1024) * (searched.length + 1);
        expect(countSteps(root, searched, allowed), source).toBeLessThanOrEqual(allowed);
      }),
      runs(1000),
    );
    expect(counted).toBeGreaterThan(runs(1000).numRuns / 8);
  });

  it.each(["(?:ab|c)*x", "(?:(a)b)+", "[^x]*x", "^(?:[a-z]+,)*$", "(?s)^.*?z"])(
    "do not exhaust the engine's memory: %s",
    (source) => {
      const pattern = compilePattern(source);
      for (const unit of ["ab", "a", "c", "ab,"]) expect(() => pattern.test(unit.repeat(999_999 / 3))).not.toThrow();
    },
  );
});

function hasNullableRepeat(node: PatternNode): boolean {
  if (node.kind === "repeat") return isNullable(node.part) || hasNullableRepeat(node.part);
  if (node.kind === "group") return hasNullableRepeat(node.part);
  return (node.kind === "sequence" || node.kind === "choice") && node.parts.some(hasNullableRepeat);
}

/** The characters that a backtracking search takes when it tries everything: no match ever stops it. */
function countSteps(root: PatternNode, text: string, limit: number): number {
  let steps = 0;
  type Next = (at: number) => void;
  const run = (node: PatternNode, at: number, next: Next): void => {
    if (steps > limit) return;
    switch (node.kind) {
      case "set": {
        const { set, properties = [], negated = false } = node;
        const point = text.charCodeAt(at);
        let taken = properties.some((property) => new RegExp(property, "u").test(text.charAt(at)));
        for (let i = 0; i < set.length; i += 2) taken ||= point >= set[i]! && point <= set[i + 1]!;
        if (at === text.length || taken === negated) return;
        steps++;
        return next(at + 1);
      }
      case "assertion":
        if (node.assertion !== "start" || at === 0) next(at);
        return;
      case "sequence": {
        const from = (i: number, p: number): void =>
          i === node.parts.length ? next(p) : run(node.parts[i]!, p, (q) => from(i + 1, q));
        return from(0, at);
      }
      case "choice":
        for (const part of node.parts) run(part, at, next);
        return;
      case "group":
        return run(node.part, at, next);
      case "repeat": {
        const more = (count: number, p: number): void => {
          if (count < node.max) run(node.part, p, (q) => more(count + 1, q));
          if (count >= node.min) next(p);
        };
        return more(0, at);
      }
    }
  };
  for (let start = 0; start <= text.length; start++) run(root, start, () => {});
  return steps;
}
