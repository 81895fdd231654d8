import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { loadedMask } from "../../../src/agent/mask-batch.js";
import { insightAnswer } from "../../../src/extensions/admin-api/insight/insight-answer.js";
import { distinctCount, distinctError } from "../../../src/extensions/admin-api/insight/merge-rows.js";
import { DistinctCounts } from "../../../src/extensions/insight/distinct-counts.js";
import { hashBytes, hashHigh, hashLow } from "../../../src/extensions/insight/hash-bytes.js";
import { InsightMeter } from "../../../src/extensions/insight/insight-meter.js";
import { TopMetrics } from "../../../src/extensions/insight/top-metrics.js";
import { TopTable } from "../../../src/extensions/insight/top-table.js";
import { type Batch, batchFromJson } from "../../../src/plugin.js";
import type { InsightBy } from "../../../src/runtime/contract/insight/insight-snapshot.js";
import type { GraphEdge } from "../../../src/runtime/contract/inspect/graph.js";
import type { AgentInspection, EdgeWatcher } from "../../../src/runtime/contract/inspect/inspection.js";
import { noMetrics } from "../../../src/runtime/contract/observability.js";
import type { Signal } from "../../../src/runtime/otlp/signals/signal.js";
import { FakeClock } from "../../support/fake-clock.js";
import { liveArrayBuffers, liveHeap } from "../../support/live-heap.js";
import { seeded } from "./log-corpora.js";

interface MeterOptions {
  readonly ratio?: number;
  readonly fullRate?: number;
  readonly memoryLimit?: number;
  readonly seed?: number;
}

const MIB = 1024 * 1024;

/** A meter at one exporter of each signal, and a function that lets batches pass there. */
function newMeter({ ratio = 1, fullRate = 0, memoryLimit = 32 * MIB, seed = 1 }: MeterOptions = {}) {
  const clock = new FakeClock();
  const settings = { places: ["exporters"], ratio, fullRate, memoryLimit, prices: {} };
  const meter = new InsightMeter(settings, { clock, random: seeded(seed) });
  const signals: readonly Signal[] = ["logs", "traces", "metrics"];
  const edges = signals.map(
    (signal): GraphEdge => ({ id: signal, from: "receiver:a", to: "exporter:b", pipeline: signal, signal }),
  );
  const node = { type: "nop", pipelines: signals, signals };
  const nodes = [
    { ...node, id: "receiver:a", kind: "receiver" as const, name: "a" },
    { ...node, id: "exporter:b", kind: "exporter" as const, name: "b" },
  ];
  let watcher: EdgeWatcher = () => {};
  const watch = (_: readonly GraphEdge[], given: EdgeWatcher) => {
    watcher = given;
    return () => {};
  };
  meter.watch({ graph: { nodes, edges }, watch } as unknown as AgentInspection);
  const pass = (batch: Batch) => watcher(batch, edges.find(({ signal }) => signal === batch.signal)!);
  const ask = (by: InsightBy, limit = 100_000) =>
    insightAnswer(
      { snapshots: [meter.snapshot(by)], unavailableWorkers: [] },
      { by, place: undefined, signal: undefined, limit, sort: "bytes", showsExamples: true },
    );
  return { meter, clock, pass, ask };
}

const text = (stringValue: string) => ({ stringValue });
const pair = (key: string, value: string) => ({ key, value: text(value) });

function logBatch(services: Readonly<Record<string, readonly string[]>>, attributes: readonly string[] = []): Batch {
  const resourceLogs = Object.entries(services).map(([service, bodies]) => ({
    resource: { attributes: [pair("service.name", service)] },
    scopeLogs: [
      {
        logRecords: bodies.map((body) => ({
          severityNumber: 9,
          body: text(body),
          attributes: attributes.map((key) => pair(key, "v")),
        })),
      },
    ],
  }));
  return batchFromJson("logs", JSON.stringify({ resourceLogs }));
}

beforeAll(async () => void (await loadedMask()));

