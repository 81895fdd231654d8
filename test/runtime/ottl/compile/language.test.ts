import { describe, expect, it } from "vitest";
import { compileCondition, compileStatement } from "../../../../src/runtime/ottl/compile/compile.js";
import { OttlSyntaxError, pointAt } from "../../../../src/runtime/ottl/values/error.js";
import { OttlDuration, OttlTime } from "../../../../src/runtime/ottl/values/value.js";
import { edited, evaluate, evaluateAfter, holds } from "../../../support/telemetry/ottl.js";

describe("a literal", () => {
  it.each([
    ['"text"', "text"],
    ['""', ""],
    ['"a\\"b\\\\c\\n\\t"', 'a"b\\c\n\t'],
    ['"\\x41\\u00e9\\U0001F600\\101"', "Aé😀A"],
    ['"\\d+\\s"', "\\d+\\s"],
    ['"\\xc3\\xa9\\303\\251"', "éé"],
    ['"\\xff"', "\ufffd"],
    ['"\\400"', "\\400"],
    ['"日本"', "日本"],
    ["0", 0n],
    ["42", 42n],
    ["-42", -42n],
    ["+42", 42n],
    ["9223372036854775807", 9_223_372_036_854_775_807n],
    ["-9223372036854775808", -9_223_372_036_854_775_808n],
    ["1.5", 1.5],
    ["-1.5", -1.5],
    [".5", 0.5],
    ["2.", 2],
    ["1.5e3", 1500],
    ["1.0e-2", 0.01],
    ["true", true],
    ["false", false],
    ["nil", null],
    ["0x0aFF", Uint8Array.of(10, 255)],
    ["[]", []],
    ['[1, "a", nil, [2.5]]', [1n, "a", null, [2.5]]],
    ["{}", {}],
    ['{"a": 1, "b": {"c": [true]}}', { a: 1n, b: { c: [true] } }],
    ['{"a": attributes["int"]}', { a: 42n }],
    ["SEVERITY_NUMBER_FATAL4", 24n],
  ])("%s is a value", (literal, value) => expect(evaluate(literal)).toStrictEqual(value));
});

describe("arithmetic", () => {
  it.each([
    ["1 + 2", 3n],
    ["1 + 2 * 3", 7n],
    ["(1 + 2) * 3", 9n],
    ["10 - 3 - 2", 5n],
    ["10 / 3", 3n],
    ["-7 / 2", -3n],
    ["10 / 4.0", 2.5],
    ["1.5 * 2", 3],
    ["2 * 1.5 + 1", 4],
    ["-(1 + 2)", -3n],
    ['-attributes["int"]', -42n],
    ['attributes["int"] * 2 - 4', 80n],
    ["9223372036854775807 + 1", -9_223_372_036_854_775_808n],
    ['Unix(10) + Duration("5s")', new OttlTime(15_000_000_000n)],
    ['Duration("5s") + Unix(10)', new OttlTime(15_000_000_000n)],
    ['Unix(10) - Duration("5s")', new OttlTime(5_000_000_000n)],
    ["Unix(10) - Unix(4)", new OttlDuration(6_000_000_000n)],
    ['Duration("5s") + Duration("1s")', new OttlDuration(6_000_000_000n)],
    ['Duration("5s") - Duration("1s")', new OttlDuration(4_000_000_000n)],
  ])("%s gives what Go gives", (expression, value) => expect(evaluate(expression)).toStrictEqual(value));

  it.each([
    ["1 / 0", /division by zero/],
    ["1.5 / 0", /division by zero/],
    ['1 + attributes["text"]', /cannot calculate with string/],
    ['attributes["missing"] + 1', /cannot calculate with nil/],
    ['-attributes["text"]', /cannot negate string/],
    ["Unix(1) + Unix(2)", /cannot calculate time \+ time/],
    ['Unix(1) * Duration("1s")', /cannot calculate time \* duration/],
    ['Duration("1s") - Unix(1)', /cannot calculate duration - time/],
  ])("%s is an error", (expression, message) => expect(() => evaluate(expression)).toThrow(message));
});

