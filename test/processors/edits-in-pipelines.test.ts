import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type Batch, defineExporter, defineReceiver, type Intake, SIGNALS, type Signal } from "../../src/plugin.js";
import type { Agent } from "../../src/runtime/host/agent.js";
import { decodeTree, type Tree } from "../../src/runtime/otlp/json/tree.js";
import { agentOf } from "../support/agent.js";
import { counting } from "../support/processors.js";
import {
  attributes,
  evaluate,
  int,
  logsOf,
  METRICS,
  metricsOf,
  SPAN,
  spansOf,
  text,
} from "../support/telemetry/ottl.js";
import { recordsOf } from "../support/telemetry/trees.js";

const agents: Agent[] = [];
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop(0)));
});

/** Sends a batch through the processors of a YAML text, in a complete agent. */
async function through(processors: string, batch: Batch) {
  const state: { intake?: Intake | undefined } = {};
  const sent: Batch[] = [];
  const base = { summary: "test", schema: z.strictObject({}), signals: SIGNALS };
  const components = [
    defineReceiver({
      ...base,
      type: "in",
      create: (_, { intakes }) => {
        state.intake = intakes[batch.signal];
        return { start: async () => undefined, stop: async () => undefined };
      },
    }),
    defineExporter({
      ...base,
      type: "out",
      create: () => ({
        async send(one) {
          sent.push(one);
          return undefined;
        },
      }),
    }),
  ];
  const names = [...processors.matchAll(/^ {2}(\S+):/gm)].map(([, name]) => name);
  const pipelines = `  pipelines: {${batch.signal}: {receivers: [in], processors: [${names.join(", ")}], exporters: [out]}}`;
  const yaml = `receivers: {in: }\nexporters: {out: }\nprocessors:\n${processors}\nservice:\n${pipelines}\n`;
  const { metrics, counts } = counting();
  const agent = agentOf(yaml, { components, metrics });
  agents.push(agent);
  await agent.start();
  const outcome = await state.intake!.accept(batch);
  return { outcome, sent, counts, out: sent[0] };
}

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
const BATCHES: Readonly<Record<Signal, Batch>> = { logs: LOGS, traces: SPANS, metrics: POINTS };

function namesOf(batches: readonly Batch[]): unknown[] {
  return batches.flatMap((batch) =>
    recordsOf(batch.signal, decodeTree(batch)).map(({ record, metric }) =>
      metric ? metric["name"] : (record["name"] ?? (record["body"] as Tree)["stringValue"]),
    ),
  );
}

const DROPPED: Readonly<Record<Signal, string>> = {
  logs: "otelcol_processor_filter_logs_filtered",
  traces: "otelcol_processor_filter_spans_filtered",
  metrics: "otelcol_processor_filter_datapoints_filtered",
};

