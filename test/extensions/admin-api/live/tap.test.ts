import { describe, expect, it } from "vitest";
import type { EventStream } from "../../../../src/extensions/admin-api/events.js";
import { tapEvents } from "../../../../src/extensions/admin-api/live/tap.js";
import { type Batch, batchFromJson } from "../../../../src/plugin.js";
import type { GraphEdge } from "../../../../src/runtime/contract/inspect/graph.js";
import type { AgentInspection } from "../../../../src/runtime/contract/inspect/inspection.js";
import { TapBudget } from "../../../../src/runtime/contract/inspect/tap-budget.js";
import type { RecordCondition } from "../../../../src/runtime/contract/operations/dead-letter-language.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { logs } from "../../../support/telemetry/batches.js";
import { batchFor } from "../../../support/telemetry/ottl.js";
import { undescribed } from "../openapi-document.js";
import { startRunningApi } from "../running-agent.js";

const CONFIG = `
processors: {filter: {error_mode: ignore, logs: {log_record: ['body == "drop"']}}}
connectors: {forward: }
exporters: {nop: }
service:
  extensions: [reliability, admin]
  pipelines:
    logs: {receivers: [hand], processors: [filter], exporters: [nop, forward]}
    logs/next: {receivers: [forward], exporters: [nop]}
    metrics: {receivers: [hand], exporters: [nop]}
`;

describe("GET /tap", () => {
  it("shows records as they pass, with their resource and scope", async () => {
    const { read, hand } = await startRunningApi(CONFIG);
    const reader = await read("/tap?at=filter");
    await hand(logs("a", "drop", "b"));
    await expect.poll(() => reader.of("record")).toHaveLength(2);
    const [first] = reader.of("record");
    expect(undescribed(first, "TappedRecord")).toEqual([]);
    expect(first).toMatchObject({
      edge: "processor:logs:filter>exporter:nop@logs",
      signal: "logs",
      record: { body: { stringValue: "a" } },
      resource: {},
      scope: {},
    });
  });

  it.each([
    ["a pipeline", "logs/next", ["connector:forward>exporter:nop@logs/next"]],
    ["a receiver", "receiver:hand", ["receiver:hand>processor:logs:filter@logs"]],
    ["an edge", "processor:logs:filter>connector:forward@logs", ["processor:logs:filter>connector:forward@logs"]],
    ["an exporter", "nop", ["processor:logs:filter>exporter:nop@logs", "connector:forward>exporter:nop@logs/next"]],
  ])("taps %s", async (_, at, edges) => {
    const { read, hand } = await startRunningApi(CONFIG);
    const reader = await read(`/tap?at=${encodeURIComponent(at)}`);
    await hand(logs("a"));
    await expect.poll(() => reader.of("record").map(({ edge }) => edge)).toEqual(edges);
  });

  it("shows a metric once for each data point", async () => {
    const { read, hand } = await startRunningApi(CONFIG);
    const reader = await read("/tap?at=metrics");
    const batch = batchFor("datapoint");
    await hand(batch);
    await expect.poll(() => reader.of("record")).toHaveLength(batch.count);
    expect(reader.of("record")[0]).toMatchObject({ signal: "metrics", record: { name: expect.any(String) } });
  });

  it("masks personal data and secrets", async () => {
    const { read, hand } = await startRunningApi(CONFIG);
    const reader = await read("/tap?at=filter");
    await hand(logs("mail ann@example.com, card 4111 1111 1111 1111"));
    await expect.poll(() => reader.of("record")).toHaveLength(1);
    expect(JSON.stringify(reader.events)).not.toMatch(/ann@|4111/);
  });

  it("masks them everywhere", async () => {
    const { read, hand } = await startRunningApi(CONFIG);
    const reader = await read("/tap?at=filter");
    const mail = "ann@example.com";
    const record = {
      ...{ severityText: `WARN ${mail}`, eventName: `signup ${mail}`, body: { bytesValue: btoa(`by ${mail}`) } },
      attributes: [
        { key: `from ${mail}`, value: { kvlistValue: { values: [{ key: mail, value: { intValue: "1" } }] } } },
      ],
    };
    const scopeLogs = [{ scope: { name: `scope ${mail}` }, logRecords: [record] }];
    await hand(batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs }] })));
    await expect.poll(() => reader.of("record")).toHaveLength(1);
    expect(JSON.stringify(reader.events)).not.toContain("ann@");
    expect(atob(reader.of("record")[0].record.body.bytesValue)).not.toContain("ann@");
  });

  it("shows only records for which a condition holds", async () => {
    const { read, hand } = await startRunningApi(CONFIG);
    const reader = await read(`/tap?at=filter&where=${encodeURIComponent('body == "b"')}`);
    await hand(logs("a", "b", "c"));
    await expect.poll(() => reader.of("record").map(({ record }) => record.body.stringValue)).toEqual(["b"]);
    expect(reader.of("dropped")).toEqual([]);
  });

  it("shows no more per second than requested, and tells how many it did not show", async () => {
    const { read, hand } = await startRunningApi(CONFIG);
    const reader = await read("/tap?at=filter&rate=3");
    await hand(logs(..."abcdefgh"));
    await hand(logs("i", "j"));
    const dropped = () => reader.of("dropped").reduce((sum, { records }) => sum + records, 0);
    await expect.poll(dropped).toBe(7);
    await expect.poll(() => reader.of("record")).toHaveLength(3);
  });

  it("ends when it has shown the requested number", async () => {
    const { read, hand } = await startRunningApi(CONFIG);
    const reader = await read("/tap?at=filter&limit=2");
    await hand(logs("a", "b", "c"));
    await expect.poll(() => reader.isEnded).toBe(true);
    expect(reader.of("record")).toHaveLength(2);
    expect(reader.events.at(-1)).toEqual({ event: "end", data: { reason: "limit" } });
  });

  it("skips a record that is too large", async () => {
    const { read, hand } = await startRunningApi(CONFIG);
    const reader = await read("/tap?at=filter");
    await hand(logs("x".repeat(300_000), "small"));
    await expect.poll(() => reader.of("record").map(({ record }) => record.body.stringValue)).toEqual(["small"]);
    await expect.poll(() => reader.of("dropped")).toEqual([{ records: 1 }]);
  });

  it("reports invalid parameters", async () => {
    const { ask } = await startRunningApi(CONFIG);
    const failure = async (query: string) => {
      const { status, body } = await ask("GET", `/tap${query}`);
      return [status, body.error.message];
    };
    expect(await failure("")).toEqual([400, "name a place: at=ID of a node, an edge or a pipeline"]);
    expect(await failure("?at=nob")).toEqual([404, expect.stringContaining("there are: hand, filter, forward, nop")]);
    expect(await failure("?at=nop&rate=0")).toEqual([400, "rate must be a number from 1 to 1000"]);
    expect(await failure("?at=nop&where=nosuch(")).toEqual([400, expect.stringContaining("where: ")]);
  });

  it("never affects outcome or data, whatever happens to the tap", async () => {
    const { read, hand, agent } = await startRunningApi(CONFIG);
    const reader = await read(`/tap?at=filter&where=${encodeURIComponent('Int(attributes["x"]) > 1')}`);
    expect(await hand(logs("a"))).toMatchObject({ ok: true });
    reader.close();
    expect(await hand(logs("a"))).toMatchObject({ ok: true });
    expect(agent.inspection!.traffic().nodes.get("processor:logs:filter")).toMatchObject({ in: 2, out: 2 });
  });
});