describe("a comparison", () => {
  /** Left, right, and which of == != < <= > >= hold. */
  const rows: readonly (readonly [string, string, string])[] = [
    ["1", "1", "== <= >="],
    ["1", "2", "!= < <="],
    ["2", "1", "!= > >="],
    ["1", "1.0", "== <= >="],
    ["1", "1.5", "!= < <="],
    ["2.5", "2", "!= > >="],
    ["9007199254740993", "9007199254740992", "!= > >="],
    ['"a"', '"a"', "== <= >="],
    ['"a"', '"b"', "!= < <="],
    ['"a"', '"ab"', "!= < <="],
    ['"\u{ff5e}"', '"\u{1f600}"', "!= < <="],
    ["true", "true", "== <= >="],
    ["false", "true", "!= < <="],
    ["0x01", "0x02", "!= < <="],
    ["0x0102", "0x0102", "== <= >="],
    ["nil", "nil", "== <= >="],
    ["nil", "1", "!="],
    ['"1"', "1", "!="],
    ["1", "true", "!="],
    ['"true"', "true", "!="],
    ["[1]", "[1]", "=="],
    ["[1]", "[2]", "!="],
    ["[1]", "[1.0]", "!="],
    ['{"a": 1, "b": 2}', '{"b": 2, "a": 1}', "=="],
    ["{}", "{}", "=="],
    ["{}", "nil", "!="],
    ["[]", "nil", "!="],
    ['""', "nil", "!="],
    ["Unix(1)", "Unix(2)", "!= < <="],
    ["Unix(1)", "1", "!="],
    ['Duration("1s")', 'Duration("1000ms")', "== <= >="],
    ['attributes["missing"]', "nil", "== <= >="],
    ['attributes["none"]', "nil", "== <= >="],
    ['attributes["empty"]', "nil", "!="],
    ['attributes["empty"]', '""', "== <= >="],
    ['attributes["text"]', '"some text"', "== <= >="],
    ['attributes["text"]', '"some texT"', "!= > >="],
    ['attributes["text"]', '"some"', "!= > >="],
    ['attributes["text"]', '"some text and more"', "!= < <="],
    ['attributes["missing"]', '"x"', "!="],
    ['attributes["int"]', '"42"', "!="],
    ['attributes["int"]', "42", "== <= >="],
    ['attributes["int"]', "42.0", "== <= >="],
    ['attributes["int"]', "100", "!= < <="],
    ['attributes["double"]', "1", "!= > >="],
    ['attributes["whole"]', "2", "== <= >="],
    ['attributes["big"]', "9007199254740993", "== <= >="],
    ['attributes["big"]', "9007199254740992", "!= > >="],
    ['attributes["yes"]', "true", "== <= >="],
    ['attributes["no"]', "true", "!= < <="],
    ['attributes["bytes"]', "0x0102ff", "== <= >="],
    ['attributes["bytes"]', "nil", "!="],
    ['Decode("", "base64")', "nil", "!="],
    ["[0.0]", "[-0.0]", "=="],
    ['[Double("nan")]', '[Double("nan")]', "!="],
    ['{"a": [1, {"b": 2.0}]}', '{"a": [1, {"b": 2.0}]}', "=="],
    ['{"a": nil}', "{}", "!="],
    ["[nil]", "[nil]", "=="],
    ['attributes["map"]', '{"n": 1, "inner": {"deep": "found"}}', "=="],
    ['attributes["map"]', "{}", "!="],
    ['attributes["list"]', "nil", "!="],
    ['attributes["map"]["missing"]', "nil", "== <= >="],
    ['attributes["no"]', "nil", "!="],
    ['attributes["no"]', "false", "== <= >="],
    ['attributes["no"]', "0", "!="],
    ['attributes["int"]', "nil", "!="],
    ['attributes["double"]', '"1.5"', "!="],
    ['attributes["double"]', "1.5", "== <= >="],
    ["severity_text", '"INFO"', "== <= >="],
    ["severity_text", "nil", "!="],
    ["time", "Unix(1700000000, 123456789)", "== <= >="],
    ["time", "Unix(1700000000)", "!= > >="],
    ["time", "nil", "!="],
    ["trace_id.string", '"0102030405060708090a0b0c0d0e0f10"', "== <= >="],
    ["span_id", "SpanID(0x0102030405060709)", "!="],
    ["span_id", "0x0102030405060708", "!="],
    ["trace_id", "ProfileID(0x0102030405060708090a0b0c0d0e0f10)", "!="],
    ["span_id", "nil", "!="],
    ['Duration("1s")', "nil", "!="],
    ['Duration("1s")', "Unix(1)", "!="],
    ['attributes["list"]', '["x", 1, 0.5]', "=="],
    ['attributes["map"]["n"]', "1", "== <= >="],
    ['attributes["text"]', 'attributes["text"]', "== <= >="],
    ['resource.attributes["service.name"]', '"checkout"', "== <= >="],
    ["severity_number", "SEVERITY_NUMBER_WARN", "!= < <="],
    ["trace_id", "TraceID(0x0102030405060708090a0b0c0d0e0f10)", "=="],
    ["body", "nil", "!="],
  ];
  const cases = rows.flatMap(([left, right, holding]) =>
    ["==", "!=", "<", "<=", ">", ">="].map(
      (op) => [`${left} ${op} ${right}`, holding.split(" ").includes(op)] as const,
    ),
  );

  it.each(cases)("%s is %s", (condition, expected) => expect(holds(condition)).toBe(expected));

  it.each(rows.filter(([a, b]) => a !== b))("treats %s and %s alike from both sides", (left, right, holding) => {
    expect(holds(`${right} == ${left}`)).toBe(holding.includes("=="));
    expect(holds(`${right} != ${left}`)).toBe(holding.includes("!="));
  });

  it("compares NaN as Go does", () => {
    expect(holds('Double("nan") == Double("nan")')).toBe(false);
    expect(holds('Double("nan") != 1')).toBe(true);
  });
});

