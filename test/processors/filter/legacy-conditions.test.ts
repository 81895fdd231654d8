import { describe, expect, it } from "vitest";
import type { Batch } from "../../../src/plugin.js";
import { filter } from "../../../src/processors/filter/component.js";
import { batchFromJson } from "../../../src/runtime/otlp/json/batch-json.js";
import { decodeTree } from "../../../src/runtime/otlp/json/tree.js";
import { owed } from "../../support/deliveries.js";
import { processing } from "../../support/processors.js";
import { attributes, int, list, logsOf, METRICS, metricsOf, text } from "../../support/telemetry/ottl.js";
import { recordsOf } from "../../support/telemetry/trees.js";

/** Results of the Collector's filter with `include` and `exclude`, recorded from contrib 0.159. */

/** Returns the names that an `exclude` with these properties drops, and an `include` keeps. */
function fitting(section: "logs" | "spans" | "metrics", properties: object, batch: Batch): unknown[] {
  const kept = namesAfter({ [section]: { include: properties } }, batch);
  const dropped = namesAfter({ [section]: { exclude: properties } }, batch);
  expect([...kept, ...dropped].sort()).toEqual(namesAfter({}, batch).sort());
  return kept;
}

function namesAfter(config: object, batch: Batch): unknown[] {
  const { source, out } = processing(filter, config, batch.signal);
  source.next(owed(batch).delivery);
  return out.flatMap((one) =>
    recordsOf(one.batch.signal, decodeTree(one.batch)).map(
      ({ record, metric }) => metric?.["name"] ?? record["name"] ?? record["eventName"],
    ),
  );
}

const LOGS = logsOf(
  { eventName: "text", attributes: attributes({ key: text("7") }) },
  { eventName: "int", attributes: attributes({ key: int(7n) }) },
  { eventName: "double", attributes: attributes({ key: { doubleValue: 7.5 } }) },
  { eventName: "huge", attributes: attributes({ key: { doubleValue: 1e21 } }) },
  { eventName: "bool", attributes: attributes({ key: { boolValue: true } }) },
  { eventName: "list", attributes: attributes({ key: list(text("7"), int(1n)) }) },
  {
    eventName: "map",
    attributes: attributes({ key: { kvlistValue: { values: attributes({ a: text("7"), n: int(1n) }) } } }),
  },
  { eventName: "bytes", attributes: attributes({ key: { bytesValue: Uint8Array.of(7) } }) },
  { eventName: "empty", attributes: attributes({ key: {} }) },
  { eventName: "other", attributes: attributes({ "key ": text("7") }) },
);

/** Spans named after the service of their resource. */
const SPANS = batchFromJson(
  "traces",
  JSON.stringify({
    resourceSpans: [
      ["shop", { stringValue: "shop" }],
      ["5", { intValue: "5" }],
      ["true", { boolValue: true }],
      ["list", { arrayValue: { values: [{ stringValue: "a" }, { intValue: "1" }] } }],
      ["bytes", { bytesValue: "AQID" }],
      ["empty text", { stringValue: "" }],
      ["empty", {}],
      ["none"],
    ].map(([name, value]) => ({
      resource: { attributes: value === undefined ? [] : [{ key: "service.name", value }] },
      scopeSpans: [{ spans: [{ name }] }],
    })),
  }),
);

