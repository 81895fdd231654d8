// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config language is written with ${}
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodeAt, placeOf, toPlain } from "../../../../src/runtime/config/text/node.js";
import { parseYaml } from "../../../../src/runtime/config/text/parse-yaml.js";
import type { Problem } from "../../../../src/runtime/config/text/problem.js";
import { SourceText } from "../../../../src/runtime/config/text/source-text.js";
import { runs } from "../../../support/runs.js";
import { brief, loadText, problemsIn } from "../load-text.js";

function parse(text: string) {
  const problems: Problem[] = [];
  const node = parseYaml(new SourceText("c.yaml", text), problems);
  return { node, value: node && toPlain(node), problems: problems.map(brief), full: problems };
}

describe("parseYaml", () => {
  it.each([
    ["brackets", "[".repeat(20_000) + "]".repeat(20_000)],
    ["brackets that never close", "{a: ".repeat(20_000)],
    ["lists in lists", "- ".repeat(20_000)],
  ])("says that %s are nested too deep", (_, text) => {
    expect(parse(text).full).toMatchObject([{ severity: "error", message: "nested deeper than 200 levels" }]);
  });

  it.each([
    [
      "too deep by one",
      "a:\n  b:\n    c: 1\n   d: 2\n",
      4,
      4,
      "this line is indented by 3 spaces, which fits no line above it: expected 2 or 4",
    ],
    [
      "reported by the parser at the line before",
      "a:\n  b:\n  # no\n\n c:\n",
      5,
      2,
      "this line is indented by 1 space, which fits no line above it: expected 0 or 2",
    ],
    [
      "below a value",
      "a:\n  b: 1\n    c: 2\n",
      3,
      5,
      "this line is indented more than line 2, which has a value already",
    ],
    [
      "of a list item",
      "a:\n   - b\n  - c\n",
      3,
      3,
      "this line is indented by 2 spaces, which fits no line above it: expected 0 or 3",
    ],
    [
      "of a key in a list item",
      "a:\n  - b: 1\n   c: 2\n",
      3,
      4,
      "this line is indented by 3 spaces, which fits no line above it: expected 2 or 4",
    ],
    ["that is not the cause", "a: b: c\n", 1, 4, 'a value that contains ": " must be in quotes'],
  ])("points at the line whose indentation is wrong: %s", (_, text, line, column, message) => {
    expect(parse(text).full).toMatchObject([{ place: { line, column }, message }]);
  });

  it.each([
    ["a map", "a: 1\nb: x", { a: 1, b: "x" }],
    ["Windows line ends", "a:\r\n  b: 1\r\n", { a: { b: 1 } }],
    ["a document start", "---\na: 1\n", { a: 1 }],
    ["a document end", "a: 1\n...\n", { a: 1 }],
    ["empty documents around it", "---\n---\na: 1\n---\n", { a: 1 }],
    ["anchors and aliases", "a: &x {k: 1}\nb: *x", { a: { k: 1 }, b: { k: 1 } }],
    ["an anchor that is used again", "a: &x 1\nb: *x\nc: &x 2\nd: *x", { a: 1, b: 1, c: 2, d: 2 }],
    ["an anchor inside one of the same name", "a: &x [&x 1, *x]\nb: *x", { a: [1, 1], b: 1 }],
    [
      "merge keys under what is written",
      "a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  k: 3",
      { a: { k: 1, l: 2 }, b: { k: 3, l: 2 } },
    ],
    [
      "a list of merge keys, the first one winning",
      "a: &x {k: 1}\nb: &y {k: 2, l: 3}\nc: {<<: [*x, *y]}",
      { a: { k: 1 }, b: { k: 2, l: 3 }, c: { k: 1, l: 3 } },
    ],
    ["numbers as keys", "200: ok", { 200: "ok" }],
    ["the first of several documents", "a: 1\n---\na: 2", { a: 1 }, "warning yaml_documents 2:1"],
    ["paths as keys", "a::b: 1\nc:\n  d::e: {f::g: 2}", { a: { b: 1 }, c: { d: { e: { f: { g: 2 } } } } }],
    ["paths as keys beside maps", "a: {b: 1}\na::c: 2\na::d::e: 3", { a: { b: 1, c: 2, d: { e: 3 } } }],
    ["colons in keys that are no paths", "a:: 1\n::b: 2\nc: [{d::e: 3}]", { "a:": 1, "::b": 2, c: [{ "d::e": 3 }] }],
    ["an empty text", "", undefined],
    ["a text of comments", "# nothing\n", undefined],
  ])("reads %s", (_, text, value, ...problems) => {
    expect(parse(text)).toMatchObject({ problems });
    expect(parse(text).value).toEqual(value);
  });

  it.each([
    ["50_000", 50_000],
    ["-1_0", -10],
    ["0x1F", 31],
    ["-0x_10", -16],
    ["0b101", 5],
    ["0o17", 15],
    ["017", 15],
    ["08", 8],
    ["1_000.5", 1000.5],
    ["1e3", 1000],
    ["'50_000'", "50_000"],
    ["50_000s", "50_000s"],
    ["_5", "_5"],
    ["1:30", "1:30"],
    ["0x", "0x"],
    ["yes", "yes"],
    ["true", true],
    ["~", null],
    ["!!str 1_0", "1_0"],
  ])("makes of %s what the Collector does", (text, value) => {
    expect(parse(`a: ${text}`).value).toEqual({ a: value });
  });

  it("keeps a number for text fields as it is written", () => {
    expect(nodeAt(parse("a: 50_000").node, ["a"])).toMatchObject({ value: 50_000, text: "50_000" });
  });

  it("knows the place of each value", () => {
    const { node } = parse("a:\r\n  - b: x\r\n    c: y");
    expect(placeOf(nodeAt(node, ["a", 0, "c"])!)).toEqual({ file: "c.yaml", line: 3, column: 8 });
  });

  it.each([
    ["a duplicate key", "a: 1\nb: 2\na: 3", "error duplicate_key 3:1"],
    ["an unknown alias", "a: *b", "error yaml_syntax 1:4"],
    ["an alias inside its own anchor", "a: &b [*b]", "error yaml_syntax 1:8"],
    ["a missing quote", 'a: 1\nb: "x\nc: 2\n', "error yaml_syntax 2:4"],
    ["an open [ where it opens", "a: 1\nr: [x\ne: [y]\n", "error yaml_syntax 2:4"],
    ["an open { and not what follows from it", "r: {o: 1, h:\ns:\n  p: [o]\n", "error yaml_syntax 1:4"],
    ["the one bracket of two that is open", "a: [[1, 2]\nb: 3\n", "error yaml_syntax 1:4"],
    [
      "an error in front of an open bracket",
      "a: b: c\nr: [x\ne: 1\n",
      "error yaml_syntax 1:4",
      "error yaml_syntax 2:4",
    ],
    ["a tab as indentation", "a:\n\tb: 1", "error yaml_syntax 2:1"],
    ["a second document", "a: 1\n---\nb: 1", "warning yaml_documents 2:1"],
    ["no errors of a second document", "a: 1\n---\nb: [", "warning yaml_documents 2:1"],
    ["a key that is written as a path too", "a: {b: 1}\na::b: 2", "error duplicate_key 2:1"],
    ["a merge key without a map", "<<: 1", "error yaml_syntax 1:1"],
    ["a list as a key", "? [a]\n: b", "error yaml_syntax 1:3"],
    ["an unknown tag", "a: !secret x", "warning yaml_tag 1:4"],
  ])("reports %s with its place", (_, text, ...problems) => {
    expect(parse(text).problems).toEqual(problems);
  });

  it.each([
    ["a: [x\nb: 1\n", "this [ is not closed: a ] is missing"],
    ["a: {x: 1\nb: 1\n", "this { is not closed: a } is missing"],
  ])("says which bracket of %j is missing", (text, message) => {
    expect(parse(text).full).toMatchObject([{ message }]);
  });

  it("names the place of both duplicate keys", () => {
    expect(parse("x:\n  a: 1\n  a: 2").full[0]?.message).toContain("the first is at c.yaml:2:3");
  });

  it.each(["a: [${env:X}]", "a: [one, ${X}]", "a: {b: ${env:X:-d}}", "a: [http://${X}:4318]"])(
    "says kindly that %s needs quotes",
    (text) => {
      const [problem, ...others] = parse(text).full;
      expect(others).toEqual([]);
      expect(problem?.suggestion).toMatch(/^write it in quotes: ".*\$\{.*\}.*"$/);
    },
  );

  it("reads many aliases without searching the document for each", () => {
    const text = `a: &a b\n${Array.from({ length: 20_000 }, (_, i) => `k${i}: *a`).join("\n")}`;
    expect(parse(text).full).toEqual([]);
  });

  it("refuses aliases that multiply without end", () => {
    const lines = Array.from({ length: 30 }, (_, i) => `k${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`);
    expect(parse(`k0: &a0 [x]\n${lines.join("\n")}`).full[0]?.message).toContain("counting every use of an alias");
  });

  it("refuses nesting without end", () => {
    expect(parse("[".repeat(5000)).full.length).toBeGreaterThan(0);
    expect(parse(`a: ${"[".repeat(1000)}${"]".repeat(1000)}`).full[0]?.message).toContain("nested deeper");
  });
});