describe("a sample of the traffic", () => {
  it("gives numbers within the error that it states, about 19 times out of 20", () => {
    const random = seeded(11);
    const exact = new Map<string, { records: number; bytes: number }>();
    let total = 0;
    const traffic = Array.from({ length: 4000 }, () => {
      const service = `s${Math.floor(random() * random() * 12)}`;
      const bodies = Array.from({ length: 1 + Math.floor(random() * 20) }, () =>
        "x".repeat(Math.floor(random() * 200)),
      );
      const batch = logBatch({ [service]: bodies });
      const sum = exact.get(service) ?? { records: 0, bytes: 0 };
      exact.set(service, { records: sum.records + batch.count, bytes: sum.bytes + batch.byteLength });
      total += batch.count;
      return batch;
    });
    let [rows, within] = [0, 0];
    for (let seed = 1; seed <= 6; seed++) {
      const { pass, ask } = newMeter({ ratio: 0.05, seed });
      for (const batch of traffic) pass(batch);
      const answer = ask("service");
      expect(answer.total.records).toBe(total);
      expect(answer.sample.readBatches).toBeLessThan(400);
      for (const { name, records, bytes, error } of answer.rows) {
        const truth = exact.get(name)!;
        rows += 2;
        if (Math.abs(records - truth.records) <= error.records) within++;
        if (Math.abs(bytes - truth.bytes) <= error.bytes + truth.bytes * 0.02) within++;
      }
    }
    expect(within / rows).toBeGreaterThan(0.9);
  });

  it("reads everything at a low rate, and then states no error", () => {
    const { pass, ask } = newMeter({ ratio: 0.01, fullRate: 1000 });
    for (let i = 0; i < 50; i++) pass(logBatch({ shop: ["a", "b"] }));
    const { rows, sample } = ask("service");
    expect(sample).toMatchObject({ batches: 50, readBatches: 50 });
    expect(rows[0]).toMatchObject({ name: "shop", records: 100, error: { records: 0, bytes: 0 } });
  });

  it("counts all records of a batch that is too large to be read whole", () => {
    const { pass, ask } = newMeter();
    pass(logBatch({ shop: Array.from({ length: 20_000 }, (_, i) => `line ${i}`) }));
    const [row] = ask("pattern").rows;
    expect(row).toMatchObject({ name: "line <*>" });
    expect(Math.abs(row!.records - 20_000)).toBeLessThan(20);
    expect(ask("service").rows[0]!.records).toBe(20_000);
  });
});

describe("the window of an hour", () => {
  it("forgets what is older, minute by minute", () => {
    const { pass, ask, clock } = newMeter();
    pass(logBatch({ old: ["a"] }));
    clock.advance(30 * 60_000);
    pass(logBatch({ young: ["a"] }));
    expect(
      ask("service")
        .rows.map(({ name }) => name)
        .sort(),
    ).toEqual(["old", "young"]);
    clock.advance(31 * 60_000);
    expect(ask("service").rows.map(({ name }) => name)).toEqual(["young"]);
    expect(ask("service").rows[0]!.series.indexOf(ask("service").rows[0]!.bytes)).toBe(28);
    clock.advance(100 * 60 * 60_000);
    expect(ask("service")).toMatchObject({ rows: [], total: { records: 0 } });
  });
});

describe("a clock that jumps", () => {
  it("changes neither the window nor the numbers", () => {
    const { pass, ask, clock } = newMeter();
    pass(logBatch({ shop: ["a"] }));
    clock.set(clock.now() + 1e12);
    pass(logBatch({ shop: ["a"] }));
    clock.set(clock.now() - 2e12);
    pass(logBatch({ shop: ["a"] }));
    expect(ask("service").rows).toMatchObject([{ name: "shop", records: 3 }]);
  });
});

describe("the agent's own metrics", () => {
  it("show the largest names, at most as many as configured", async () => {
    const { pass, meter, clock } = newMeter();
    const shown = new Map<string, () => number>();
    const gauge = (_: string, __: unknown, read: () => number, attributes: { by?: string; name?: string } = {}) => {
      const key = `${attributes.by} ${attributes.name}`;
      shown.set(key, read);
      return () => void shown.delete(key);
    };
    const metrics = new TopMetrics(meter, 2, { ...noMetrics, gauge }, clock);
    metrics.start();
    pass(logBatch({ big: ["x".repeat(300)], middle: ["x".repeat(200)], small: ["x"] }));
    clock.advance(60_000);
    const services = () => [...shown.keys()].filter((key) => key.startsWith("service")).sort();
    expect(services()).toEqual(["service big", "service middle"]);
    expect(shown.get("service big")!()).toBeGreaterThan(300);
    pass(logBatch({ small: ["x".repeat(1000)] }));
    clock.advance(60_000);
    expect(services()).toEqual(["service big", "service small"]);
    metrics.stop();
    expect(shown.size).toBe(0);
  });
});

