import { describe, expect, it } from "vitest";
import type { EventStream } from "../../../../src/extensions/admin-api/events.js";
import { History } from "../../../../src/extensions/admin-api/live/history.js";
import { RateMeter, type Sampled } from "../../../../src/extensions/admin-api/live/live-rates.js";
import { LiveSamples } from "../../../../src/extensions/admin-api/live/live-samples.js";
import type { NodeCounts } from "../../../../src/runtime/contract/inspect/inspection.js";
import type { Admin } from "../../../../src/runtime/contract/operations/admin.js";
import { MetricRegistry } from "../../../../src/runtime/host/self-telemetry/metric-registry.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { logs } from "../../../support/telemetry/batches.js";
import { undescribed } from "../openapi-document.js";
import { startRunningApi } from "../running-agent.js";

const CONFIG = `
exporters: {nop: }
service: {extensions: [reliability, admin], pipelines: {logs: {receivers: [hand], exporters: [nop]}}}
`;

/** A component whose counts the test sets. */
function counted() {
  const counts = { in: 0, out: 0, dropped: 0, refused: 0, failed: 0 };
  const node = (id: string, kind: "receiver" | "exporter") => ({
    id,
    kind,
    name: id,
    type: id,
    pipelines: [],
    signals: [],
  });
  const host: Sampled = {
    inspection: {
      agent: { name: "", version: "", startedAt: 0, pipelines: [], warnings: [] },
      graph: { nodes: [node("a", "receiver"), node("b", "exporter")], edges: [] },
      configOf: () => undefined,
      resource: {},
      config: () => undefined,
      traffic: () => ({
        edges: new Map([["e", counts.in]]),
        nodes: new Map<string, NodeCounts>([["a", { ...counts }]]),
      }),
      watch: () => () => {},
    },
  };
  return { counts, host, clock: new FakeClock() };
}

describe("GET /live", () => {
  it("sends a sample each second, with the rates of what passes", async () => {
    const { read, hand } = await startRunningApi(CONFIG, { metrics: new MetricRegistry() });
    const reader = await read("/live");
    let isDone = false;
    const feeding = (async () => {
      while (!isDone) {
        await hand(logs("a", "b"));
        await new Promise(setImmediate);
      }
    })();
    const latest = () => reader.of("sample").at(-1);
    await expect.poll(() => latest()?.nodes["exporter:nop"].out).toBeGreaterThan(0);
    isDone = true;
    await feeding;
    const sample = latest();
    expect(undescribed(sample, "Sample")).toEqual([]);
    expect(sample.nodes["receiver:hand"].in).toBeGreaterThan(0);
    expect(sample.edges["receiver:hand>exporter:nop@logs"].perSecond).toBeGreaterThan(0);
    expect(sample.exporters["nop"]).toMatchObject({ state: "UP", breaker: "closed", deadLetters: 0 });
  });

  it("makes one sample for all readers, and none while there are none", () => {
    const { counts, host, clock } = counted();
    let asked = 0;
    const traffic = () => {
      asked += 1;
      return host.inspection!.traffic();
    };
    const counting = { ...host, inspection: { ...host.inspection!, traffic } };
    const samples = new LiveSamples(counting, clock);
    const texts: string[][] = [[], []];
    const reader = (i: number) => ({ sendJson: (_: string, json: string) => texts[i]!.push(json) > 0 }) as EventStream;
    clock.advance(5000);
    expect(asked).toBe(0);
    const [endFirst, endSecond] = [samples.sendTo(reader(0)), samples.sendTo(reader(1))];
    counts.in = 7;
    clock.advance(1000);
    expect(asked).toBe(2);
    expect(texts[0]).toHaveLength(1);
    expect(texts[1]).toEqual(texts[0]);
    expect(JSON.parse(texts[0]![0]!).edges.e.perSecond).toBe(7);
    endFirst();
    clock.advance(1000);
    expect(texts.map((own) => own.length)).toEqual([1, 2]);
    endSecond();
    clock.advance(5000);
    expect(asked).toBe(3);
    samples.sendTo(reader(0));
    clock.advance(1000);
    expect(texts[0]).toHaveLength(2);
  });

  it("ends when the agent stops", async () => {
    const { read, agent } = await startRunningApi(CONFIG);
    const reader = await read("/live");
    await agent.stop();
    await expect.poll(() => reader.isEnded).toBe(true);
  });
});

describe("rates", () => {
  it("cover the time since the previous call", () => {
    const { counts, host, clock } = counted();
    const meter = new RateMeter(host, clock);
    counts.in = 30;
    clock.advance(2000);
    expect(meter.next()).toMatchObject({ edges: { e: { perSecond: 15 } }, nodes: { a: { in: 15, out: 0 } } });
    clock.advance(1000);
    expect(meter.next()?.nodes["a"]?.in).toBe(0);
  });
});

describe("GET /history", () => {
  it("has the last 15 minutes of a node in steps of 5 s", () => {
    const { counts, host, clock } = counted();
    const history = new History(host, clock);
    const begin = clock.now();
    expect(history.of("a")).toEqual({ stepMs: 5000, from: new Date(begin).toISOString(), series: {} });
    history.start();
    for (let step = 1; step <= 200; step++) {
      counts.in += 5 * step;
      clock.advance(5000);
    }
    const { from, series } = history.of("a")!;
    expect(series["in"]).toHaveLength(180);
    expect(series["in"]!.at(-1)).toBe(200);
    expect(series["in"]![0]).toBe(21);
    expect(from).toBe(new Date(begin + 20 * 5000).toISOString());
    expect(series).not.toHaveProperty("queueBytes");
    expect(history.of("b")!.series).toHaveProperty("queueBytes");
    history.stop();
    clock.advance(60_000);
    expect(history.of("a")!.series["in"]!.at(-1)).toBe(200);
  });

  it("has the queue of a journal, which is listed with the exporters but is no node", () => {
    const { host, clock } = counted();
    const queue = { enabled: true, entries: 3, items: 3, bytes: 90, inFlight: 0, oldestAt: undefined };
    const status = { id: "intake/logs", state: "UP", breaker: { state: "closed" }, queue, deadLetters: { entries: 0 } };
    const history = new History({ ...host, admin: { exporters: () => [status] } as unknown as Admin }, clock);
    history.start();
    clock.advance(5000);
    expect(history.of("exporter:intake/logs")!.series).toMatchObject({ queueBytes: [90], queueEntries: [3] });
    expect(history.of("exporter:intake/other")).toBeUndefined();
    history.stop();
  });

  it("answers only for existing nodes", async () => {
    const { ask } = await startRunningApi(CONFIG);
    const { body } = await ask("GET", "/history?node=exporter%3Anop");
    expect(undescribed(body, "History")).toEqual([]);
    expect((await ask("GET", "/history?node=x")).status).toBe(404);
    expect((await ask("GET", "/history")).status).toBe(400);
  });
});