const FILTERS: readonly (readonly [config: string, signal: Signal, left: readonly string[]])[] = [
  ["log_conditions: ['log.body == \"a\"']", "logs", ["b", "c"]],
  ["log_conditions: [{conditions: ['log.body == \"a\"', 'log.severity_number == 9']}]", "logs", ["c"]],
  ["log_conditions: [{context: log, error_mode: silent, conditions: ['body == \"b\"']}]", "logs", ["a", "c"]],
  ["log_conditions: ['scope.name == \"lib\"']", "logs", []],
  ["logs: {log_record: ['IsMatch(body, \"^[ab]$\")']}", "logs", ["c"]],
  ['logs: {resource: [\'attributes["service.name"] == "checkout"\']}', "logs", []],
  ["logs: {include: {match_type: strict, bodies: [b]}}", "logs", ["b"]],
  ["logs: {include: {match_type: regexp, severity_texts: ['^(DEBUG|ERROR)$']}}", "logs", ["a", "c"]],
  ["logs: {exclude: {match_type: strict, record_attributes: [{key: env, value: dev}]}}", "logs", ["b", "c"]],
  ["logs: {exclude: {match_type: strict, resource_attributes: [{key: service.name, value: checkout}]}}", "logs", []],
  ["logs: {include: {match_type: strict, severity_number: {min: INFO, match_undefined: true}}}", "logs", ["b", "c"]],
  ["trace_conditions: ['span.kind == SPAN_KIND_CLIENT']", "traces", ["x"]],
  ["trace_conditions: [{context: span, conditions: ['IsRootSpan()']}]", "traces", ["x", "y"]],
  ["traces: {span: ['name == \"x\"']}", "traces", ["y"]],
  ["traces: {resource: ['attributes[\"replicas\"] == 3']}", "traces", []],
  ["traces: {spanevent: ['name == \"first\"']}", "traces", ["x", "y"]],
  ["spans: {include: {match_type: strict, span_names: [x]}}", "traces", ["x"]],
  ["spans: {exclude: {match_type: regexp, services: ['^check'], span_names: ['[xz]']}}", "traces", ["y"]],
  ["spans: {exclude: {match_type: strict, attributes: [{key: http.status_code, value: 500}]}}", "traces", []],
  [
    "spans: {exclude: {match_type: strict, libraries: [{name: lib, version: '1.2'}], span_kinds: [SPAN_KIND_CLIENT]}}",
    "traces",
    ["x"],
  ],
  ["metric_conditions: ['metric.name == \"g\"', 'datapoint.value_int == 7']", "metrics", ["h", "e", "q"]],
  ['metric_conditions: [\'HasAttrKeyOnDatapoint("route") and metric.name == "h"\']', "metrics", ["g", "s", "e", "q"]],
  ["metrics: {metric: ['type == METRIC_DATA_TYPE_SUMMARY', 'name == \"e\"']}", "metrics", ["g", "s", "h"]],
  [
    'metrics: {datapoint: [\'attributes["route"] == "/a" and metric.type == METRIC_DATA_TYPE_GAUGE\']}',
    "metrics",
    ["s", "h", "e", "q"],
  ],
  ['metrics: {resource: [\'attributes["service.name"] != "checkout"\']}', "metrics", ["g", "s", "h", "e", "q"]],
  ["metrics: {include: {match_type: strict, metric_names: [g, s]}}", "metrics", ["g", "s"]],
  [
    "metrics: {exclude: {match_type: regexp, metric_names: ['^[gs]$'], resource_attributes: [{key: service.name, value: other}]}}",
    "metrics",
    ["h", "e", "q"],
  ],
];

describe("a filter in a pipeline", () => {
  it.each(FILTERS)("%s drops, acknowledges and counts", async (config, signal, left) => {
    const batch = BATCHES[signal];
    const { outcome, sent, counts, out } = await through(`  filter: {${config}}`, batch);
    expect(outcome).toMatchObject({ ok: true });
    expect(namesOf(sent)).toEqual(left);
    const lost = batch.count - left.length;
    expect(counts.get(`${DROPPED[signal]}{filter=filter}`) ?? 0).toBe(lost);
    if (lost === 0 && !config.includes("spanevent")) expect(out).toBe(batch);
    if (left.length === 0) expect(sent).toEqual([]);
  });

  it("counts records on which a condition fails, and passes them on", async () => {
    const { outcome, out, counts } = await through(
      "  filter: {log_conditions: ['1 / Len(log.event_name) == 1']}",
      LOGS,
    );
    expect(outcome).toMatchObject({ ok: true });
    expect(out).toBe(LOGS);
    expect(counts.get("sluice_ottl_errors")).toBe(3);
  });

  it("refuses the batch when errors propagate", async () => {
    const config = "  filter: {error_mode: propagate, log_conditions: ['1 / Len(log.event_name) == 1']}";
    const { outcome, sent } = await through(config, LOGS);
    expect(outcome).toMatchObject({ ok: false });
    expect(sent).toEqual([]);
  });
});

