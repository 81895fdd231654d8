import { describe, expect, it } from "vitest";
import { readRecords } from "../../../../src/plugin.js";
import type { ContextName } from "../../../../src/runtime/ottl/paths/context.js";
import { PATHS } from "../../../../src/runtime/ottl/paths/paths.js";
import { OttlMessages, OttlTime } from "../../../../src/runtime/ottl/values/value.js";
import {
  batchFor,
  edited,
  evaluate,
  evaluateAfter,
  logsOf,
  METRICS,
  metricsOf,
  SPAN,
  spansOf,
} from "../../../support/telemetry/ottl.js";

const ids = (from: number, size: number) => Uint8Array.from({ length: size }, (_, i) => i + from);

/** Path, what it gives, what it is set to (nothing: it cannot be set, or only to itself). */
type Row = readonly [path: string, value: unknown, setTo?: string, then?: unknown];

const RESOURCE_ROWS: readonly Row[] = [
  ['resource.attributes["service.name"]', "checkout", '"other"', "other"],
  ["resource.attributes", { "service.name": "checkout", replicas: 3n }, '{"a": 1}', { a: 1n }],
  ["resource.dropped_attributes_count", 1n, "9", 9n],
];
const SCOPE_ROWS: readonly Row[] = [
  ["scope.name", "lib", '"x"', "x"],
  ["scope.version", "1.2", '"x"', "x"],
  ['scope.attributes["scope.key"]', "scope value", "true", true],
  ["scope.attributes", { "scope.key": "scope value" }, '{"a": [1]}', { a: [1n] }],
  ["scope.dropped_attributes_count", 2n, "9", 9n],
];

