import fc from "fast-check";
import { RE2JS } from "re2js";
import { describe, expect, it } from "vitest";
import { compilePattern } from "../../../../src/runtime/text/patterns/pattern.js";
import { parsePattern } from "../../../../src/runtime/text/patterns/syntax.js";
import { translate } from "../../../../src/runtime/text/patterns/translate.js";
import { runs } from "../../../support/runs.js";
import { compilesInReference, patterns, texts } from "./random-patterns.js";

function translated(source: string): RegExp | undefined {
  const syntax = parsePattern(source);
  return syntax && translate(syntax);
}

/** Every match with the places of its groups. */
function matchesOf(source: string, regExp: RegExp, text: string): (number | undefined)[][] {
  const found: (number | undefined)[][] = [];
  const search = new RegExp(regExp.source, `${regExp.flags}d`);
  for (const match of text.matchAll(search)) found.push(match.indices!.flatMap((pair) => pair ?? [-1, -1]));
  expect(found.length, source).toBeLessThan(1000);
  return found;
}

function referenceMatchesOf(source: string, text: string): number[][] {
  const found: number[][] = [];
  const matcher = RE2JS.compile(source).matcher(text);
  while (matcher.find()) {
    const groups: number[] = [];
    for (let i = 0; i <= matcher.groupCount(); i++) groups.push(matcher.start(i), matcher.end(i));
    found.push(groups);
  }
  return found;
}

describe("a pattern for JavaScript's engine", () => {
  it.each([
    ["(?i)user", "USER uſer"],
    ["(?i)[k-m]+\\W", "KLM\u212ax k!"],
    ["a(?i)b|c", "aB C ab"],
    ["(?i:a)b", "Ab AB"],
    ["(?s)a.b", "a\nb"],
    ["a.b", "a\nb a\rb a\u2028b a😀b"],
    ["(?m)^b$", "a\nb\nc\rb\u2028b"],
    ["^b$", "b\nb"],
    ["a$", "a\n"],
    ["(?U)a+b*", "aaabbb"],
    ["(?U)a+?", "aaa"],
    ["\\Aab\\z", "ab"],
    ["(?P<user>\\w+)@(?<host>[a-z.]+)", "me@example.org, you@example.org"],
    ["[[:alpha:]]+[[:^digit:]_]", "ab1 c é"],
    ["\\Qa.b*\\E+", "a.b*** axb"],
    ["\\s\\d\\w", "\u00a01a \v1a 1a"],
    ["\\bé", "é aé"],
    ["\\pL+\\p{Nd}", "éà1 x2 ⅷ"],
    ["[^\\p{Lu}a]+", "Éabc"],
    ["\\x41\\x{e9}\\.\\-", "Aé.-"],
    ["[]a-]+[^]]", "]a-b"],
    ["[\\w-.]+", "a-b.c"],
    ["a{2}b{1,}c{0,2}x{,3}", "aabbccx{,3}"],
    ["(?:(a+)b)+", "aabab"],
    ["(a|ab)(c|bcd)(d*)", "abcd"],
    ["x*", "axx😀b"],
    ["(?:)", "a😀"],
    ["[^a]", "😀a"],
    ["(a)|b", "ba"],
    ["", "ab"],
  ])("%s finds in %j what RE2 finds", (source, text) => {
    const regExp = translated(source);
    expect(regExp).toBeDefined();
    expect(matchesOf(source, regExp!, text)).toEqual(referenceMatchesOf(source, text));
  });

  it.each([
    ["an iteration that takes nothing", "(a*)*"],
    ["an iteration that takes nothing", "(?:a|b*)+"],
    ["a group of an earlier iteration", "(?:(a)|b)*"],
    ["a group of an earlier iteration", "(?:a(b)?)+"],
    ["letters beyond ASCII without case", "(?i)é"],
    ["a script", "\\p{Greek}"],
    ["octal", "\\101"],
    ["a repetition of nothing", "a{0}"],
  ])("is left to RE2 for %s: %s", (_why, source) => {
    expect(translated(source)).toBeUndefined();
    expect(compilesInReference(source)).toBe(true);
  });

  it("finds the same matches, groups and places as RE2, whatever the pattern and the text", () => {
    let compared = 0;
    fc.assert(
      fc.property(patterns(), texts(), (source, text) => {
        const regExp = translated(source);
        if (regExp === undefined) return;
        compared++;
        expect(matchesOf(source, regExp, text), source).toEqual(referenceMatchesOf(source, text));
      }),
      runs(4000),
    );
    expect(compared).toBeGreaterThan(runs(4000).numRuns / 5);
  });

  it("replaces what it finds by a text as it does match by match", () => {
    fc.assert(
      fc.property(patterns(), texts(), fc.constantFrom("", "-", "<&\\1>"), (source, text, by) => {
        const pattern = compilePattern(source);
        expect(pattern.replaceAll(text, by), source).toBe(pattern.replaceAll(text, by, (replaced) => replaced));
      }),
      runs(300),
    );
    expect(compilePattern("a+").replaceAll("baac", "$$1")).toBe("b$1c");
  });

  it("understands nothing that RE2 refuses", () => {
    const scraps = fc.constantFrom(
      ..."ab01(){}[]|*+?^$.\\-,:<>PQEpLxdwsnzA=!iUms".split(""),
      "(?",
      "[:alpha:]",
      "{1,2}",
      "😀",
    );
    fc.assert(
      fc.property(fc.array(scraps, { maxLength: 9 }), (list) => {
        const source = list.join("");
        if (parsePattern(source) !== undefined) expect(compilesInReference(source), source).toBe(true);
      }),
      runs(3000),
    );
  });
});
