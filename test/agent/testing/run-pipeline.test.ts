import { describe, expect, it } from "vitest";
import { batchFromJson, defineExporter, readRecords } from "../../../src/plugin.js";
import {
  expectRecords,
  FakeClock,
  faultyExporter,
  lastingStores,
  logs,
  MemoryStore,
  plainRecords,
  runPipeline,
  type TestLogInput,
} from "../../../src/testing.js";

const THROUGH = (exporter: string, config = "") => `
exporters: {${exporter}: ${config}}
service: {pipelines: {logs: {receivers: [memory], exporters: [${exporter}]}}}
`;

const framesOf = (stack = "") => stack.split("\n").filter((line) => line.startsWith("    at "));

describe("a pipeline in memory", () => {
  it("has dead letters in memory, with their records", async () => {
    const backend = faultyExporter({ poison: (record) => record.attributes.has("bad") });
    const pipeline = await runPipeline(THROUGH("faulty"), { plugins: [backend], queue: "memory" });
    const outcome = await pipeline.send(logs("a", { body: "b", attributes: { bad: true } }, "c"));
    expect(outcome.ok).toBe(true);
    await expect.poll(() => pipeline.deadLetters()).toHaveLength(1);
    const [dead] = await pipeline.deadLetters();
    expect(dead).toMatchObject({ reason: "permanent", message: "a record is poison", records: [{ body: "b" }] });
    await expect.poll(() => backend.records().length).toBe(2);
    expectRecords(backend).toMatch([{ body: "a" }, { body: "c" }]);
    backend.faults.poison = undefined;
    await pipeline.admin.replay({ query: {} }, { by: "test" });
    await expect.poll(() => backend.records().length).toBe(3);
    await pipeline.stop();
  });

  it("throws config errors to its caller, as createSluice does", async () => {
    const error = await runPipeline(THROUGH("memroy")).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ name: "SluiceConfigError", code: "SLUICE_CONFIG" });
    const { message, stack } = error as Error;
    expect(message).toContain('config.yaml:2:13 exporters.memroy: there is no exporter of type "memroy"');
    expect(message).toContain('(did you mean "memory"?)');
    expect(framesOf(stack)[0]).toContain("run-pipeline.test.ts");
  });

  it("throws start errors to its caller", async () => {
    const create = () => {
      throw new Error("no");
    };
    const plugins = [defineExporter({ type: "broken", create })];
    const error = await runPipeline(THROUGH("broken"), { plugins }).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ name: "AgentStartError", code: "SLUICE_AGENT_START" });
    expect(framesOf((error as Error).stack)[0]).toContain("run-pipeline.test.ts");
  });

  it("takes everything and keeps nothing with a no-op store", async () => {
    const backend = faultyExporter({ fails: { times: 1, of: 1, kind: "permanent" } });
    const pipeline = await runPipeline(THROUGH("faulty"), { plugins: [backend], queue: "noop" });
    expect((await pipeline.send(logs("a"))).ok).toBe(true);
    await expect.poll(() => backend.sends).toBe(1);
    expect(await pipeline.deadLetters()).toEqual([]);
    await pipeline.stop();
  });

  it("retries on a fake clock, and sends nothing before its time", async () => {
    const clock = new FakeClock();
    const backend = faultyExporter({ fails: { times: 2, of: 3 }, delayMs: 100 });
    const yaml = THROUGH("faulty", "{retry_on_failure: {initial_interval: 10s, jitter: none}}");
    const pipeline = await runPipeline(yaml, { plugins: [backend], queue: "memory", clock });
    await pipeline.send(logs("a"));
    await clock.pass(100);
    expect(backend.sends).toBe(1);
    await clock.pass(9_900);
    expect(backend.sends).toBe(1);
    await clock.pass(100);
    expect(backend.sends).toBe(2);
    expectRecords(backend).toHaveCount(0);
    await clock.pass(30_000, 1000);
    expect(backend.sends).toBe(3);
    expectRecords(backend).toMatch([{ body: "a" }]);
    await pipeline.stop();
  });

  it("keeps what was accepted through a restart in stores that last", async () => {
    const queue = lastingStores();
    const backend = faultyExporter({ hangs: true });
    const first = await runPipeline(THROUGH("faulty"), { plugins: [backend], queue, clock: new FakeClock() });
    await first.send(logs("a"));
    await first.stop(0);
    expectRecords(backend).toHaveCount(0);
    backend.faults.hangs = false;
    const second = await runPipeline(THROUGH("faulty"), { plugins: [backend], queue });
    await expect.poll(() => backend.records().length).toBe(1);
    await second.stop();
  });

  it("stops on a fake clock while a slow exporter is at work", async () => {
    const clock = new FakeClock();
    const backend = faultyExporter({ delayMs: 1000 });
    const pipeline = await runPipeline(THROUGH("faulty"), { plugins: [backend], clock });
    const sending = pipeline.send(logs("a"));
    await pipeline.stop(10_000);
    expect((await sending).ok).toBe(true);
  });

  it("says how to have dead letters when there are none", async () => {
    const pipeline = await runPipeline(THROUGH("memory"));
    expect(() => pipeline.admin).toThrow('{ queue: "memory" }');
    await pipeline.stop();
  });

  it("takes stores of one's own", async () => {
    const made: string[] = [];
    const queue = (exporter: string) => {
      made.push(exporter);
      return new MemoryStore({ exporter });
    };
    const pipeline = await runPipeline(THROUGH("memory"), { queue });
    await pipeline.send(logs("a"));
    await expect.poll(() => pipeline.records()).toMatchObject([{ body: "a" }]);
    await pipeline.stop();
    expect(made).toEqual(["memory"]);
  });
});

