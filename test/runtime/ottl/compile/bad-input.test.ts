import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { compileCondition, compileStatement } from "../../../../src/runtime/ottl/compile/compile.js";
import { transformBatch } from "../../../../src/runtime/ottl/compile/run.js";
import { FUNCTIONS } from "../../../../src/runtime/ottl/functions/table.js";
import { CONTEXTS } from "../../../../src/runtime/ottl/paths/context.js";
import { PATHS } from "../../../../src/runtime/ottl/paths/paths.js";
import { isOttlSyntaxError, type OttlSyntaxError, pointAt } from "../../../../src/runtime/ottl/values/error.js";
import { MAX_TEXT_LENGTH } from "../../../../src/runtime/ottl/values/limits.js";
import { anyCharacter } from "../../../support/any-character.js";
import { runs } from "../../../support/runs.js";
import {
  attributes,
  batchFor,
  edited,
  evaluate,
  evaluateAfter,
  holds,
  list,
  logsOf,
  text,
} from "../../../support/telemetry/ottl.js";

/** The error of a text that does not compile; undefined when it does. Anything but a syntax error is thrown on. */
function refusal(compile: () => unknown): OttlSyntaxError | undefined {
  try {
    compile();
    return undefined;
  } catch (error) {
    if (!isOttlSyntaxError(error)) throw error;
    return error;
  }
}

function expectPlaced(written: string, error: OttlSyntaxError | undefined): void {
  if (error === undefined) return;
  expect(error.offset).toBeGreaterThanOrEqual(0);
  expect(error.offset).toBeLessThanOrEqual(Math.max(0, written.length));
  expect(error.length).toBeGreaterThan(0);
  const [line, carets] = pointAt(written, error).split("\n") as [string, string];
  expect(carets).toMatch(/^ *\^+$/);
  expect(carets.length).toBeLessThanOrEqual(line.length + 1);
}

describe("any text at all", () => {
  const pieces = fc.oneof(
    fc.constantFrom(
      ...["(", ")", "[", "]", "{", "}", ",", ".", ":", "=", "==", "!=", "<", ">=", "+", "-", "*", "/", " ", "\n"],
      ...["and", "or", "not", "where", "nil", "true", "false", '"', '""', '"a"', "0", "1", "-1", "1.5", "0x0a", "0x1"],
      ...["attributes", "body", "resource", "log", "cache", "SEVERITY_NUMBER_INFO", "\\", "'", "é", "😀", "_", "$"],
    ),
    fc.constantFrom(...FUNCTIONS.keys()),
    fc.constantFrom(...Object.keys(PATHS.log)),
  );
  const anyText = fc.oneof(
    fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join(" ")),
    fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join("")),
    fc.string({ unit: anyCharacter, maxLength: 40 }),
  );

  it("compiles or is refused at a place in it", () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(...CONTEXTS), (written, context) => {
        expectPlaced(
          written,
          refusal(() => compileCondition(written, context)),
        );
        expectPlaced(
          written,
          refusal(() => compileStatement(written, context)),
        );
      }),
      runs(150),
    );
  });

  it("is refused at a place in it when a good text is broken anywhere", () => {
    const good = fc.constantFrom(...[...FUNCTIONS.values()].map(({ example }) => example));
    fc.assert(
      fc.property(good, fc.nat(), fc.nat({ max: 3 }), anyText, (example, at, cut, inserted) => {
        const from = at % (example.length + 1);
        const broken = example.slice(0, from) + inserted + example.slice(from + cut);
        for (const context of ["log", "span", "metric"] as const) {
          expectPlaced(
            `${broken} == nil`,
            refusal(() => compileCondition(`${broken} == nil`, context)),
          );
          expectPlaced(
            broken,
            refusal(() => compileStatement(broken, context)),
          );
        }
      }),
      runs(50),
    );
  });

  it.each([
    ["parentheses", `${"(".repeat(10_000)}true${")".repeat(10_000)}`, /nested more than/],
    ["nots", `${"not ".repeat(10_000)}true`, /expected a condition/],
    ["nots in parentheses", `${"not (".repeat(10_000)}true${")".repeat(10_000)}`, /nested more than/],
    ["minus signs", `${"-".repeat(10_000)}1 == 1`, /expected a value/],
    ["minus signs in parentheses", `${"-(".repeat(10_000)}1${")".repeat(10_000)} == 1`, /nested more than/],
    ["sums", `1${" + 1".repeat(10_000)} == 1`, /more than 500 terms/],
    ["products", `1${" * 1".repeat(10_000)} == 1`, /more than 500 terms/],
    ["lists", `${"[".repeat(10_000)}${"]".repeat(10_000)} == 1`, /nested more than/],
    ["maps", `${'{"":'.repeat(10_000)}1${"}".repeat(10_000)} == 1`, /nested more than/],
    ["calls", `${"Hex(".repeat(10_000)}1${")".repeat(10_000)} == 1`, /nested more than/],
    ["keys", `${"attributes[".repeat(5_000)}"a"${"]".repeat(5_000)} == 1`, /nested more than/],
    ["a string without an end", `body == "${"a".repeat(60_000)}`, /does not end/],
    ["digits", `${"1".repeat(60_000)} == 1`, /does not fit 64 bits/],
  ])("is refused quickly when it is made of %s", (_, written, message) => {
    const error = refusal(() => compileCondition(written, "log"));
    expect(error?.message).toMatch(message);
    expectPlaced(written, error);
  });

  it("may be as long and as deep as allowed, and is then decided without running out of stack", () => {
    const sums = `1${" + 1".repeat(160)}`;
    const nested = `${"(".repeat(90)}${sums}${`${" + 1".repeat(160)})`.repeat(90)}`;
    expect(holds(`${nested} == ${161 + 90 * 160}`)).toBe(true);
    expect(holds(`${"(not ".repeat(99)}false${")".repeat(99)}`)).toBe(true);
    expect(holds(Array.from({ length: 5_000 }, () => "1 == 2").join(" or "))).toBe(false);
    const parts = Array.from({ length: 2_000 }, (_, i) => `attributes["${i}"] == nil`);
    expect(holds(parts.join(" and "))).toBe(true);
  });
});