const ROWS: Readonly<Record<ContextName, readonly Row[]>> = {
  resource: [
    ['attributes["service.name"]', "checkout", '"other"', "other"],
    ['attributes["missing"]', null, "7", 7n],
    ["dropped_attributes_count", 1n, "2", 2n],
    ["schema_url", "resource-schema", '"x"', "x"],
    ["cache", {}, '{"a": 1}'],
    ...RESOURCE_ROWS,
  ],
  scope: [
    ["name", "lib", '"x"', "x"],
    ["version", "1.2", '"x"', "x"],
    ['attributes["scope.key"]', "scope value", "1.5", 1.5],
    ["attributes", { "scope.key": "scope value" }, "{}", {}],
    ["dropped_attributes_count", 2n, "3", 3n],
    ["schema_url", "scope-schema", '"x"', "x"],
    ...RESOURCE_ROWS,
    ...SCOPE_ROWS,
  ],
  log: [
    ["time", new OttlTime(1_700_000_000_123_456_789n), "Unix(1)", new OttlTime(1_000_000_000n)],
    ["time_unix_nano", 1_700_000_000_123_456_789n, "5", 5n],
    ["observed_time", new OttlTime(1_700_000_001_000_000_000n), "Unix(2)", new OttlTime(2_000_000_000n)],
    ["observed_time_unix_nano", 1_700_000_001_000_000_000n, "6", 6n],
    ["severity_number", 9n, "SEVERITY_NUMBER_ERROR", 17n],
    ["severity_text", "INFO", '"ERROR"', "ERROR"],
    ["body", { user: { id: 7n, tags: ["a", "b"] }, message: "hello" }, '"plain"', "plain"],
    ['body["message"]', "hello", '"bye"', "bye"],
    ['body["user"]["id"]', 7n, "8", 8n],
    ['body["user"]["tags"][1]', "b", '"z"', "z"],
    ['body["new"]["deep"]', null, '"made"', "made"],
    ["body.string", '{"message":"hello","user":{"id":7,"tags":["a","b"]}}', '"s"', "s"],
    ['attributes["text"]', "some text", '"new"', "new"],
    ['attributes["int"]', 42n, "43", 43n],
    ['attributes["big"]', 9_007_199_254_740_993n, "-9007199254740993", -9_007_199_254_740_993n],
    ['attributes["double"]', 1.5, "2.0", 2],
    ['attributes["yes"]', true, "false", false],
    ['attributes["bytes"]', Uint8Array.of(1, 2, 255), "0x0a0b", Uint8Array.of(10, 11)],
    ['attributes["none"]', null, '"some"', "some"],
    ['attributes["missing"]', null, '"some"', "some"],
    ['attributes["map"]["inner"]["deep"]', "found", '"other"', "other"],
    ['attributes["map"]["new"]', null, "1", 1n],
    ['attributes["list"][1]', 1n, '"one"', "one"],
    ['attributes["fresh"]["a"][2]', null, '"x"', "x"],
    ['attributes[Concat(["te", "xt"], "")]', "some text", '"n"', "n"],
    ['attributes[attributes["text"]]', null, '"n"', "n"],
    ["dropped_attributes_count", 4n, "5", 5n],
    ["flags", 1n, "0", 0n],
    ["trace_id", ids(1, 16), "TraceID(0x0102030405060708090a0b0c0d0e0f11)", Uint8Array.of(...ids(1, 15), 17)],
    ["trace_id.string", "0102030405060708090a0b0c0d0e0f10", `"${"ab".repeat(16)}"`, "ab".repeat(16)],
    ["span_id", ids(1, 8), "SpanID(0x0000000000000001)", Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1)],
    ["span_id.string", "0102030405060708", `"${"cd".repeat(8)}"`, "cd".repeat(8)],
    ["event_name", "login", '"logout"', "logout"],
    ['cache["a"]', null],
    ["resource.schema_url", "resource-schema", '"x"', "x"],
    ["scope.schema_url", "scope-schema", '"x"', "x"],
    ["instrumentation_scope.name", "lib", '"x"', "x"],
    ["instrumentation_scope.attributes", { "scope.key": "scope value" }, '{"a": [1]}', { a: [1n] }],
    ...RESOURCE_ROWS,
    ...SCOPE_ROWS,
  ],
  span: [
    ["trace_id", ids(1, 16), "TraceID(0x0102030405060708090a0b0c0d0e0f11)", Uint8Array.of(...ids(1, 15), 17)],
    ["trace_id.string", "0102030405060708090a0b0c0d0e0f10", `"${"ab".repeat(16)}"`, "ab".repeat(16)],
    ["span_id", ids(1, 8), "SpanID(0x0000000000000001)", Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1)],
    ["span_id.string", "0102030405060708", `"${"cd".repeat(8)}"`, "cd".repeat(8)],
    ["parent_span_id", ids(9, 8), "SpanID(0x0000000000000001)", Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1)],
    ["parent_span_id.string", "090a0b0c0d0e0f10", `"${"cd".repeat(8)}"`, "cd".repeat(8)],
    ["trace_state", "a=1,b=2", '"c=3"', "c=3"],
    ['trace_state["b"]', "2", '"9"', "9"],
    ['trace_state["missing"]', "", '"9"', "9"],
    ["name", "GET /health", '"x"', "x"],
    ["kind", 2n, "SPAN_KIND_CLIENT", 3n],
    ["kind.string", "Server", '"Client"', "Client"],
    ["kind.deprecated_string", "SPAN_KIND_SERVER", '"SPAN_KIND_CLIENT"', "SPAN_KIND_CLIENT"],
    ["start_time", new OttlTime(1000n), "Unix(1)", new OttlTime(1_000_000_000n)],
    ["start_time_unix_nano", 1000n, "7", 7n],
    ["end_time", new OttlTime(5000n), "Unix(1)", new OttlTime(1_000_000_000n)],
    ["end_time_unix_nano", 5000n, "8", 8n],
    ['attributes["http.status_code"]', 500n, '"x"', "x"],
    ["attributes", { "http.status_code": 500n }, '{"b": true}', { b: true }],
    ["dropped_attributes_count", 1n, "0", 0n],
    ["dropped_events_count", 5n, "0", 0n],
    ["dropped_links_count", 6n, "0", 0n],
    ["status.code", 2n, "STATUS_CODE_OK", 1n],
    ["status.message", "boom", '"fine"', "fine"],
    ["flags", 257n, "1", 1n],
    ["Len(events)", 2n],
    ["Len(links)", 1n],
    ...RESOURCE_ROWS,
    ...SCOPE_ROWS,
  ],
  spanevent: [
    ["name", "first", '"x"', "x"],
    ["time", new OttlTime(2000n), "Unix(1)", new OttlTime(1_000_000_000n)],
    ["time_unix_nano", 2000n, "7", 7n],
    ['attributes["n"]', 1n, '"x"', "x"],
    ["dropped_attributes_count", 3n, "0", 0n],
    ["event_index", 0n],
    ["span.name", "GET /health", '"x"', "x"],
    ['span.attributes["http.status_code"]', 500n, "200", 200n],
    ["span.status.code", 2n, "1", 1n],
    ["span.kind.string", "Server", '"Client"', "Client"],
    ...RESOURCE_ROWS,
    ...SCOPE_ROWS,
  ],
  metric: [
    ["name", "s", '"x"', "x"],
    ["description", "", '"x"', "x"],
    ["unit", "1", '"By"', "By"],
    ["type", 2n],
    ["aggregation_temporality", 2n, "AGGREGATION_TEMPORALITY_DELTA", 1n],
    ["is_monotonic", true, "false", false],
    ['metadata["origin"]', "prometheus", '"x"', "x"],
    ["metadata", { origin: "prometheus" }, "{}", {}],
    ["Len(data_points)", 1n],
    ...RESOURCE_ROWS,
    ...SCOPE_ROWS,
  ],
  exemplar: [
    ['filtered_attributes["user"]', "ada", '"bob"', "bob"],
    ["filtered_attributes", { user: "ada" }, '{"x": 1}', { x: 1n }],
    ["time", new OttlTime(300n), "Unix(1)", new OttlTime(1_000_000_000n)],
    ["time_unix_nano", 300n, "7", 7n],
    ["int_value", 5n, "8", 8n],
    ["double_value", 0],
    ["trace_id.string", "00".repeat(16), '"0102030405060708090a0b0c0d0e0f10"', "0102030405060708090a0b0c0d0e0f10"],
    ["span_id.string", "00".repeat(8), '"0102030405060708"', "0102030405060708"],
    ["cache", {}],
    ["metric.name", "s", '"x"', "x"],
    ["datapoint.value_int", 7n, "8", 8n],
    ['datapoint.attributes["route"]', "/a", '"/b"', "/b"],
    ...RESOURCE_ROWS,
    ...SCOPE_ROWS,
  ],
  datapoint: [
    ['attributes["route"]', "/a", '"/b"', "/b"],
    ["attributes", { route: "/a" }, '{"x": 1}', { x: 1n }],
    ["time", new OttlTime(200n), "Unix(1)", new OttlTime(1_000_000_000n)],
    ["time_unix_nano", 200n, "7", 7n],
    ["start_time", new OttlTime(100n), "Unix(1)", new OttlTime(1_000_000_000n)],
    ["start_time_unix_nano", 100n, "7", 7n],
    ["value_int", 7n, "8", 8n],
    ["value_double", 0, "1.25", 1.25],
    ["flags", 1n, "FLAG_NONE", 0n],
    ["count", null],
    ["sum", null],
    ["bucket_counts", null],
    ["scale", null],
    ["positive.offset", null],
    ["metric.name", "s", '"x"', "x"],
    ["metric.type", 2n],
    ["metric.is_monotonic", true, "false", false],
    ["metric.aggregation_temporality", 2n, "1", 1n],
    ['metric.metadata["origin"]', "prometheus", '"x"', "x"],
    ...RESOURCE_ROWS,
    ...SCOPE_ROWS,
  ],
};