describe("include and exclude", () => {
  it.each([
    ["strict", undefined, ["text", "int", "double", "huge", "bool", "list", "map", "bytes", "empty"]],
    ["strict", "7", ["text"]],
    ["strict", 7, ["int"]],
    ["strict", 7.5, ["double"]],
    ["strict", 1e21, ["huge"]],
    ["strict", true, ["bool"]],
    ["strict", ["7", 1], ["list"]],
    ["strict", ["7"], []],
    ["strict", { n: 1, a: "7" }, ["map"]],
    ["regexp", undefined, ["text", "int", "double", "huge", "bool", "list", "map", "bytes", "empty"]],
    ["regexp", "7", ["text", "int", "double"]],
    ["regexp", "^10+$", ["huge"]],
    ["regexp", ".*", ["text", "int", "double", "huge", "bool"]],
    ["regexp", "^true$", ["bool"]],
  ])("find attributes by their values: %s %j", (match_type, value, names) => {
    expect(fitting("logs", { match_type, record_attributes: [{ key: "key", value }] }, LOGS)).toEqual(names);
  });

  it.each([
    ["strict", "shop", ["shop"]],
    ["strict", "5", ["5"]],
    ["strict", "true", ["true"]],
    ["strict", '["a",1]', ["list"]],
    ["strict", "AQID", ["bytes"]],
    ["strict", "", ["empty text", "empty"]],
    ["strict", "<nil-service-name>", ["none"]],
    ["regexp", "^[s5]", ["shop", "5"]],
    ["regexp", "nil|shop", ["shop", "none"]],
    ["regexp", "^$", ["empty text", "empty"]],
    ["regexp", "", ["shop", "5", "true", "list", "bytes", "empty text", "empty", "none"]],
  ])("find services by the text of their names: %s %j", (match_type, service, names) => {
    expect(fitting("spans", { match_type, services: ["nope", service] }, SPANS)).toEqual(names);
  });

  it("find scopes without a name if no name is given", () => {
    const all = namesAfter({}, SPANS);
    expect(fitting("spans", { match_type: "strict", libraries: [{}] }, SPANS)).toEqual(all);
    expect(fitting("spans", { match_type: "strict", libraries: [{ name: "lib" }] }, SPANS)).toEqual([]);
  });

  it("take thousands of names and patterns, and values of any length", () => {
    const names = Array.from({ length: 3000 }, (_, i) => `some.longer.metric.name.${i}`);
    const metrics = metricsOf({ ...METRICS["sum"]!, name: names.at(-1)! }, { ...METRICS["gauge"]!, name: "other" });
    expect(fitting("metrics", { match_type: "strict", metric_names: names }, metrics)).toEqual([names.at(-1)]);
    const value = "x".repeat(100_000);
    const logs = logsOf({ eventName: "long", attributes: attributes({ key: text(value) }) }, { eventName: "short" });
    expect(fitting("logs", { match_type: "strict", record_attributes: [{ key: "key", value }] }, logs)).toEqual([
      "long",
    ]);
    const bodies = ["a\nb", 'c"\\', "\u0000"];
    const odd = logsOf(...bodies.map((body) => ({ eventName: body, body: text(body) })), { eventName: "other" });
    expect(fitting("logs", { match_type: "strict", bodies }, odd)).toEqual(bodies);
  });

  it("need no match_type, and accept any, if nothing is compared", () => {
    const all = namesAfter({}, LOGS);
    for (const match_type of [undefined, "expr", "STRICT"]) {
      const properties = { match_type, record_attributes: [{ key: "key" }] };
      expect(fitting("logs", properties, LOGS)).toEqual(all.slice(0, -1));
      expect(
        fitting("metrics", { match_type, resource_attributes: [{ key: "no" }] }, metricsOf(METRICS["sum"]!)),
      ).toEqual([]);
    }
    expect(namesAfter({ logs: { include: { severity_number: { match_undefined: true } } } }, LOGS)).toEqual(all);
    expect(
      namesAfter({ metrics: { exclude: { match_type: "expr", metric_names: ["s"] } } }, metricsOf(METRICS["sum"]!)),
    ).toEqual(["s"]);
  });

  it.each([
    [{ logs: { include: { bodies: ["x"] } } }, ["logs", "include", "match_type"], 'expected "strict" or "regexp"'],
    [{ logs: { exclude: { match_type: "expr", severity_texts: ["x"] } } }, ["logs", "exclude", "match_type"], '"expr"'],
    [
      { logs: { exclude: { record_attributes: [{ key: "a", value: 1 }] } } },
      ["logs", "exclude", "match_type"],
      "expected",
    ],
    [{ spans: { include: { match_type: "STRICT", libraries: [{}] } } }, ["spans", "include", "match_type"], '"STRICT"'],
    [{ spans: { include: { resources: [{ key: "a", value: "b" }] } } }, ["spans", "include", "match_type"], "expected"],
    [{ metrics: { include: { metric_names: ["x"] } } }, ["metrics", "include", "match_type"], "expected"],
    [
      { metrics: { exclude: { match_type: "expr", resource_attributes: [{ key: "a", value: "b" }] } } },
      ["metrics", "exclude", "match_type"],
      '"expr"',
    ],
    [
      { spans: { exclude: { match_type: "regexp", attributes: [{ key: "a" }, { key: "b", value: 7 }] } } },
      ["spans", "exclude", "attributes", 1, "value"],
      "expected a pattern",
    ],
    [
      { logs: { exclude: { match_type: "strict", record_attributes: [{ key: "" }] } } },
      ["logs", "exclude", "record_attributes", 0, "key"],
      "expected the key of an attribute",
    ],
    [{ logs: { exclude: { match_type: "strict", regexp: {} } } }, ["logs", "exclude"], "regexp"],
    [{ logs: { include: { match_type: "regexp", bodies: ["a", "("] } } }, ["logs", "include", "bodies", 1], "RE2"],
    [
      { spans: { include: { match_type: "regexp", libraries: [{ name: "a", version: "[" }] } } },
      ["spans", "include", "libraries", 0, "version"],
      "RE2",
    ],
  ])("refuse %j", (config, path, message) => {
    const [issue] = filter.schema.safeParse(config).error!.issues;
    expect(issue).toMatchObject({ path, message: expect.stringContaining(message) });
  });

  it.each(["0", "25", "09", "unspecified", "SEVERITY_NUMBER_INFO", "FATAL5"])("refuse the severity %s", (min) => {
    const [issue] = filter.schema.safeParse({ logs: { include: { severity_number: { min } } } }).error!.issues;
    const path = ["logs", "include", "severity_number", "min"];
    expect(issue).toMatchObject({ path, message: expect.stringContaining(`there is no severity ${min}`) });
  });
});