describe("a condition", () => {
  it.each([
    ["true", true],
    ["not true", false],
    ["true or true and false", true],
    ["(true or true) and false", false],
    ["not false and false", false],
    ["not (false and false)", true],
    ["false or not false", true],
    ["not 1 == 2", true],
    ["true and not 1 == 1", false],
    ["IsString(body)", false],
    ['IsMap(body) and attributes["int"] > 1', true],
    ["(1 + 2) * 3 == 9", true],
    ["((true))", true],
    ['log.severity_text == "INFO" and log.attributes["yes"] == true', true],
    ["1 == 1 and\n  2 == 2", true],
    ["false and 1 / 0 == 1", false],
    ["true or 1 / 0 == 1", true],
    ["1 / 0 == 1 and false", false],
    ["1 / 0 == 1 or true", true],
    ["not (1 / 0 == 1 and 1 == 2)", true],
    ["1 / 0 == 1 and not true", false],
    ["true and true", true],
    ["false or false", false],
    ["(true and IsMap(body)) or false", true],
  ])("%s is %s", (condition, expected) => expect(holds(condition)).toBe(expected));

  it.each([
    [[], "none", true],
    [[], "nowhere", false],
    [['set(attributes["new"], nil)', 'set(attributes["new"], 1)'], "new", true],
    [['delete_key(attributes, "int")'], "int", false],
    [['keep_keys(attributes, ["none"])'], "none", true],
  ])("finds keys after %j: %s", (statements, key, isThere) => {
    const batch = edited(statements, "log");
    for (const keys of ["Keys(attributes)", 'Filter(Keys(attributes), (_, k) => k != "x")'])
      expect(holds(`ContainsValue(${keys}, "${key}")`, "log", batch)).toBe(isThere);
    const asked = [...statements, `set(body, "there") where ContainsValue(Keys(attributes), "${key}")`];
    expect(evaluateAfter(asked, "body") === "there").toBe(isThere);
  });

  it("fails on a function that gives no bool", () => {
    expect(() => holds('Concat(["a"], "")')).toThrow(/gave string, not a bool/);
  });
});