const RECORDS = Array.from({ length: 22 }, () => ({ attributes: attributes({ a: text("x") }) }));

describe("statements that make values grow", () => {
  it.each([
    [
      "text",
      'set(resource.attributes["service.name"], Concat([resource.attributes["service.name"], resource.attributes["service.name"]], ""))',
    ],
    [
      "text by patterns",
      'replace_pattern(resource.attributes["service.name"], "(.)", "$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1")',
    ],
    [
      "text by patterns in all values",
      'replace_all_patterns(resource.attributes, "value", "(.)", "$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1")',
    ],
    [
      "text in a format",
      'set(resource.attributes["service.name"], Format("%s%s", [resource.attributes["service.name"], resource.attributes["service.name"]]))',
    ],
    ["hex", 'set(resource.attributes["service.name"], Hex(resource.attributes["service.name"]))'],
    [
      "text in base64",
      'set(resource.attributes["service.name"], Base64Encode(Hex(resource.attributes["service.name"])))',
    ],
    ["JSON in JSON", 'set(resource.attributes["service.name"], String([resource.attributes["service.name"], "\\""]))'],
    ["lists", 'append(resource.attributes["service.name"], resource.attributes["service.name"])'],
    ["maps", 'set(resource.attributes["m"], {"a": resource.attributes["m"], "b": resource.attributes["m"]})'],
    ["short lists", 'set(resource.attributes["m"], [resource.attributes["m"], resource.attributes["m"]])'],
  ])("are stopped: %s, grown by every record", (what, statement) => {
    const errors: string[] = [];
    const batch = logsOf(...(what.includes("patterns") ? RECORDS.slice(0, 5) : RECORDS));
    const result = transformBatch(batch, [compileStatement(statement, "log")], [], (error) =>
      errors.push(error.message),
    );
    expect(errors.length).toBeGreaterThan(0);
    expect(errors[0]).toMatch(/would be longer|would have more|nested more than|more than 100000 times/);
    expect(result.byteLength).toBeLessThan(9 * MAX_TEXT_LENGTH);
    expect(Batch.admit("logs", result.bytes).count).toBe(batch.count);
  });

  it("are stopped where a record would become too large, for every way to grow it", () => {
    const maxRecordSize = 64 * 1024;
    const growing = fc.constantFrom(
      'set(attributes["a"], attributes)',
      'set(attributes["b"], attributes)',
      "set(body, attributes)",
      'set(attributes["c"], body)',
      'set(body, Concat([body, body], ""))',
      'merge_maps(attributes, {"m": attributes, "n": body}, "upsert")',
      'set(attributes["d"], [attributes["d"], attributes["a"]])',
      'delete_key(attributes, "a")',
    );
    fc.assert(
      fc.property(fc.array(growing, { maxLength: 30 }), fc.nat(100_000), (texts, size) => {
        const statements = texts.map((statement) => compileStatement(statement, "log"));
        const batch = logsOf({ body: text("x".repeat(size)), attributes: attributes({ k: text("v") }) });
        const result = transformBatch(batch, statements, [], () => {}, { maxRecordSize });
        expect(result.byteLength).toBeLessThanOrEqual(Math.max(maxRecordSize + 400, batch.byteLength));
        expect(Batch.admit("logs", result.bytes).count).toBe(1);
      }),
      runs(50),
    );
  });

  it("are stopped with an error that names the key to change", () => {
    const statements = ["a", "b"].map((key) => compileStatement(`set(attributes["${key}"], attributes)`, "log"));
    const doubling = Array.from({ length: 50 }, (_, i) => statements[i % 2]!);
    expect(() => transformBatch(batchFor("log"), doubling, [], undefined, { maxRecordSize: 10_000 })).toThrow(
      /more than 10000 bytes \(service.max_record_size\)|nested more than/,
    );
  });

  it("are stopped when they read all of a large record over and over", () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, text("v")]));
    const statements = Array.from({ length: 200 }, () => compileStatement('set(cache["n"], Len(attributes))', "log"));
    const errors: string[] = [];
    transformBatch(logsOf({ attributes: attributes(many) }), statements, [], (error) => errors.push(error.message));
    expect(errors.length).toBeGreaterThan(100);
    expect(errors[0]).toMatch(/too large for that many statements/);
  });

  it("are stopped in the cache too", () => {
    const doubling = Array.from({ length: 60 }, () => 'set(cache["a"], [cache["a"], cache["a"]])');
    const errors: string[] = [];
    const statements = ['set(cache["a"], 1)', ...doubling].map((statement) => compileStatement(statement, "log"));
    transformBatch(batchFor("log"), statements, [], (error) => errors.push(error.message));
    expect(errors[0]).toMatch(/more than 100000 items/);
  });

  it.each([
    ["hex of hex", `Len(${"Hex(".repeat(90)}body${")".repeat(90)})`, /would be longer/],
    ["JSON of JSON", `Len(${"String([".repeat(45)}"\\""${"])".repeat(45)})`, /would be longer/],
    ["many texts", `Len(Concat([${"body, ".repeat(50)}body], ""))`, /would be longer/],
    ["a format", `Len(Format("${"%s".repeat(50)}", [${"body, ".repeat(49)}body]))`, /would be longer/],
    ["a printed list", `Len(Format("%v", [[${"body, ".repeat(50)}body]]))`, /would be longer/],
    ["a list in JSON", `Len(String([${"body, ".repeat(50)}body]))`, /would be longer/],
    ["letters", 'Len(Split(body, ""))', /more than 100000 items/],
    ["parts", 'Len(Split(body, "x"))', /more than 100000 items/],
    ["a width", 'Format("%99999d", [1])', /more than 10000 characters wide/],
    ["decimals", 'Format("%.99999f", [1.5])', /more than 10000 characters wide/],
  ])("are stopped within one expression: %s", (_, expression, message) => {
    const batch = batchFor("log", { body: text("x".repeat(300_000)) });
    expect(() => evaluate(expression, "log", batch)).toThrow(message);
  });

  it("never change a value that another place holds too", () => {
    const statements = [
      'set(attributes["a"], {"x": 1, "y": {"z": 2}})',
      'set(attributes["b"], attributes["a"])',
      'set(cache["c"], attributes["a"])',
      'delete_key(attributes["b"], "x")',
      'set(attributes["b"]["y"]["z"], 3)',
      'set(cache["c"]["y"]["z"], 4)',
      'delete_key(cache["c"], "x")',
      'set(attributes["c"], cache)',
      'append(attributes["list"], 1)',
      'set(attributes["l"], attributes["list"])',
      'append(attributes["l"], 2)',
      'set(attributes["l"][0], "other")',
    ];
    const paths = ["a", "b", "c", "list", "l"].map((key) => `attributes["${key}"]`).join(", ");
    const batch = logsOf({ attributes: attributes({ list: list(text("x")) }) });
    expect(evaluateAfter(statements, `[${paths}]`, "log", batch)).toEqual([
      { x: 1n, y: { z: 2n } },
      { y: { z: 3n } },
      { c: { y: { z: 4n } } },
      ["x", 1n],
      ["other", 1n, 2n],
    ]);
  });
});

