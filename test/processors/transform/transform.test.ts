import { describe, expect, it } from "vitest";
import type { Batch, Origin, ProcessorContext } from "../../../src/plugin.js";
import { transform } from "../../../src/processors/transform/component.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { decodeTree } from "../../../src/runtime/otlp/json/tree.js";
import { feed, owed } from "../../support/deliveries.js";
import { batchFor, evaluate, LOG, logsOf } from "../../support/telemetry/ottl.js";
import { recordsOf } from "../../support/telemetry/trees.js";

function run(config: object, batch: Batch, origin: Partial<Origin> = {}) {
  const context: ProcessorContext = {
    id: "transform",
    kind: "processor",
    signal: batch.signal,
    pipeline: "p",
    logger: silentLogger,
    metrics: noMetrics,
    clock: systemClock,
    random: Math.random,
  };
  const { source, out } = feed(transform.create(transform.schema.parse(config), context));
  const { delivery, outcomes } = owed(batch, origin);
  source.next(delivery);
  return { batch: out[0]?.batch, outcomes };
}

const BATCH = batchFor("log", LOG);

describe("transform", () => {
  it("executes groups of statements in their contexts, in order", () => {
    const config = {
      log_statements: [
        { context: "resource", statements: ['set(attributes["env"], "prod")'] },
        {
          context: "log",
          conditions: ['resource.attributes["env"] == "prod"'],
          statements: ['set(body, "one")', 'set(attributes["b"], body)'],
        },
        { context: "log", conditions: ["false"], statements: ['set(body, "two")'] },
      ],
    };
    const { batch } = run(config, BATCH);
    expect(evaluate('[body, attributes["b"], resource.attributes["env"]]', "log", batch)).toEqual([
      "one",
      "one",
      "prod",
    ]);
  });

  it("reads the metadata of the request that a batch came with", () => {
    const metadata = new Map([
      ["x-tenant", ["blue", "green"]],
      ["auth.subject", ["ada"]],
    ]);
    const config = {
      log_statements: [
        'set(log.attributes["tenant"], otelcol.client.metadata["X-Tenant"][0])',
        'set(log.attributes["all"], otelcol.client.metadata)',
        'set(log.attributes["subject"], otelcol.client.auth.attributes["subject"][0])',
        'set(log.attributes["grpc"], otelcol.grpc.metadata["x-tenant"])',
        'set(log.attributes["none"], "none") where otelcol.client.metadata["other"] == nil and otelcol.client.addr == nil',
      ],
    };
    const seen = (transport: string) => {
      const { batch } = run(config, BATCH, { transport, metadata });
      const names = ["tenant", "all", "subject", "grpc", "none"].map((name) => `attributes["${name}"]`);
      return evaluate(`[${names.join(", ")}]`, "log", batch);
    };
    const all = { "x-tenant": ["blue", "green"] };
    expect(seen("grpc")).toEqual(["blue", all, "ada", ["blue", "green"], "none"]);
    expect(seen("http")).toEqual(["blue", all, "ada", null, "none"]);
    const set = { error_mode: "propagate", log_statements: ['set(otelcol.client.metadata["a"], log.body)'] };
    expect(run(set, BATCH).outcomes).toMatchObject([{ ok: false }]);
  });

  it("infers the contexts of a flat list", () => {
    const config = {
      log_statements: [
        'set(resource.attributes["a"], 1)',
        'set(log.cache["x"], "kept")',
        'set(log.attributes["a"], log.cache["x"])',
        'set(scope.name, "s") where resource.attributes["a"] == 1',
      ],
    };
    const { batch } = run(config, BATCH);
    expect(evaluate('[resource.attributes["a"], attributes["a"], scope.name]', "log", batch)).toEqual([
      1n,
      "kept",
      "s",
    ]);
  });

  it("executes a flat list in one context, record by record, as long as one fits", () => {
    const config = {
      log_statements: [
        'set(log.attributes["was"], resource.attributes["seen"])',
        'set(resource.attributes["seen"], "yes")',
      ],
    };
    const { batch } = run(config, logsOf({ severityNumber: 1 }, { severityNumber: 2 }));
    const records = recordsOf("logs", decodeTree(batch!)).map(({ record }) => record["attributes"] ?? []);
    expect(records).toEqual([[], [{ key: "was", value: { stringValue: "yes" } }]]);
  });

  it("refuses a path without a context in a list or group whose other paths name one", () => {
    const flat = { trace_statements: ['set(span.attributes["a"], span.name)', 'set(attributes["b"], 1)'] };
    expect(() => run(flat, batchFor("span"))).toThrow("which attributes is meant:");
    const group = { log_statements: [{ conditions: ['cache["a"] == nil'], statements: ['set(log.body, "x")'] }] };
    expect(() => run(group, BATCH)).toThrow("which cache is meant");
    const lambda = {
      log_statements: ['set(log.attributes["n"], Len(Filter(log.attributes, (key, _) => key != "x")))'],
    };
    expect(() => run(lambda, BATCH)).not.toThrow();
  });

  it("executes statements without a common context each in its own", () => {
    const config = { metric_statements: ["convert_sum_to_gauge()", 'set(datapoint.attributes["a"], metric.type)'] };
    const { batch } = run(config, batchFor("metric"));
    expect(evaluate('attributes["a"]', "datapoint", batch)).toBe(1n);
  });

  it("accepts contexts and error modes in upper and lower case", () => {
    const config = { error_mode: "Ignore", log_statements: [{ context: "Log", statements: ['set(body, "x")'] }] };
    expect(evaluate("body", "log", run(config, BATCH).batch)).toBe("x");
  });

  it("infers the context from functions and names if paths do not name it", () => {
    const { batch } = run({ metric_statements: ["convert_sum_to_gauge()"] }, batchFor("metric"));
    expect(evaluate("type", "metric", batch)).toBe(1n);
  });

  it("transforms traces, span events, metrics and data points", () => {
    const spans = run(
      { trace_statements: ['set(spanevent.name, "e")', { context: "span", statements: ['set(name, "n")'] }] },
      batchFor("span"),
    ).batch;
    expect(evaluate("[name, span.name]", "spanevent", spans)).toEqual(["e", "n"]);
    const metrics = run(
      { metric_statements: [{ context: "datapoint", statements: ['set(attributes["unit"], metric.unit)'] }] },
      batchFor("datapoint"),
    ).batch;
    expect(evaluate('attributes["unit"]', "datapoint", metrics)).toBe("1");
  });

  it("passes the same batch on when nothing changes", () => {
    expect(run({ log_statements: ["set(log.body, log.body)"] }, BATCH).batch).toBe(BATCH);
    expect(run({ trace_statements: ['set(span.name, "x")'] }, BATCH).batch).toBe(BATCH);
    expect(run({}, BATCH).batch).toBe(BATCH);
  });

  it("continues after a statement that fails, or refuses the batch when errors propagate", () => {
    const statements = ['set(log.attributes["n"], Int(log.attributes["text"]) + 1)', 'set(log.body, "x")'];
    expect(evaluate("body", "log", run({ log_statements: statements }, BATCH).batch)).toBe("x");
    const refused = run({ log_statements: [{ error_mode: "propagate", statements }] }, BATCH);
    expect(refused.batch).toBeUndefined();
    expect(refused.outcomes).toMatchObject([
      { ok: false, refusal: { message: expect.stringContaining(`OTTL expression 1 (${statements[0]}) failed: `) } },
    ]);
  });

  it.each([
    [{ log_statements: ["set(log.bodi, 1)"] }, ["log_statements", 0], { offset: 4, length: 8 }],
    [
      { log_statements: [{ context: "log", statements: ["set(body, 1)", "sett(body, 1)"] }] },
      ["log_statements", 0, "statements", 1],
      { suggestion: 'did you mean "set"?' },
    ],
    [
      { log_statements: [{ context: "log", conditions: ["body"], statements: [] }] },
      ["log_statements", 0, "conditions", 0],
      { offset: 0 },
    ],
    [{ log_statements: [{ context: "metric", statements: [] }] }, ["log_statements", 0, "context"], undefined],
    [{ log_statements: ['set(attributes["a"], 1)'] }, ["log_statements", 0], { offset: 4, length: 10 }],
    [{ log_statements: ["set(log.body, 1)", "set(log.bodi, 1)"] }, ["log_statements", 1], { offset: 4 }],
    [
      { metric_statements: [{ conditions: ['name == "a"'], statements: [] }] },
      ["metric_statements", 0, "conditions", 0],
      { offset: 0, length: 4 },
    ],
  ])("refuses %j at its place", (config, path, params) => {
    const [issue] = transform.schema.safeParse(config).error!.issues;
    expect(issue).toMatchObject({ path, ...(params ? { params } : {}) });
  });
});
