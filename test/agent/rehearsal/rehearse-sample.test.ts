import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rehearseSample } from "../../../src/agent/rehearsal/rehearse-sample.js";
import type { ReadBatch } from "../../../src/agent/rehearsal/sample-file.js";
import { logs as plainLogs, type TestLogInput } from "../../../src/agent/testing/plain-records.js";
import { defineProcessor, eachBatch } from "../../../src/plugin.js";
import type { RehearsalReport } from "../../../src/runtime/contract/rehearsal/rehearsal-report.js";
import type { Batch } from "../../../src/runtime/otlp/batch.js";
import { encodeTree } from "../../../src/runtime/otlp/json/tree.js";
import { resolve } from "../../support/agent.js";
import { runs } from "../../support/runs.js";
import { anyRequest } from "../../support/telemetry/telemetry-arbitraries.js";

const START = 1_790_000_000_000;

function sampleOf(...batches: readonly Batch[]): ReadBatch[] {
  return batches.map((batch, i) => ({ receiver: "otlp", at: START + i * 100, batch }));
}

function logs(...records: readonly TestLogInput[]): Batch {
  return plainLogs(...records);
}

const failing = defineProcessor({
  type: "failing",
  create: () =>
    eachBatch(() => {
      throw new Error("cannot process ann@example.com");
    }),
});

/** A config whose logs pass these processors. */
function config(processors: Readonly<Record<string, unknown>>, exporters = ["nop"]) {
  const yaml = {
    receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:0" } } } },
    processors,
    exporters: Object.fromEntries(exporters.map((id) => [id, null])),
    service: { pipelines: { logs: { receivers: ["otlp"], processors: Object.keys(processors), exporters } } },
  };
  return resolve(JSON.stringify(yaml), [failing]);
}

function rehearse(
  before: ReturnType<typeof resolve>,
  after: ReturnType<typeof resolve>,
  ...batches: readonly Batch[]
): Promise<RehearsalReport> {
  return rehearseSample({ before, after }, { batches: sampleOf(...batches), skipped: 0 });
}

const FILTER = { filter: { error_mode: "ignore", logs: { log_record: ['body == "drop"'] } } };

