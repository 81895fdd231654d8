import { describe, expect, it } from "vitest";
import type { Condition } from "../../../../src/runtime/ottl/compile/compile.js";
import {
  composed,
  textIsOneOf,
  textMatches,
  valueIs,
} from "../../../../src/runtime/ottl/compile/composed-condition.js";
import { anyMatches } from "../../../../src/runtime/ottl/compile/run.js";
import { attributes, batchFor, edited, logsOf, text } from "../../../support/telemetry/ottl.js";

const holds = (condition: Condition, batch = batchFor("log")) => anyMatches(batch, [condition]);
const PATH = (key: string) => `attributes["${key}"]`;
const TEXTS: Readonly<Record<string, string>> = {
  text: "some text",
  empty: "",
  int: "42",
  double: "1.5",
  yes: "true",
  bytes: "AQL/",
  list: '["x",1,0.5]',
  map: '{"inner":{"deep":"found"},"n":1}',
};

describe("composed conditions", () => {
  it.each(Object.entries(TEXTS))("know the text of %s", (key, expected) => {
    const others = Array.from({ length: 20 }, (_, i) => `other ${i}`);
    for (const more of [[], ["x"], others]) {
      expect(holds(textIsOneOf(PATH(key), "log", [...more, expected]))).toBe(true);
      expect(holds(textIsOneOf(PATH(key), "log", [...more, `${expected}!`]))).toBe(false);
    }
    expect(holds(textMatches(PATH(key), "log", (found) => found === expected))).toBe(true);
  });

  it("know no text of nil, nor a plain one of lists, maps and bytes", () => {
    for (const key of ["none", "nowhere"]) {
      expect(holds(textIsOneOf(PATH(key), "log", [""]))).toBe(false);
      expect(holds(textMatches(PATH(key), "log", () => true))).toBe(false);
    }
    for (const [key, expected] of Object.entries(TEXTS)) {
      const isPlain = !["bytes", "list", "map"].includes(key);
      expect(holds(textMatches(PATH(key), "log", (found) => found === expected, { plain: true }))).toBe(isPlain);
    }
  });

  it.each([
    [1e21, "1000000000000000000000"],
    [-1.25e22, "-12500000000000000000000"],
    [1e-7, "0.0000001"],
    [-1.5e-9, "-0.0000000015"],
    [0.1, "0.1"],
    [-0, "-0"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "+Inf"],
  ])("write the double %d without an exponent", (doubleValue, expected) => {
    const batch = logsOf({ attributes: attributes({ a: { doubleValue } }) });
    expect(
      holds(
        textMatches(PATH("a"), "log", (found) => found === expected, { plain: true }),
        batch,
      ),
    ).toBe(true);
  });

  it("see what statements have changed", () => {
    const batch = edited(['set(attributes["text"], "new")', 'delete_key(attributes, "empty")']);
    expect(holds(textIsOneOf(PATH("text"), "log", ["new"]), batch)).toBe(true);
    expect(holds(textIsOneOf(PATH("text"), "log", ["some text"]), batch)).toBe(false);
    expect(holds(textIsOneOf(PATH("empty"), "log", [""]), batch)).toBe(false);
  });

  it("compare values as == does", () => {
    expect(holds(valueIs(PATH("list"), "log", ["x", 1n, 0.5]))).toBe(true);
    expect(holds(valueIs(PATH("list"), "log", ["x", 1n]))).toBe(false);
    expect(holds(valueIs(PATH("whole"), "log", 2n))).toBe(true);
    expect(holds(valueIs(PATH("nowhere"), "log", null))).toBe(true);
    const long = "x".repeat(100_000);
    expect(holds(valueIs(PATH("a"), "log", long), logsOf({ attributes: attributes({ a: text(long) }) }))).toBe(true);
  });

  it.each([
    ["all", [true, true], true],
    ["all", [true, false], false],
    ["any", [false, true], true],
    ["any", [false, false], false],
    ["none", [false, false], true],
    ["none", [false, true], false],
  ] as const)("hold for %s of %j: %s", (which, each, expected) => {
    const conditions = each.map((one) => valueIs(PATH("yes"), "log", one));
    expect(holds(composed(which, conditions))).toBe(expected);
  });
});