describe("any text", () => {
  const yamlish = fc.array(
    fc.constantFrom(
      ..."abc:-?[]{}&*!|>'\"%@`#,\n \t$0~<=./".split(""),
      "\n  ",
      ": ",
      "- ",
      "${",
      "receivers:",
      "otlp",
      "<<: ",
    ),
    { maxLength: 60 },
  );

  it("gives problems, never a throw", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          yamlish.map((parts) => parts.join("")),
        ),
        (text) => {
          const { config, problems } = loadText(text);
          expect(config).toBeUndefined();
          expect(problems.length).toBeGreaterThan(0);
        },
      ),
      runs(500),
    );
  });

  it("reports problems and never throws, at any place in a config", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("receivers", "exporters.debug", "service.pipelines", "service.telemetry.logs"),
        fc.json(),
        (key, json) => {
          const keys = key.split(".");
          const text = `${keys.map((each, depth) => `${"  ".repeat(depth)}${each}:`).join("\n")} ${json}`;
          expect(loadText(text).config).toBeUndefined();
        },
      ),
      runs(300),
    );
  });
});

describe("a file", () => {
  it.each([
    ["that is empty", "", "error empty_config 1:1"],
    ["of comments only", "# later\n", "error empty_config 1:1"],
    ["that is a list", "- receivers", "error not_a_map 1:1"],
    ["that is a word", "hello", "error not_a_map 1:1"],
  ])("%s is one clear problem", (_, text, problem) => {
    expect(problemsIn(text)).toEqual([problem]);
  });

  it("that cannot be read is one clear problem", () => {
    const { problems } = loadText("", { sources: [{ file: "/nowhere/at/all.yaml" }] });
    expect(problems).toMatchObject([
      { code: "unreadable_file", message: "cannot read /nowhere/at/all.yaml: there is no such file", place: undefined },
    ]);
  });

  it("may begin with a byte order mark", () => {
    expect(problemsIn("\uFEFFreceivers:\nnonsense: 1\n")).toContain("error unknown_key 2:1 nonsense");
  });
});