describe("a rehearsal", () => {
  it("counts records and bytes of each exporter, and those that are dropped or new", async () => {
    const batches = [logs("a", "drop", "b"), logs("drop", "c")];
    const { exporters, total, examples } = await rehearse(config({}), config(FILTER), ...batches);
    expect(exporters).toMatchObject([
      { exporter: "nop", signal: "logs", before: { records: 5 }, after: { records: 3 }, dropped: 2, unchanged: 3 },
    ]);
    expect(total).toMatchObject({ dropped: 2, new: 0, changed: 0, moved: 0 });
    expect(total.before.bytes).toBe(batches.reduce((sum, { byteLength }) => sum + byteLength, 0));
    expect(examples).toMatchObject([
      { what: "dropped", exporter: "nop", fields: { body: "drop" } },
      { what: "dropped", exporter: "nop", fields: { body: "drop" } },
    ]);
    expect((await rehearse(config(FILTER), config({}), ...batches)).total).toMatchObject({ dropped: 0, new: 2 });
  });

  it("shows which fields are added, removed and changed, with masked examples", async () => {
    const actions = [
      { key: "env", value: "prod", action: "insert" },
      { key: "old", action: "delete" },
      { key: "mail", value: "bob@example.com", action: "update" },
    ];
    const record = (body: string) => ({ body, attributes: { old: 1, mail: "ann@example.com", same: "x" } });
    const report = await rehearse(config({}), config({ attributes: { actions } }), logs(record("a"), record("b")));
    expect(report.total).toMatchObject({ changed: 2, unchanged: 0, dropped: 0, new: 0 });
    expect(report.changedExamined).toBe(2);
    const byField = Object.fromEntries(report.fields.map((each) => [each.field, each]));
    expect(Object.keys(byField).toSorted()).toEqual(['attributes["env"]', 'attributes["mail"]', 'attributes["old"]']);
    expect(byField['attributes["env"]']).toMatchObject({ change: "added", records: 2, examples: [{ after: "prod" }] });
    expect(byField['attributes["old"]']).toMatchObject({ change: "removed", records: 2, examples: [{ before: "1" }] });
    expect(byField['attributes["mail"]']).toMatchObject({ change: "changed", records: 2 });
    expect(JSON.stringify(report)).not.toMatch(/ann@|bob@/);
  });

  it("recognises records whose body, resource or time has changed", async () => {
    const statements = [
      'set(body, Concat([body, "!"], ""))',
      "set(time_unix_nano, 5)",
      'set(resource.attributes["a"], "b")',
    ];
    const transform = { error_mode: "ignore", log_statements: [{ context: "log", statements: [] as string[] }] };
    const of = (statement: string) => ({ ...transform, log_statements: [{ context: "log", statements: [statement] }] });
    for (const statement of statements) {
      const report = await rehearse(config({}), config({ transform: of(statement) }), logs("a", "b", "c"));
      expect([statement, report.total]).toEqual([
        statement,
        expect.objectContaining({ changed: 3, dropped: 0, new: 0 }),
      ]);
    }
  });

  it("tells records that go to another exporter from dropped ones", async () => {
    const report = await rehearse(config({}, ["nop"]), config({}, ["nop/other"]), logs("a", "b"));
    expect(report.total).toMatchObject({ moved: 2, dropped: 0, new: 0 });
    expect(report.moved).toEqual([{ from: "nop", to: "nop/other", records: 2 }]);
  });

  it("counts the errors of both configs, masked, and those that are new", async () => {
    const report = await rehearse(config({}), config({ failing: null }), logs("a", "b"));
    expect(report.total).toMatchObject({ dropped: 2 });
    const refused = report.errors.find(({ kind }) => kind === "refused");
    expect(refused).toMatchObject({ before: 0, after: 2, message: expect.stringContaining("cannot process") });
    expect(report.newErrors).toBeGreaterThanOrEqual(2);
    expect(JSON.stringify(report)).not.toContain("ann@");
  });

  it("reports records that no receiver of the new config takes", async () => {
    const sample = [{ receiver: "zipkin", at: START, batch: logs("a") }];
    const { errors } = await rehearseSample({ after: config({}) }, { batches: sample, skipped: 0 });
    expect(errors).toEqual([
      {
        kind: "not_received",
        where: "zipkin",
        message: 'no pipeline takes logs from the receiver "zipkin"',
        before: 0,
        after: 1,
      },
    ]);
  });

  it("hands batches of a renamed receiver to the one of the same type", async () => {
    const sample = [{ receiver: "otlp/old", at: START, batch: logs("a") }];
    const { errors, total } = await rehearseSample(
      { before: config({}), after: config({}) },
      { batches: sample, skipped: 0 },
    );
    expect([errors, total.unchanged]).toEqual([[], 1]);
  });

  it("does not run through years if a clock was set while the sample was taken", async () => {
    const times = [0, START, START, START + 100 * 365 * 86_400_000, START];
    const batches = times.map((at) => ({ receiver: "otlp", at, batch: logs("a") }));
    const sides = { before: resolve(ALL_PROCESSORS), after: resolve(ALL_PROCESSORS) };
    const { total, sample } = await rehearseSample(sides, { batches, skipped: 0 });
    expect([sample.records, total.dropped, total.new]).toEqual([5, 0, 0]);
  });

  it("shows no difference between a config and itself, whatever the sample", async () => {
    const same = ALL_PROCESSORS;
    await fc.assert(
      fc.asyncProperty(fc.array(anyRequest, { maxLength: 6 }), fc.array(fc.nat(90_000)), async (requests, gaps) => {
        let at = START;
        const sample = requests.map(({ signal, tree }, i) => {
          at += gaps[i] ?? 0;
          return { receiver: "otlp", at, batch: encodeTree(signal, tree) };
        });
        const { total, moved, fields, examples, newErrors, exporters } = await rehearseSample(
          { before: resolve(same), after: resolve(same) },
          { batches: sample, skipped: 0 },
        );
        expect({ moved, fields, examples, newErrors }).toEqual({ moved: [], fields: [], examples: [], newErrors: 0 });
        expect(total).toMatchObject({ dropped: 0, new: 0, changed: 0, moved: 0 });
        expect(total.after).toEqual(total.before);
        for (const each of exporters) expect(each.unchanged).toBe(each.before.records);
      }),
      runs(25),
    );
  });

  it("accounts for every record, whatever is dropped and changed", async () => {
    const body = fc.constantFrom("a", "b", "drop", "drop", "c");
    const change = { attributes: { actions: [{ key: "k", value: 1, action: "insert" }] } };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(body, { minLength: 1 }), { minLength: 1, maxLength: 5 }), async (batches) => {
        const all = batches.flat();
        const sample = batches.map((each) => logs(...each));
        const { total } = await rehearse(config({}), config({ ...FILTER, ...change }), ...sample);
        const kept = all.filter((each) => each !== "drop").length;
        expect(total).toMatchObject({ dropped: all.length - kept, changed: kept, new: 0, unchanged: 0, moved: 0 });
      }),
      runs(25),
    );
  });
});

/** Processors and connectors with state, windows and chance. */
const ALL_PROCESSORS = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
processors:
  batch: {}
  transform: {error_mode: ignore, log_statements: ['set(log.attributes["t"], "x")'], trace_statements: ['set(span.name, "n")']}
  probabilistic_sampler: {sampling_percentage: 50}
  tail_sampling: {decision_wait: 10s, policies: [{name: some, type: probabilistic, probabilistic: {sampling_percentage: 50}}]}
  rate_limit: {limit: 1, window: 1s, key: [attributes.k]}
connectors:
  span_metrics: {metrics_flush_interval: 15s}
exporters: {nop: , nop/two: }
service:
  pipelines:
    logs: {receivers: [otlp], processors: [transform, rate_limit, probabilistic_sampler, batch], exporters: [nop]}
    traces: {receivers: [otlp], processors: [transform, tail_sampling], exporters: [nop, span_metrics]}
    metrics: {receivers: [otlp, span_metrics], processors: [batch], exporters: [nop/two]}
`;