describe("logs", () => {
  it("makes records with a name and a severity, and refuses what it does not know", () => {
    const records: [string, number][] = [];
    readRecords(logs({ name: "order.paid", severityNumber: 17 }, "text"), (record) => {
      if (record.signal === "logs") records.push([record.eventName, record.severityNumber]);
    });
    expect(records).toEqual([
      ["order.paid", 17],
      ["", 9],
    ]);
    expect(() => logs({ eventName: "order.paid" } as TestLogInput)).toThrow(
      'logs() knows no "eventName", only name, body',
    );
  });
});

describe("expectations of records", () => {
  const found = logs("a", { body: "b", attributes: { n: 1, list: ["x"] } });

  it("hold for what is there", () => {
    expectRecords(found).toHaveCount(2);
    expectRecords(found).toMatch([{ body: "a", attributes: { n: undefined } }, { attributes: { list: ["x"] } }]);
    expectRecords([found, logs("c")]).toInclude({ body: "c" });
    expectRecords(plainRecords(found)).toExclude({ body: "c" });
    const span = { resourceSpans: [{ scopeSpans: [{ spans: [{ name: "GET" }] }] }] };
    expectRecords(batchFromJson("traces", JSON.stringify(span))).toAllMatch({ name: "GET" });
  });

  it("say what differs, and show the records", () => {
    expect(() => expectRecords(found).toMatch([{ body: "x" }, { attributes: { n: 2, m: 1 } }])).toThrow(
      [
        "record 0: body: expected 'x', got 'a'",
        "record 1: attributes['n']: expected 2, got 1",
        "record 1: attributes['m']: expected 1, got nothing",
        "the records:",
      ].join("\n"),
    );
    expect(() => expectRecords(found).toMatch([])).toThrow("expected 0 records, got 2\nthe records:\n  record 0: {");
    expect(() => expectRecords([]).toAllMatch({})).toThrow("expected records, got none\nthe records:\n  none");
    expect(() => expectRecords(found).toHaveCount(1)).toThrow("expected 1 records, got 2");
    expect(() => expectRecords(found).toInclude({ body: "c" })).toThrow("expected a record with { body: 'c' }");
    expect(() => expectRecords(found).toExclude({ body: "b" })).toThrow("but record 1 is one");
  });
});