describe("a transform in a pipeline", () => {
  it.each([
    ["log_statements: ['set(log.attributes[\"a\"], log.body)']", "logs", 'attributes["a"]', "a"],
    [
      "log_statements: [{context: log, statements: ['set(body, \"x\")'], conditions: ['body == \"a\"']}]",
      "logs",
      "body",
      "x",
    ],
    [
      "log_statements: [{context: resource, statements: ['delete_key(attributes, \"replicas\")']}]",
      "logs",
      "Len(resource.attributes)",
      1n,
    ],
    ["log_statements: [{context: scope, statements: ['set(name, \"s\")']}]", "logs", "scope.name", "s"],
    ["trace_statements: ['set(span.name, \"n\")']", "traces", "name", "n"],
    [
      "trace_statements: [{context: spanevent, statements: ['set(span.attributes[\"e\"], name)']}]",
      "traces",
      'attributes["e"]',
      "second",
    ],
    ["metric_statements: [{context: metric, statements: ['set(unit, \"u\")']}]", "metrics", "metric.unit", "u"],
    [
      "metric_statements: [{context: datapoint, statements: ['set(value_double, value_double * 2)']}]",
      "metrics",
      "value_double",
      3,
    ],
    ["error_mode: silent, log_statements: ['set(log.body, 1 / 0)', 'set(log.body, \"y\")']", "logs", "body", "y"],
  ] as const)("%s edits", async (config, signal, expression, value) => {
    const context = { logs: "log", traces: "span", metrics: "datapoint" } as const;
    const { outcome, out } = await through(`  transform: {${config}}`, BATCHES[signal]);
    expect(outcome).toMatchObject({ ok: true });
    expect(evaluate(expression, context[signal], out)).toBe(value);
  });

  it("passes an unchanged batch as the same bytes", async () => {
    const config = "  transform: {log_statements: ['set(log.body, log.body)']}\n  filter: {log_conditions: ['false']}";
    expect((await through(config, LOGS)).out).toBe(LOGS);
  });
});

describe("attributes and resource in a pipeline", () => {
  it.each([
    ["attributes: {actions: [{key: a, action: insert, value: x}]}", "attributes", { env: "dev", n: 1n, a: "x" }],
    ["attributes: {actions: [{key: env, action: update, from_attribute: n}]}", "attributes", { env: 1n, n: 1n }],
    [
      "attributes: {actions: [{key: n, action: upsert, value: 2}, {key: env, action: delete}]}",
      "attributes",
      { n: 2n },
    ],
    ["attributes: {actions: [{pattern: '^e', action: delete}]}", "attributes", { n: 1n }],
    [
      "attributes: {actions: [{key: env, pattern: '(?P<first>.)', action: extract}]}",
      "attributes",
      { env: "dev", n: 1n, first: "d" },
    ],
    [
      "attributes: {actions: [{key: n, action: convert, converted_type: string}]}",
      "attributes",
      { env: "dev", n: "1" },
    ],
    [
      "attributes: {include: {match_type: strict, log_bodies: [b]}, actions: [{key: env, action: delete}]}",
      "attributes",
      { env: "dev", n: 1n },
    ],
    [
      "attributes: {exclude: {match_type: regexp, log_bodies: ['[bc]']}, actions: [{key: env, action: delete}]}",
      "attributes",
      { n: 1n },
    ],
    [
      "attributes: {include: {match_type: strict, resources: [{key: replicas, value: 3}]}, actions: [{key: env, action: delete}]}",
      "attributes",
      { n: 1n },
    ],
    [
      "resource: {attributes: [{key: zone, action: upsert, value: z}, {key: replicas, action: delete}]}",
      "resource.attributes",
      { "service.name": "checkout", zone: "z" },
    ],
    [
      "resource: {attributes: [{key: copy, action: insert, from_attribute: service.name}]}",
      "resource.attributes",
      { "service.name": "checkout", replicas: 3n, copy: "checkout" },
    ],
  ])("%s edits", async (config, expression, value) => {
    const { outcome, out } = await through(`  ${config}`, LOGS);
    expect(outcome).toMatchObject({ ok: true });
    expect(evaluate(expression, "log", out)).toEqual(value);
  });

  it("hashes with SHA-256", async () => {
    const { out } = await through("  attributes: {actions: [{key: env, action: hash}]}", LOGS);
    expect(evaluate('attributes["env"]', "log", out)).toBe(evaluate('SHA256("dev")'));
  });
});