const POINT_ROWS: Readonly<Record<string, readonly Row[]>> = {
  gauge: [
    ["value_double", 1.5, "2.5", 2.5],
    ["value_int", 0n, "3", 3n],
    ["metric.aggregation_temporality", null, "1", null],
    ["metric.is_monotonic", null, "true", null],
    ["metric.type", 1n],
  ],
  histogram: [
    ["count", 6n, "7", 7n],
    ["sum", 12.5, "1.0", 1],
    ["bucket_counts", [1n, 2n, 3n], "[4, 5]", [4n, 5n]],
    ["bucket_counts[1]", 2n],
    ["explicit_bounds", [1, 2], "[0.5, 1.5]", [0.5, 1.5]],
    ["value_int", null],
    ["value_double", null],
    ["metric.type", 3n],
    ["metric.aggregation_temporality", 1n, "2", 2n],
  ],
  exponentialHistogram: [
    ["count", 4n, "7", 7n],
    ["scale", -1n, "-2", -2n],
    ["zero_count", 1n, "2", 2n],
    ["positive.offset", 2n, "3", 3n],
    ["positive.bucket_counts", [1n, 2n], "[9]", [9n]],
    ["negative.offset", -3n, "-4", -4n],
    ["negative.bucket_counts", [0n], "[]", []],
    ["metric.type", 4n],
  ],
  summary: [
    ["count", 2n, "3", 3n],
    ["sum", 5, "6.0", 6],
    ["Len(quantile_values)", 1n],
    ["metric.type", 5n],
    ['attributes["route"]', "/a", '"/b"', "/b"],
  ],
};