describe("a table of names", () => {
  const stream = fc.array(fc.tuple(fc.nat({ max: 60 }), fc.integer({ min: 1, max: 50 })), {
    minLength: 1,
    maxLength: 400,
  });

  it("is exact as long as the names fit, and otherwise says how much may be missing", () => {
    fc.assert(
      fc.property(stream, fc.constantFrom(8, 64), (events, capacity) => {
        const state = { serial: 1, weight: 1, records: 1, bytes: 1, now: 0, minute: 0 };
        const table = new TopTable(capacity, state);
        const truth = new Map<string, number>();
        for (const [id, bytes] of events) {
          const name = `n${id}`;
          hashBytes(Buffer.from(name), 0, name.length, 1);
          const [low, high] = [hashLow, hashHigh];
          let row = table.find(low, high);
          if (row < 0) row = table.insert(low, high, { place: 0, name });
          table.add(row, 1, bytes);
          table.endBatch();
          state.serial++;
          truth.set(name, (truth.get(name) ?? 0) + bytes);
        }
        const listed = new Set<string>();
        for (const row of table.rows()) {
          const { name } = table.names[row]!;
          const { bytes, missedBytes } = table.read(row);
          listed.add(name);
          expect(bytes).toBeLessThanOrEqual(truth.get(name)! + 1e-6);
          expect(bytes + missedBytes).toBeGreaterThanOrEqual(truth.get(name)! - 1e-6);
        }
        for (const [name, bytes] of truth) if (!listed.has(name)) expect(bytes).toBeLessThanOrEqual(table.unlisted());
        if (capacity > 61) expect(listed.size).toBe(truth.size);
      }),
    );
  });
});

describe("numbers of distinct values", () => {
  it.each([10, 300, 5000, 200_000])("are within the stated error for %d values", (values) => {
    let within = 0;
    const tries = values > 100_000 ? 3 : 40;
    for (let seed = 0; seed < tries; seed++) {
      const counts = new DistinctCounts(1, 10);
      for (let i = 0; i < values; i++) {
        const name = Buffer.from(`${seed}/${i}`);
        hashBytes(name, 0, name.length, 7);
        counts.add(0, hashLow, hashHigh);
      }
      const registers = counts.registers(0);
      if (Math.abs(distinctCount(registers) - values) <= Math.max(1, values * distinctError(registers))) within++;
    }
    expect(within / tries).toBeGreaterThanOrEqual(0.85);
  });
});

describe("the memory of insight", () => {
  it("stays within its limit with tens of thousands of services, keys and patterns, and says that names are missing", () => {
    const word = (i: number) => i.toString(36).replace(/\d/g, (digit) => "ghijklmnop"[Number(digit)]!);
    const before = liveHeap() + liveArrayBuffers();
    const { pass, ask, meter } = newMeter();
    for (let i = 0; i < 25; i++) {
      const services: Record<string, string[]> = {};
      for (let j = 0; j < 1000; j++)
        services[`service-${i}-${j}`] = [`${word(i * 1000 + j)} ${word(j)}ed ${"w".repeat(j % 40)} at last`];
      pass(logBatch(services, [`key-${i}`, `<img src=x onerror=alert(${i})>`]));
    }
    const used = liveHeap() + liveArrayBuffers() - before;
    expect(used).toBeLessThan(32 * MIB);
    expect(meter.snapshot("service").memoryBytes).toBeLessThanOrEqual(32 * MIB);
    for (const by of ["service", "pattern"] as const) {
      const { overflow, rows } = ask(by, 10);
      expect(overflow).toMatchObject({ isFull: true });
      expect(overflow.note).toContain("more names than fit");
      expect(rows).toHaveLength(10);
    }
  });
});

describe("hostile input", () => {
  it("keeps names as text, and survives bodies of any type", () => {
    const { pass, ask } = newMeter();
    pass(logBatch({ "<script>alert(1)</script>": ["a"] }, ['"><b>', "", "\u0000\u001b[31m"]));
    expect(ask("service").rows[0]!.name).toBe("<script>alert(1)</script>");
    expect(ask("attribute").rows.map(({ name }) => name)).toContain('"><b>');
    const values = [
      { bytesValue: "AAECAw==" },
      { arrayValue: { values: [text("a")] } },
      { intValue: "1" },
      {},
      { kvlistValue: { values: [pair("msg", "hello 17")] } },
    ];
    const logRecords = [...values.map((body) => ({ body })), {}];
    pass(batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })));
    expect(ask("pattern").rows.map(({ name }) => name)).toContain("hello <*>");
  });
});
