// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config language is written with ${}
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeNodes, type Node, toPlain } from "../../../../src/runtime/config/text/node.js";
import { parseYaml } from "../../../../src/runtime/config/text/parse-yaml.js";
import { SourceText } from "../../../../src/runtime/config/text/source-text.js";
import { brief, GOOD, loadText } from "../load-text.js";

const tree = (value: unknown): Node => parseYaml(new SourceText("t", JSON.stringify(value)), [])!;

describe("mergeNodes", () => {
  it.each([
    [{ a: { b: 1, c: 2 } }, { a: { b: 3 } }, { a: { b: 3, c: 2 } }],
    [{ a: [1, 2] }, { a: [3] }, { a: [3] }],
    [{ a: { b: 1 } }, { a: null }, { a: null }],
    [{ a: null }, { a: { b: 1 } }, { a: { b: 1 } }],
    [{ a: 1 }, {}, { a: 1 }],
  ])("puts later over earlier: %j and %j give %j", (earlier, later, merged) => {
    expect(toPlain(mergeNodes(tree(earlier), tree(later)))).toEqual(merged);
  });

  const leaf = fc.oneof(fc.integer(), fc.string(), fc.array(fc.integer()));
  const maps = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.dictionary(fc.constantFrom("x", "y", "z"), leaf));

  it("does not depend on how sources of one shape are grouped", () => {
    fc.assert(
      fc.property(maps, maps, maps, (a, b, c) => {
        const [x, y, z] = [tree(a), tree(b), tree(c)];
        expect(toPlain(mergeNodes(mergeNodes(x, y), z))).toEqual(toPlain(mergeNodes(x, mergeNodes(y, z))));
      }),
    );
  });

  it("changes nothing when a source is merged with itself", () => {
    fc.assert(
      fc.property(maps, (a) => {
        expect(toPlain(mergeNodes(tree(a), tree(a)))).toEqual(toPlain(tree(a)));
      }),
    );
  });
});

describe("several sources", () => {
  const load = (texts: string[], sets: string[] = []) =>
    loadText("", { sources: texts.map((text, i) => ({ text, name: `${i}.yaml` })), sets, env: { V: "normal" } });

  it("give one config, the last one winning", () => {
    const { config } = load([
      GOOD,
      "exporters: {debug: {verbosity: normal}}",
      "exporters: {debug: {verbosity: detailed}}",
    ]);
    expect(config?.exporters.get("debug")?.config).toEqual({ verbosity: "detailed" });
  });

  it("report a problem at the place of the winning value", () => {
    const { problems } = load([GOOD, "exporters:\n  debug:\n    verbosity: lots"]);
    expect(problems[0]?.place).toEqual({ file: "1.yaml", line: 3, column: 16 });
  });

  it("may include an empty one", () => {
    expect(load([GOOD, "# nothing yet\n"]).problems).toEqual([]);
  });

  it("each report their own problems", () => {
    expect(load(["a: [", "b: ["]).problems.map(({ place }) => place?.file)).toEqual(["0.yaml", "1.yaml"]);
  });

  it.each([
    ["exporters.debug.verbosity=detailed", { verbosity: "detailed" }],
    ["exporters::debug::verbosity=detailed", { verbosity: "detailed" }],
    ["exporters.debug={verbosity: normal}", { verbosity: "normal" }],
    ["exporters.debug.verbosity=${env:V}", { verbosity: "normal" }],
    ["exporters.debug=", { verbosity: "basic" }],
  ])("give way to --set %s", (set, config) => {
    expect(
      load([GOOD, "exporters: {debug: {verbosity: basic}}"], [set]).config?.exporters.get("debug")?.config,
    ).toEqual(config);
  });

  it("take the last --set of a key", () => {
    const sets = ["exporters.debug.verbosity=normal", "exporters.debug.verbosity=detailed"];
    expect(load([GOOD], sets).config?.exporters.get("debug")?.config).toEqual({ verbosity: "detailed" });
  });

  it("report a bad --set with its place", () => {
    const { problems } = load(
      [GOOD],
      ["exporters.debug.verbosity=normal", "nonsense", "exporters.debug.verbosity=lots"],
    );
    expect(problems.map(brief)).toEqual(["error invalid_set 2:1 nonsense"]);
    const [bad] = load([GOOD], ["exporters.debug.verbosity=lots"]).problems;
    expect(bad?.place).toEqual({ file: "--set", line: 1, column: 27 });
  });
});