describe("text that would keep a careless reader busy", () => {
  const digits = "1".repeat(1_000_000);
  const lines = "\n".repeat(300_000);
  it.each([
    ["Duration(body)", digits, /is not a duration/],
    ['Format("%9999v", [Split(body, ",")])', ",".repeat(90_000), /longer than/],
    ['Format("%9999d", [Split(body, ",")])', ",".repeat(90_000), /longer than/],
    ["Double(body)", `${digits}x`, /is not a number/],
    ["Int(body)", digits, /is not an integer/],
    ['ParseCSV(body, "a")', `x${lines}x${lines}y,`, /fields/],
    ['IsMatch(body, "(a+)+$")', `${"a".repeat(100_000)}b`, undefined],
    ['IsMatch(body, "(a|a)*(a|a)*(a|a)*$")', `${"a".repeat(50_000)}b`, undefined],
    ['ExtractPatterns(body, "(?P<x>(x+x+)+y)")', "x".repeat(100_000), undefined],
    ['IsMatch("a", body)', "(".repeat(50_000), /not a valid pattern/],
    ['IsMatch("a", body)', "a".repeat(200_000), /longer than 100000/],
    ['IsMatch("a", body)', "((a{1,100}){1,100}){1,100}", /not a valid pattern/],
    ['ExtractGrokPatterns("a", body)', "%{WORD}".repeat(50_000), /too long|longer/],
    ["ParseJSON(body)", "[".repeat(1_000_000), /JSON/],
    ["ParseJSON(body)", `${"[".repeat(300_000)}${"]".repeat(300_000)}`, /nested more than|JSON/],
    ["ParseJSON(body)", `"${"a".repeat(17_000_000)}"`, /too large/],
    ["ParseKeyValue(body)", "=".repeat(200_000), undefined],
    ["URL(body)", `http://${"a".repeat(100_000)}:${digits}/`, /host and port/],
    ["URL(body)", `http://x/${".".repeat(200_000)}`, undefined],
    ["UserAgent(body)", "Mozilla/5.0 ".repeat(100_000), undefined],
    ['Time(body, "%Y-%m-%d")', digits, /does not fit/],
    ["Trim(body)", `${" ".repeat(500_000)}x${" ".repeat(500_000)}`, undefined],
    ["ToSnakeCase(body)", "aB".repeat(200_000), undefined],
    ["ToCamelCase(body)", "a_".repeat(200_000), undefined],
  ])("is dealt with at once by %s, case %#", (expression, body, message) => {
    const batch = batchFor("log", { body: text(body) });
    const read = () =>
      expression.includes("==") ? holds(expression, "log", batch) : evaluate(expression, "log", batch);
    if (message === undefined) expect(read).not.toThrow();
    else expect(read).toThrow(message);
  });

  it.each([
    ["Year(Unix(9223372036854775807))", /too far away/],
    ['FormatTime(Unix(-9223372036854775807), "%Y")', /too far away/],
    ["String(Unix(9223372036854775807))", /too far away/],
    ["1 / 0", /division by zero/],
    ["1.0 / 0.0", /division by zero/],
    ["0 / 0", /division by zero/],
    ["1 / (2 - 2)", /division by zero/],
  ])("%s is an error", (expression, message) => expect(() => evaluate(expression)).toThrow(message));

  it.each([
    ["9223372036854775807 + 1", -9_223_372_036_854_775_808n],
    ["-9223372036854775808 - 1", 9_223_372_036_854_775_807n],
    ["9223372036854775807 * 9223372036854775807", 1n],
    ["-9223372036854775808 / -1", -9_223_372_036_854_775_808n],
    ["-(-9223372036854775808)", -9_223_372_036_854_775_808n],
    ["UnixNano(Unix(9223372036854775807))", -1_000_000_000n],
    ["1.0e308 * 10", Number.POSITIVE_INFINITY],
  ])("%s wraps as Go's integers do", (expression, value) => {
    expect(evaluate(expression)).toBe(value);
    if (typeof value === "bigint")
      expect(evaluateAfter(`set(attributes["n"], ${expression})`, 'attributes["n"]')).toBe(value);
  });

  it("is a failure of the statement, not of the agent, when the machine cannot hold it", () => {
    const errors: string[] = [];
    const statement = { ...compileStatement('set(attributes["a"], 1)', "log") };
    statement.execute = () => {
      throw new RangeError("Invalid string length");
    };
    const batch = batchFor("log");
    const good = compileStatement('set(attributes["b"], 1)', "log");
    const result = transformBatch(batch, [statement, good], [], (error) => errors.push(error.message));
    expect(errors).toEqual(["too large: Invalid string length"]);
    expect(evaluate('attributes["b"]', "log", result)).toBe(1n);
  });

  it("leaves the batch whole when a statement fails half way", () => {
    const statements = ['set(attributes["a"], 1)', 'set(attributes["b"], 1 / Len(attributes["empty"]))'];
    expect(() => edited(statements)).toThrow(/division by zero/);
  });
});

describe("a path that is not there", () => {
  it.each([
    ['span.name == "x"', /there is no span in the context log/],
    ['attributes.http.method == "GET"', /attributes\["http\.method"\]/],
    ['atributes["a"] == 1', /did you mean "attributes"/],
  ])("%s gets a hint", (condition, hint) => {
    const suggestion = () => {
      try {
        return void compileCondition(condition, "log");
      } catch (error) {
        return (error as { suggestion?: string }).suggestion;
      }
    };
    expect(suggestion()).toMatch(hint);
  });
});
