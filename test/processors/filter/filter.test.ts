import { describe, expect, it } from "vitest";
import type { Batch, ProcessorContext, Signal } from "../../../src/plugin.js";
import { filter } from "../../../src/processors/filter/component.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import type { Metrics } from "../../../src/runtime/contract/observability.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { batchFromJson, batchToJson } from "../../../src/runtime/otlp/json/batch-json.js";
import { decodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { feed, owed } from "../../support/deliveries.js";
import { attributes, int, logsOf, METRICS, metricsOf, SPAN, spansOf, text } from "../../support/telemetry/ottl.js";
import { recordsOf } from "../../support/telemetry/trees.js";

const LOGS = logsOf(
  {
    body: text("a"),
    severityNumber: 5,
    severityText: "DEBUG",
    attributes: attributes({ env: text("dev"), n: int(1n) }),
  },
  { body: text("b"), severityNumber: 9, severityText: "INFO", attributes: attributes({ env: text("prod") }) },
  { body: text("c"), severityText: "ERROR" },
);
const SPANS = spansOf({ ...SPAN, name: "x" }, { ...SPAN, name: "y", kind: 3, events: [] });
const POINTS = metricsOf(...Object.values(METRICS));

function contextFor(signal: Signal, metrics: Metrics = noMetrics): ProcessorContext {
  return {
    id: "filter",
    kind: "processor",
    signal,
    pipeline: signal,
    logger: silentLogger,
    metrics,
    clock: systemClock,
    random: Math.random,
  };
}

function run(config: object, batch: Batch, metrics?: Metrics) {
  const { source, out } = feed(filter.create(filter.schema.parse(config), contextFor(batch.signal, metrics)));
  const { delivery, outcomes } = owed(batch);
  source.next(delivery);
  return { out: out.map((one) => one.batch), outcomes };
}

function left(config: object, batch: Batch): unknown[] {
  return run(config, batch).out.flatMap((one) =>
    recordsOf(one.signal, decodeTree(one)).map(({ record, metric }) =>
      metric ? metric["name"] : (record["name"] ?? (record["body"] as Tree)["stringValue"]),
    ),
  );
}

describe("filter", () => {
  it.each([
    ["log_conditions", { log_conditions: ['log.body == "a"'] }, ["b", "c"]],
    [
      "log_conditions in a group",
      { log_conditions: [{ context: "log", conditions: ['body == "a"', 'body == "b"'] }] },
      ["c"],
    ],
    [
      "an inferred context",
      { log_conditions: [{ conditions: ['resource.attributes["service.name"] == "checkout"'] }] },
      [],
    ],
    [
      "logs.log_record",
      { logs: { log_record: ["severity_number < SEVERITY_NUMBER_INFO", 'IsMatch(body, "^b")'] } },
      [],
    ],
    ["logs.resource", { logs: { resource: ['attributes["service.name"] == "other"'] } }, ["a", "b", "c"]],
    ["logs.exclude without a criterion", { logs: { exclude: { match_type: "strict" } } }, ["a", "b", "c"]],
    ["logs.include without a criterion", { logs: { include: {} } }, ["a", "b", "c"]],
    ["logs.exclude, strict", { logs: { exclude: { match_type: "strict", bodies: ["a"] } } }, ["b", "c"]],
    [
      "logs.exclude, regexp",
      { logs: { exclude: { match_type: "regexp", severity_texts: ["^(DEBUG|INFO)$"] } } },
      ["c"],
    ],
    [
      "logs.include",
      { logs: { include: { match_type: "strict", record_attributes: [{ key: "env", value: "prod" }] } } },
      ["b"],
    ],
    [
      "an attribute of any value",
      { logs: { include: { match_type: "strict", record_attributes: [{ key: "env" }] } } },
      ["a", "b"],
    ],
    [
      "an attribute that is a number",
      { logs: { include: { match_type: "strict", record_attributes: [{ key: "n", value: 1 }] } } },
      ["a"],
    ],
    [
      "logs.include.severity_number",
      { logs: { include: { match_type: "strict", severity_number: { min: "INFO" } } } },
      ["b"],
    ],
    [
      "undefined severities",
      { logs: { include: { match_type: "strict", severity_number: { min: "INFO", match_undefined: true } } } },
      ["b", "c"],
    ],
    [
      "include and exclude",
      {
        logs: { include: { match_type: "regexp", bodies: ["[ab]"] }, exclude: { match_type: "strict", bodies: ["a"] } },
      },
      ["b"],
    ],
    ["severities by number", { logs: { include: { match_type: "strict", severity_number: { min: 9 } } } }, ["b"]],
    ["severities of any kind", { logs: { exclude: { match_type: "strict", severity_number: {} } } }, ["c"]],
    ["nothing", {}, ["a", "b", "c"]],
    ["empty sections", { logs: null, log_conditions: [] }, ["a", "b", "c"]],
  ])("drops logs by %s", (_, config, names) => expect(left(config, LOGS)).toEqual(names));

  it.each([
    ["trace_conditions", { trace_conditions: ['span.name == "x"'] }, ["y"]],
    ["traces.span", { traces: { span: ["kind == SPAN_KIND_CLIENT"] } }, ["x"]],
    [
      "spans.exclude",
      { spans: { exclude: { match_type: "strict", span_names: ["y"], services: ["checkout"] } } },
      ["x"],
    ],
    [
      "spans.include",
      {
        spans: {
          include: { match_type: "regexp", span_kinds: ["SERVER$"], libraries: [{ name: "lib", version: "1.2" }] },
        },
      },
      ["x"],
    ],
  ])("drops spans by %s", (_, config, names) => expect(left(config, SPANS)).toEqual(names));

  it("drops span events and keeps their spans", () => {
    const [batch] = run(
      { trace_conditions: ['spanevent.name == "first"'], traces: { spanevent: ['name == "second"'] } },
      SPANS,
    ).out;
    expect(recordsOf("traces", decodeTree(batch!)).map(({ record }) => record["events"] ?? [])).toEqual([[], []]);
  });

  it.each([
    [
      "metric_conditions",
      { metric_conditions: ['metric.name == "g" or metric.type == METRIC_DATA_TYPE_SUM'] },
      ["h", "e", "q"],
    ],
    ["metrics.metric", { metrics: { metric: ['IsMatch(name, "[gs]")'] } }, ["h", "e", "q"]],
    [
      "metrics.datapoint",
      { metrics: { datapoint: ["metric.type == METRIC_DATA_TYPE_GAUGE and value_double > 1.0"] } },
      ["s", "h", "e", "q"],
    ],
    ["metrics.exclude", { metrics: { exclude: { match_type: "regexp", metric_names: ["^[gshe]$"] } } }, ["q"]],
    ["metrics.include", { metrics: { include: { match_type: "strict", metric_names: ["g", "q"] } } }, ["g", "q"]],
    ["HasAttrOnDatapoint", { metrics: { metric: ['HasAttrOnDatapoint("route", "/a")'] } }, []],
    ["HasAttrKeyOnDatapoint", { metrics: { metric: ['HasAttrKeyOnDatapoint("missing")'] } }, ["g", "s", "h", "e", "q"]],
    [
      "metrics.include, expr",
      {
        metrics: {
          include: { match_type: "expr", expressions: ['MetricName in ["g", "s"]', 'MetricType == "Summary"'] },
        },
      },
      ["g", "s", "q"],
    ],
    [
      "metrics.exclude, expr",
      {
        metrics: {
          exclude: {
            match_type: "expr",
            expressions: ['HasLabel("route") && Label("route") == "/a" && MetricName != "h"'],
          },
        },
      },
      ["h"],
    ],
    [
      "metrics.exclude, expr that nothing fits",
      { metrics: { exclude: { match_type: "expr", expressions: ['HasLabel("nope") or Label("nope") != ""'] } } },
      ["g", "s", "h", "e", "q"],
    ],
    [
      "metrics.exclude, a resource with all its metrics",
      {
        metrics: {
          exclude: {
            match_type: "strict",
            metric_names: ["g"],
            resource_attributes: [{ key: "service.name", value: "checkout" }],
          },
        },
      },
      [],
    ],
  ])("drops metrics by %s", (_, config, names) => expect(left(config, POINTS)).toEqual(names));

  it("acknowledges a batch that is dropped completely, and counts what it drops", () => {
    const counted: Record<string, number> = {};
    const metrics: Metrics = {
      ...noMetrics,
      counter: (name) => ({ add: (n) => void (counted[name] = (counted[name] ?? 0) + n) }),
    };
    const { out, outcomes } = run({ log_conditions: ["log.body != nil"] }, LOGS, metrics);
    expect(out).toEqual([]);
    expect(outcomes).toMatchObject([{ ok: true }]);
    expect(counted).toMatchObject({ otelcol_processor_filter_logs_filtered: 3 });
  });

  it.each([
    ["strict", "5", [undefined, "x"]],
    ["strict", "", [5n, "x"]],
    ["regexp", "^$|x", [5n]],
  ] as const)("takes bodies for text where they are excluded: %s %j", (match_type, body, kept) => {
    const bodies = logsOf({ body: int(5n) }, {}, { body: text("x") });
    const [left] = run({ logs: { exclude: { match_type, bodies: [body] } } }, bodies).out;
    const values = recordsOf("logs", decodeTree(left!)).map(({ record }) => record["body"] as Tree | undefined);
    expect(values.map((value) => value?.["intValue"] ?? value?.["stringValue"])).toEqual(kept);
  });

  it("refuses unknown span kinds, unless they are patterns", () => {
    const kinds = (match_type: string) => ({ spans: { include: { match_type, span_kinds: ["Server", ".*CLIENT"] } } });
    expect(() => filter.schema.parse(kinds("strict"))).toThrow("there is no span kind Server");
    expect(left(kinds("regexp"), SPANS)).toEqual(["y"]);
  });

  it("drops empty resources, scopes and metrics, but no span without events", () => {
    const gauge = (name: string, values: readonly number[]) => ({
      name,
      gauge: { dataPoints: values.map((asInt) => ({ asInt })) },
    });
    const metrics = batchFromJson(
      "metrics",
      JSON.stringify({
        resourceMetrics: [
          {},
          { scopeMetrics: [{}, { metrics: [gauge("none", []), gauge("one", [1]), { name: "untyped" }] }] },
        ],
      }),
    );
    const namesAfter = (config: object) =>
      run(config, metrics).out.map((batch) => JSON.parse(batchToJson(batch)).resourceMetrics) as {
        scopeMetrics?: { metrics?: { name: string }[] }[];
      }[][];
    const named = (...names: string[]) => [
      [{ scopeMetrics: [{ metrics: names.map((name) => expect.objectContaining({ name })) }] }],
    ];
    expect(namesAfter({ metric_conditions: ['datapoint.attributes["x"] == 1'] })).toEqual(named("one", "untyped"));
    expect(namesAfter({ metric_conditions: ['metric.name == "x"'] })).toEqual(named("none", "one", "untyped"));
    expect(namesAfter({ metric_conditions: ['metric.name != "x"'] })).toEqual([]);
    expect(run({ log_conditions: ["log.body == nil"] }, batchFromJson("logs", '{"resourceLogs":[{}]}')).out).toEqual(
      [],
    );
    const span = batchFromJson("traces", '{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"quiet"}]}]}]}');
    expect(run({ traces: { spanevent: ['name == "x"'] } }, span).out[0]).toBe(span);
  });

  it("passes the same batch on when nothing is dropped", () => {
    expect(run({ log_conditions: ['log.body == "z"'] }, LOGS).out[0]).toBe(LOGS);
  });

  it("keeps records on which a condition fails, or refuses the batch when errors propagate", () => {
    const conditions = ["Int(log.body) + 1 == 2"];
    expect(run({ log_conditions: conditions }, LOGS).out[0]).toBe(LOGS);
    expect(run({ error_mode: "silent", log_conditions: conditions }, LOGS).out[0]).toBe(LOGS);
    const { out, outcomes } = run({ error_mode: "propagate", log_conditions: ["false", ...conditions] }, LOGS);
    expect(out).toEqual([]);
    expect(outcomes).toMatchObject([
      { ok: false, refusal: { message: expect.stringContaining(`OTTL expression 2 (${conditions[0]}) failed: `) } },
    ]);
  });

  it.each([
    [{ log_conditions: ["log.bodi == 1"] }, ["log_conditions", 0], { offset: 0, length: 8 }],
    [{ log_conditions: [{ conditions: ["true", "1 == 'a'"] }] }, ["log_conditions", 0, "conditions", 1], { offset: 5 }],
    [{ log_conditions: [{ context: "span", conditions: ["true"] }] }, ["log_conditions", 0, "context"], undefined],
    [
      { log_conditions: ["severity_numbr > 5"] },
      ["log_conditions", 0],
      { suggestion: 'did you mean "severity_number"?' },
    ],
    [{ metrics: { metric: ["nam == 1"] } }, ["metrics", "metric", 0], { suggestion: 'did you mean "name"?' }],
    [{ traces: { span: ["("] } }, ["traces", "span", 0], { offset: 0 }],
    [{ log_conditions: ['attributes["a"] == 1'] }, ["log_conditions", 0], { offset: 0, length: 10 }],
    [{ metric_conditions: ['IsMatch(name, "a")'] }, ["metric_conditions", 0], { offset: 8, length: 4 }],
  ])("refuses %j at its place", (config, path, params) => {
    const [issue] = filter.schema.safeParse(config).error!.issues;
    expect(issue).toMatchObject({ path, ...(params ? { params } : {}) });
  });

  it("uses the record's context where no path names one", () => {
    const [issue] = filter.schema.safeParse({ trace_conditions: ["nowhere == 5"] }).error!.issues;
    expect(issue?.message).toBe("no such path in the context span: nowhere");
  });
});