/** Reading these converts: to set them to what they give is a change. */
const CONVERTING = new Set(["body.string", 'trace_state["missing"]', "value_double", "value_int", "cache"]);

function check(rows: readonly Row[], context: ContextName, batch = batchFor(context)): void {
  const settable = rows.filter(([path, , setTo]) => setTo !== undefined && path !== "cache");
  it.each(rows.map((row) => [...row]))("reads %s", (path, value) => {
    expect(evaluate(path as string, context, batch)).toStrictEqual(value);
  });
  it.each(settable.map((row) => [...row]))("sets %s", (path, before, setTo, then) => {
    const changed = edited(`set(${path}, ${setTo})`, context, batch);
    expect(evaluate(path as string, context, changed)).toStrictEqual(then);
    if (before !== then) expect(changed).not.toBe(batch);
  });
  it.each(settable.filter(([path]) => !CONVERTING.has(path)).map((row) => [...row]))(
    "leaves the batch alone when %s is set to what it is",
    (path) => {
      expect(edited(`set(${path}, ${path})`, context, batch)).toBe(batch);
    },
  );
}

describe.each(Object.entries(ROWS))("the paths of the context %s", (context, rows) => {
  check(rows, context as ContextName);

  it("can all be read with and without the name of the context", () => {
    for (const path of Object.keys(PATHS[context as ContextName])) {
      if (!path.endsWith("trace_state")) expect(() => evaluate(path, context as ContextName)).not.toThrow();
    }
    const own = Object.keys(PATHS[context as ContextName]).filter((path) => path.startsWith(`${context}.`));
    expect(own.length).toBeGreaterThan(3);
  });

  it("have a temporary cache for what later statements need", () => {
    const batch = batchFor(context as ContextName);
    const target =
      context === "metric" ? "name" : context === "exemplar" ? 'filtered_attributes["out"]' : 'attributes["out"]';
    const statements = ['set(cache["a"]["b"], "kept")', `set(${target}, cache["a"]["b"])`];
    expect(evaluateAfter(statements, target, context as ContextName, batch)).toBe("kept");
  });
});

describe.each(Object.entries(POINT_ROWS))("the paths of the points of a metric of type %s", (type, rows) => {
  check(rows, "datapoint", metricsOf(METRICS[type]!));
});

