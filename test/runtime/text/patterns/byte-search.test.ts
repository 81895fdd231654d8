import fc from "fast-check";
import { RE2JS } from "re2js";
import { describe, expect, it } from "vitest";
import { UNKNOWN } from "../../../../src/runtime/text/patterns/byte-search.js";
import { compilePattern } from "../../../../src/runtime/text/patterns/pattern.js";
import { runs } from "../../../support/runs.js";
import { patterns, texts } from "./random-patterns.js";

/** The matches in the text, which has other bytes around it; undefined if the search cannot tell. */
function found(source: string, text: string, around = ""): [number, number][] | undefined {
  const bytes = Buffer.from(around + text + around);
  const list: number[] = [];
  const start = Buffer.byteLength(around);
  const end = bytes.length - start;
  const count = compilePattern(source).byteSearch?.findAll(bytes, start, end, list) ?? UNKNOWN;
  if (count === UNKNOWN) return undefined;
  return Array.from({ length: count }, (_, i) => [list[2 * i]! - start, list[2 * i + 1]! - start]);
}

/** What the reference engine finds. */
function expected(source: string, text: string): [number, number][] {
  const list: [number, number][] = [];
  const matcher = RE2JS.compile(source).matcher(text);
  while (matcher.find()) if (matcher.end() > matcher.start()) list.push([matcher.start(), matcher.end()]);
  return list;
}

describe("a search in bytes", () => {
  it.each([
    ["a|ab", "abab"],
    ["ab|a", "abab"],
    ["a+?b??", "aab"],
    ["(?:a|ab)(?:c|bcd)", "abcd"],
    ["\\d{3}-\\d{2}|\\d", "123-4 123-45"],
    ["\\b(?:\\d{1,3}\\.){3}\\d{1,3}\\b", "1.2.3.4.5.6.7.8 1.2.3.4444 10.0.0.1"],
    ["[a-z.]+@[a-z.]+\\.[a-z]{2,}", "me@a.b.cd.e you@x.org, a@b@c.de"],
    ["(?m)^\\w+$", "ab\ncd e\nf"],
    ["a.*b|a", "aab aaa"],
    ["^a", "aa"],
    ["a$", "aa"],
    ["\\Ba\\B", "aaaa a"],
    ["(?i)k[s]", "Ks kS"],
    ["(?:ab){2,3}", "abababababab"],
  ])("finds %s in %j where RE2 finds it", (source, text) => {
    expect(found(source, text)).toEqual(expected(source, text));
    expect(found(source, text, "a1 ")).toEqual(expected(source, text));
  });

  it("leaves other characters, and patterns that match nothing, to other engines", () => {
    expect(found("b", "aéb")).toBeUndefined();
    for (const source of ["a*", "(?:a*)+b", "\\p{Greek}", "(?:abc){900}"])
      expect(compilePattern(source).byteSearch, source).toBeUndefined();
  });

  it("finds the same matches as RE2, whatever the pattern and the text", () => {
    let compared = 0;
    fc.assert(
      fc.property(patterns(), fc.array(texts()), fc.constantFrom("", "a", " ", "\n", "é"), (source, list, around) => {
        if (compilePattern(source).byteSearch === undefined) return;
        for (const text of list) {
          const matches = found(source, text, around);
          if (matches === undefined) expect(text, source).toMatch(/\P{ASCII}/u);
          else {
            compared++;
            expect(matches, `${source} in ${JSON.stringify(text)}`).toEqual(expected(source, text));
          }
        }
      }),
      runs(1500),
    );
    expect(compared).toBeGreaterThan(runs(1500).numRuns / 5);
  });

  it("gives up when it would read a text again and again", () => {
    expect(found("a.*b|a", "a".repeat(30))).toHaveLength(30);
    expect(found("a.*b|a", "a".repeat(10_000))).toBeUndefined();
  });

  it("gives up its table, and finds the same, when texts are too unlike", () => {
    const source = "a.{12}b.{12}c";
    const random = fc.sample(fc.array(fc.constantFrom("a", "b", "d"), { minLength: 3000, maxLength: 3000 }), {
      ...runs(20),
      seed: 1,
    });
    for (const letters of random) {
      const text = `${letters.join("")}a${"d".repeat(12)}b${"d".repeat(12)}c`;
      const matches = found(source, text);
      if (matches !== undefined) expect(matches).toEqual(expected(source, text));
    }
  });
});