describe("text that is not the language", () => {
  const conditions: readonly (readonly [text: string, offset: number, message: RegExp])[] = [
    ["", 0, /expected a value, found the end/],
    ['body == "open', 8, /does not end/],
    ["body == 'x'", 8, /double quotes/],
    ["body == ", 7, /expected a value/],
    ["body = 1", 5, /expected the end/],
    ["body == 1 2", 10, /expected the end/],
    ["(body == 1", 9, /expected "\)"/],
    ["body == #", 8, /unexpected "#"/],
    ["body", 0, /path is not a condition/],
    ["1", 0, /value is not a condition/],
    ["1 + 1", 0, /calculation is not a condition/],
    ["not not true", 4, /expected a condition/],
    ["(1 == 1) == true", 1, /is a condition, not a value/],
    ["bodi == 1", 0, /no such path in the context log: bodi/],
    ["log.nothing.here == 1", 0, /no such path/],
    ["span.name == 1", 0, /no such path in the context log/],
    ['IsMach(body, "a")', 0, /no such function: IsMach/],
    ["IsMatch(body)", 0, /argument pattern is missing: it is IsMatch\(target, pattern\)/],
    ['IsMatch(body, "a", "b")', 19, /too many arguments/],
    ['IsMatch(body, "(")', 14, /not a valid pattern/],
    ['IsMatch(body, pattern = "a", patern = "b")', 29, /no argument patern/],
    ['IsMatch(body, target = "a")', 14, /given twice/],
    ['IsMatch(pattern = "a", body)', 23, /cannot follow one with a name/],
    ["IsMatch(body, 1)", 14, /expected string, got int/],
    ["attributes[SEVERITY_NUMBER_INFO] == 1", 11, /name is not a key/],
    ["severity_number == SEVERITY_NUMBER_WARNING", 19, /no such name/],
    ["severity_number == SPAN_KIND_SERVER", 19, /no such name in the context log/],
    ["set(body, 1) == 1", 0, /is an editor/],
    ["severity_text[0] == 1", 14, /cannot be indexed/],
    ["attributes[true] == 1", 11, /is not a key/],
    ['attributes["a"].b == 1', 0, /no such path/],
    ["99999999999999999999 == 1", 0, /does not fit 64 bits/],
    ["9223372036854775808 == 1", 0, /does not fit 64 bits/],
    ["0x123 == 1", 0, /two digits each/],
    ["IsRootSpan()", 0, /only in the context span/],
    ['{"a" 1} == 1', 5, /expected ":"/],
    ["{a: 1} == 1", 1, /a key in double quotes/],
    ["[1, 2 == 1", 9, /expected "\]"/],
    ["where == 1", 0, /expected a value/],
    ['1 + "a" == 1', 4, /not a number, time or duration/],
    ["nil + 1 == 1", 0, /not a number, time or duration/],
    ["-true == 1", 1, /not a number, time or duration/],
    ["[1] * 2 == 2", 0, /not a number, time or duration/],
    ['trace_id == TraceID("ab")', 20, /16 bytes or 32 hex digits/],
    ["span_id == SpanID(0x01)", 18, /8 bytes or 16 hex digits/],
    ['ExtractGrokPatterns(body, "%{INT:n:number}") == nil', 26, /no such type: number/],
    ["body == 1 and", 12, /expected a value/],
  ];
  it.each(conditions)("refuses %s at %i", (text, offset, message) => {
    const error = errorOf(() => compileCondition(text, "log"));
    expect(error.message).toMatch(message);
    expect(error.offset).toBe(offset);
  });

  it.each([
    ["Set(body, 1)", 0, /no such function: Set/],
    ["IsString(body)", 0, /is a converter/],
    ["set(body, 1)[0]", 12, /not editors/],
    ["body == 1", 0, /one call of an editor/],
    ["set(1, 2)", 4, /is not a path/],
    ['set("a", 2)', 4, /is not a path/],
    ["set(body, 1) whare true", 13, /expected the end/],
    ["set(body, 1) where", 17, /expected a value/],
    ["set(body, 1) where body", 19, /path is not a condition/],
    ['set(body, delete_key(attributes, "a"))', 10, /is an editor/],
    ["limit(attributes, body, [])", 18, /expected an integer/],
    ['limit(attributes, 1, ["a", "b"])', 18, /less than the number/],
    ["limit(attributes, 1, [body])", 22, /string in double quotes/],
    ['merge_maps(attributes, {}, "replace")', 27, /the strategy is/],
    ['replace_all_patterns(attributes, "both", "a", "b")', 33, /the mode is/],
    ["truncate_all(attributes, -1)", 25, /cannot be negative/],
    ['replace_pattern(body, "a", "b", Concat)', 32, /converter of one value/],
    ['replace_pattern(body, "a", "b", Nothing)', 32, /no such function/],
    ['set(body, ConvertCase(body, "wide"))', 28, /the case is/],
    ['set(body, Time("1", "%J"))', 20, /no such directive: %J/],
    ['set(body, Time("1", "%H", "Mars/Base"))', 26, /no such time zone/],
    ['set(body, ExtractGrokPatterns(body, "%{NOTHING}"))', 36, /no such grok pattern: NOTHING/],
    ['set(body, ParseCSV(body, "a", "::"))', 30, /single character/],
    ['append(attributes["a"])', 0, /needs value or values/],
    ['keep_keys(attributes, "a")', 22, /expected a list/],
    ['set(+attributes["a"], 1)', 5, /is not a path/],
    ["copy_metric()", 0, /only in the context metric/],
  ] as const)("refuses the statement %s at %i", (text, offset, message) => {
    const error = errorOf(() => compileStatement(text, "log"));
    expect(error.message).toMatch(message);
    expect(error.offset).toBe(offset);
  });

  it.each([
    ['atributes["a"] == 1', /did you mean "attributes"/],
    ["severity_number = 1", /did you mean "=="/],
    ["severity_numbr == 1", /did you mean "severity_number"/],
    ['resource.atributes["a"] == 1', /did you mean "resource.attributes"/],
    ['IsMach(body, "a")', /did you mean "IsMatch"/],
    ["severity_number == SEVERITY_NUMBER_EROR", /did you mean "SEVERITY_NUMBER_ERROR"/],
  ])("suggests what %s may mean", (text, suggestion) => {
    expect(errorOf(() => compileCondition(text, "log")).suggestion).toMatch(suggestion);
  });

  it("is shown with a caret under the place", () => {
    const text = 'attributes["a"] == bodi';
    expect(
      pointAt(
        text,
        errorOf(() => compileCondition(text, "log")),
      ),
    ).toBe(`${text}\n${" ".repeat(19)}^^^^`);
  });

  it("is refused quickly when it is nested or long without end", () => {
    expect(errorOf(() => compileCondition(`${"(".repeat(30_000)}true`, "log")).message).toMatch(/nested more than/);
    expect(errorOf(() => compileCondition(`1 ${"+ 1 ".repeat(15_000)}== 1`, "log")).message).toMatch(
      /more than 500 terms/,
    );
    expect(errorOf(() => compileCondition("x".repeat(70_000), "log")).message).toMatch(/longer than/);
    expect(errorOf(() => compileCondition(`${"[".repeat(200)}1`, "log")).message).toMatch(/nested more than/);
  });
});

function errorOf(run: () => unknown): OttlSyntaxError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(OttlSyntaxError);
    return error as OttlSyntaxError;
  }
  throw new Error("nothing was thrown");
}