describe("a tap with a limit", () => {
  it("does not count records that could not be shown", () => {
    const clock = new FakeClock();
    const events: string[] = [];
    let onBatch!: (batch: Batch, edge: GraphEdge) => void;
    const inspection = {
      watch(_: unknown, watcher: typeof onBatch) {
        onBatch = watcher;
        return () => {};
      },
    } as unknown as AgentInspection;
    const masks = [(batch: Batch) => batch, () => expect.fail("cannot be masked"), (batch: Batch) => batch];
    const mask = (batch: Batch) => masks.shift()!(batch);
    const send = (event: string) => events.push(event) > 0;
    const stream = { send, sendJson: send, drop() {}, reportDropped() {}, end() {} };
    const settings = { edges: [], where: undefined, rate: 10, limit: 2 };
    tapEvents(settings, { inspection, clock, budget: new TapBudget(clock), mask })(stream);
    const pass = () => {
      onBatch(logs("a"), { id: "edge" } as GraphEdge);
      clock.advance(1);
    };
    pass();
    pass();
    expect(events).toEqual(["record"]);
    pass();
    expect(events).toEqual(["record", "record", "end"]);
  });
});

describe("a tap that has used up its time", () => {
  it.each([
    [undefined, 4310],
    [1000, 410],
  ])("waits by its share, or no longer than it may: with a maximum of %s ms it waits %i ms", (maxWaitMs, wait) => {
    const clock = new FakeClock();
    const budget = new TapBudget(clock, 0.1, maxWaitMs);
    budget.run(() => clock.advance(590));
    clock.advance(wait - 1);
    expect(budget.waitMs).toBeGreaterThan(0);
    clock.advance(2);
    expect(budget.waitMs).toBe(0);
  });

  it("shows selected records later, and does not examine others meanwhile", () => {
    const clock = new FakeClock();
    const shown: string[] = [];
    let dropped = 0;
    let onBatch!: (batch: Batch, edge: GraphEdge) => void;
    const watch = (_: unknown, watcher: typeof onBatch) => {
      onBatch = watcher;
      return () => {};
    };
    const stream = {
      sendJson: (_: string, json: string) => shown.push(JSON.parse(json).record.body.stringValue) > 0,
      drop: (count: number) => void (dropped += count),
      reportDropped() {},
      end() {},
    } as unknown as EventStream;
    let isSlow = true;
    const where = {
      matching(batch: Batch) {
        if (isSlow) clock.advance(30);
        isSlow = false;
        return batch;
      },
    } as unknown as RecordCondition;
    const inspection = { watch } as unknown as AgentInspection;
    const services = { inspection, clock, budget: new TapBudget(clock), mask: (batch: Batch) => batch };
    tapEvents({ edges: [], where, rate: 10, limit: 10 }, services)(stream);
    onBatch(logs("a"), { id: "edge" } as GraphEdge);
    onBatch(logs("b"), { id: "edge" } as GraphEdge);
    clock.advance(100);
    expect([shown, dropped]).toEqual([[], 1]);
    clock.advance(2500);
    expect([shown, dropped]).toEqual([["a"], 1]);
  });
});

describe("the budget of taps", () => {
  it("is a hundredth of the time, and is paid back when it was overdrawn", () => {
    const clock = new FakeClock();
    const budget = new TapBudget(clock);
    const work = (ms: number) =>
      budget.run(() => {
        clock.advance(ms);
        return true;
      });
    expect(work(60)).toBe(true);
    expect(work(0)).toBeUndefined();
    clock.advance(4000);
    expect(work(0)).toBeUndefined();
    clock.advance(1001);
    expect(work(0)).toBe(true);
  });
});