describe("a path", () => {
  it("shares a change to a resource with every record of it", () => {
    const batch = edited('set(resource.attributes["x"], attributes["text"])');
    expect(evaluate('resource.attributes["x"]', "log", batch)).toBe("some text");
    expect(evaluate('attributes["x"]', "resource", batch)).toBe("some text");
  });

  it("passes messages on as a whole", () => {
    expect(evaluate("events", "span")).toBeInstanceOf(OttlMessages);
    expect(evaluateAfter("set(events, events)", "Len(events)", "span")).toBe(2n);
    expect(evaluateAfter("set(links, links)", "Len(links)", "span")).toBe(1n);
    expect(evaluateAfter("set(status, status)", "status.code", "span")).toBe(2n);
  });

  it("gives ids of zeros where there are none", () => {
    const batch = batchFor("log", {});
    expect(evaluate("trace_id", "log", batch)).toStrictEqual(new Uint8Array(16));
    expect(evaluate("span_id.string", "log", batch)).toBe("0000000000000000");
  });

  it("keeps the other entries of a trace state", () => {
    expect(evaluateAfter('set(trace_state["b"], "9")', "trace_state", "span")).toBe("b=9,a=1");
  });

  it.each(["=x", "novalue", "a=1,a=2", "UPPER=1", "a=b=c", `a=${"x".repeat(300)}`])(
    "sees no entry in the trace state %s, which is none, and leaves it alone",
    (state) => {
      const batch = spansOf({ ...SPAN, traceState: state });
      expect(evaluate('trace_state["a"]', "span", batch)).toBeNull();
      expect(evaluateAfter('set(trace_state["n"], "z")', "trace_state", "span", batch)).toBe(state);
    },
  );

  it("writes no entry that a trace state cannot have", () => {
    for (const entry of ['[""], "x"', '["b"], ""', '["Upper"], "x"', '["c"], "a,b"'])
      expect(evaluateAfter(`set(trace_state${entry})`, "trace_state", "span")).toBe("a=1,b=2");
  });

  it.each([
    ['body["a"]', "log", { body: { stringValue: "text" } }, /cannot be indexed/],
    ['body["a"]', "log", {}, /cannot be indexed/],
    ['attributes["text"]["a"]', "log", undefined, /string cannot be indexed/],
    ['attributes["list"][9]', "log", undefined, /out of bounds/],
    ['attributes["list"]["a"]', "log", undefined, /indexed by an int/],
    ['attributes["map"][0]', "log", undefined, /indexed by a string/],
    ['attributes["none"]["a"]', "log", undefined, /nil cannot be indexed/],
    ["attributes[1]", "log", undefined, /indexed by a string/],
  ] as const)("refuses %s of a record that does not have it so", (path, context, thing, message) => {
    expect(() => evaluate(path, context, batchFor(context, thing))).toThrow(message);
  });

  it.each([
    ['set(severity_number, "text")', "log", /expected int, got string/],
    ["set(severity_text, 1)", "log", /expected string, got int/],
    ["set(time, 1)", "log", /expected time, got int/],
    ['set(trace_id, "text")', "log", /expected an id of 16 bytes/],
    ['set(trace_id.string, "zz")', "log", /32 hex digits/],
    ["set(attributes, 1)", "log", /expected a map, got int/],
    ['set(attributes["a"], Now())', "log", /time cannot be stored/],
    ['set(attributes["a"], [Duration("1s")])', "log", /duration cannot be stored/],
    ['set(kind.string, "Nobody")', "span", /expected a span kind/],
    ['set(events, "x")', "span", /expected events, got string/],
    ["set(name, true)", "metric", /expected string, got bool/],
    ["set(is_monotonic, 1)", "metric", /expected bool, got int/],
    ["set(value_int, 1.5)", "datapoint", /expected int, got double/],
    ["set(count, 1)", "datapoint", /has no count/],
    ["set(bucket_counts, [1])", "datapoint", /has no bucketCounts/],
    ["set(positive.offset, 1)", "datapoint", /has no positive buckets/],
    ["set(event_index, 1)", "spanevent", /cannot be set/],
  ] as const)("refuses %s", (statement, context, message) => {
    expect(() => edited(statement, context)).toThrow(message);
  });
});

describe("a body that several statements read and write", () => {
  const read = 'set(attributes["read"], body)';

  it.each([
    ["was read before", ['set(body, "new")', read], "new"],
    ["is replaced after it was read", [read, 'set(body, "é")', read, 'set(body, "last")', read], "last"],
    ["is the same as another record's", ['replace_pattern(body, "^", "x")', read], undefined],
    [
      "has half a pair of surrogates",
      [
        'set(body, ParseJSON("{\\"a\\":\\"\\\\ud800\\"}")["a"])',
        'set(attributes["read"], "\ufffd") where body == "\ufffd"',
      ],
      "\ufffd",
    ],
    ["is no text any more", [read, "set(body, 5)", read], 5n],
  ])("is what it is after them, when it %s", (_, statements, expected) => {
    const batch = logsOf(
      { body: { stringValue: "one" } },
      { body: { stringValue: "one" } },
      { body: { stringValue: "two" } },
    );
    const bodies: unknown[] = [];
    const reads: unknown[] = [];
    readRecords(edited(statements, "log", batch), (record) => {
      if (record.signal !== "logs") return;
      bodies.push(record.body);
      reads.push(record.attributes.get("read"));
    });
    if (expected === undefined) expect(reads).toEqual(["xone", "xone", "xtwo"]);
    else
      expect(reads.map((one) => (typeof one === "number" ? BigInt(one) : one))).toEqual([expected, expected, expected]);
    if (typeof expected === "string") expect(bodies).toEqual(reads);
  });
});
