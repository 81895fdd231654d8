import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileExpression } from "../../../../src/runtime/text/expressions/expression.js";
import { ExpressionError } from "../../../../src/runtime/text/expressions/tokens.js";
import { runs } from "../../../support/runs.js";

const scope = {
  body: "GET /cart 200",
  attributes: { stream: "stderr", status: 200n, ratio: 0.5, tags: ["a", "b"], nested: { deep: { key: "x" } } },
  resource: { "service.name": "shop" },
};
const names = { variables: Object.keys(scope), functions: { env: (name: unknown) => `env of ${name}` } };
const run = (source: string) => compileExpression(source, names)(scope);

describe("expressions", () => {
  it.each([
    ['attributes["stream"] == "stderr"', true],
    ["attributes.stream == 'stdout'", false],
    ["attributes.missing != nil", false],
    ["attributes.missing == nil", true],
    ["attributes.missing?.deeper ?? 'none'", "none"],
    ['resource["service.name"] + "!"', "shop!"],
    ['body matches "^GET \\\\S+ 2\\\\d\\\\d$"', true],
    ["body matches '(?i)^get'", true],
    ["not (body matches '^POST')", true],
    ["body not matches '^POST'", true],
    ["!(body contains 'POST') and body startsWith 'GET'", true],
    ["body endsWith '200' && attributes.status >= 200 && attributes.status < 300", true],
    ["attributes.status == 200", true],
    ["attributes.ratio == 0.5", true],
    ["attributes.status in [200, 204]", true],
    ['"stream" in attributes', true],
    ['"nothing" not in attributes', true],
    ["attributes.status in 200..299", true],
    ["len(body) > 5 ? 'long' : 'short'", "long"],
    ["len(attributes.tags)", 2n],
    ["lower('ABC') + upper('def')", "abcDEF"],
    ["split(body, ' ')[1]", "/cart"],
    ["body[0:3]", "GET"],
    ["replace(body, 'GET', 'PUT')", "PUT /cart 200"],
    ["trim('  x ') == 'x'", true],
    ["int('42') + 1", 43n],
    ["1 + 2 * 3 ** 2 - -1", 20],
    ["1 + 2 * 3 - -1", 8n],
    ["7 / 2", 3.5],
    ["6 / 2", 3],
    ["9223372036854775807 + 1", -9223372036854775808n],
    ["7 % 4", 3n],
    ["max(1, 2.5, 2)", 2.5],
    ["type(1) + type(1.0)", "intfloat"],
    ["(1 + 2) * 3 == 9 or false", true],
    ["any(attributes.tags, {# == 'b'})", true],
    ["all(attributes.tags, # in ['a', 'b'])", true],
    ["filter(attributes.tags, {# != 'a'})[0]", "b"],
    ["attributes.tags | join('-')", "a-b"],
    ["attributes.nested.deep.key", "x"],
    ["{a: 1, 'b c': [2]}['b c'][0]", 2n],
    ["env('HOME')", "env of HOME"],
    ["true ? false ? 1 : 2 : 3", 2n],
    ['"\\u00e9\\n" == `é\n`', true],
    ["let words = split(body, ' '); let last = words[len(words) - 1]; int(last) + 1", 201n],
    ["(let x = 2; x * x) + 1", 5n],
    ["$env['body'] == body and $env.attributes.status == 200", true],
    ["date('2026-01-31T10:00:00Z') - date('2026-01-31') == duration('10h')", true],
    ["date('2026-01-31') < now() and now() - duration('1h') < now()", true],
    ["date('2026-01-31 10:11:12').Minute()", 11n],
    ["date('31.01.2026 10:00', '02.01.2006 15:04', 'Europe/Berlin').Unix()", 1769850000n],
    ["string(duration('90m'))", "1h30m0s"],
    ["date('2026-01-31').Format('Jan 2, 2006')", "Jan 31, 2026"],
    ["sort([3, 1, 2], 'desc')", [3n, 2n, 1n]],
    ["mean([1, 2, 6]) + median(1, 2, 9)", 5],
    ["findIndex(attributes.tags, # == 'b')", 1n],
    ["groupBy(['a', 'bb', 'c'], len(#))['1'] | join('')", "ac"],
    ["fromBase64(toBase64('é'))", "é"],
    ["fromPairs([['a', 1]]).a", 1n],
    ["splitAfter('a,b', ',')", ["a,", "b"]],
    ["reduce([1, 2, 3], #acc + #)", 6n],
    ["reduce([], #acc + #, 4)", 4n],
    ["if body == 'x' { 1 } else if len(body) > 3 { 2 } else { 3 }", 2n],
    ["if (1 > 2) { 'a' } else { 'b' }", "b"],
    ["[bitand(6, 3), bitor(6, 3), bitxor(6, 3), bitnand(7, 2), bitnot(0)]", [2n, 7n, 5n, 5n, -1n]],
    ["[bitshl(1, 63), bitshr(-8, 1), bitushr(-1, 63), bitshl(1, 99)]", [-(2n ** 63n), -4n, 1n, 0n]],
    ["toJSON({'a': [1]})", '{\n  "a": [\n    1\n  ]\n}'],
  ])("%s", (source, expected) => {
    expect(run(source)).toEqual(expected);
  });

  it.each([
    ["body ==", "it ends too early, at character 8"],
    ["bod == 1", "there is no bod; there are body, attributes, resource, at character 1"],
    ["frobnicate(body)", "the function frobnicate is not known here, at character 1"],
    ["body matches '('", "not a pattern"],
    ["'abc", "a text has no end, at character 1"],
    ["'\\d'", "\\d is not an escape"],
    ["body § 1", "is not understood, at character 6"],
    ["let body = 1; body", "body is taken; choose another name, at character 5"],
    ["let x = 1", "expected ;, at character 10"],
    ["body body", "body is not expected, at character 6"],
    ["(".repeat(500), "nested too deep"],
  ])("is told what is wrong with %s", (source, message) => {
    expect(() => compileExpression(source, names)).toThrow(message);
  });

  it.each([
    ["attributes.missing matches 'x'", "matches needs a string, not nil"],
    ["attributes.missing.deeper == 1", "cannot fetch deeper from nil"],
    ["body > 1", "> needs a number, not string"],
    ["bitand(1.5, 1)", "bitand needs an integer, not float"],
    ["bitshl(1, -1)", "a shift needs a count that is not negative"],
    ["reduce([], #acc + #)", "reduce needs a start or an item"],
    ["body and true", "and needs true or false, not string"],
    ["attributes.tags[7]", "there is no index 7"],
    ["attributes.constructor.name", "cannot fetch name from nil"],
  ])("says why %s has no value", (source, message) => {
    expect(() => run(source)).toThrow(message);
  });

  it("compiles or refuses whatever is written, and nothing else happens", () => {
    const word = fc.constantFrom(
      ...["body", "attributes", ".", "[", "]", "(", ")", "{", "}", "#", "==", "matches", "in", "not", "and", "?", ":"],
      ...["'a'", "1", "len", "any", ",", "..", "|", "-", "!", "nil", "??", "?.", "**", "contains"],
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 14 }), (words) => {
        try {
          run(words.join(" "));
        } catch (error) {
          expect(error).toBeInstanceOf(ExpressionError);
        }
      }),
      runs(2000),
    );
  });
});
