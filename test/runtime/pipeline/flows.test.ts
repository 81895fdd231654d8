import { afterEach, describe, expect, it } from "vitest";
import { defineExporter, defineProcessor, eachRecord, type LogRecordView, Refusal } from "../../../src/plugin.js";
import { MetricRegistry } from "../../../src/runtime/host/self-telemetry/metric-registry.js";
import { Flow, Flows } from "../../../src/runtime/pipeline/intake/intake.js";
import { cleanUp, startFed } from "../../support/fed-agent.js";
import { bodies, logs } from "../../support/telemetry/batches.js";

afterEach(cleanUp);

const odd = defineProcessor({
  type: "odd",
  create: () =>
    eachRecord((record) => {
      const { body } = record as LogRecordView;
      if (body === "drop") return "drop";
      if (body === "refuse") throw new Refusal("permanent", "no");
      if (body === "bad") throw new Error("bad");
      return "keep";
    }),
});
const sink = defineExporter({ type: "sink", create: () => ({ send: async () => undefined }) });

async function start() {
  const fed = await startFed(
    (directory) => `
extensions: {reliability: {directory: ${directory}}}
processors: {odd: }
connectors: {forward: }
exporters: {sink: }
service:
  extensions: [reliability]
  pipelines:
    logs: {receivers: [hand], processors: [odd], exporters: [sink, forward], error_mode: dead_letter}
    logs/next: {receivers: [forward], exporters: [sink]}
`,
    { components: [odd, sink], metrics: new MetricRegistry() },
  );
  const { inspection } = fed.agent;
  const node = (id: string) => inspection!.traffic().nodes.get(id);
  return { ...fed, inspection: inspection!, node };
}

describe("the traffic of an agent", () => {
  it("counts what each node took, handed on and did not hand on", async () => {
    const { hand, node } = await start();
    await hand(logs("a", "drop", "b"));
    await hand(logs("refuse"));
    await hand(logs("bad", "c"));
    expect(node("receiver:hand")).toEqual({ in: 6, out: 5, dropped: 0, refused: 1, failed: 0 });
    expect(node("processor:logs:odd")).toEqual({ in: 6, out: 3, dropped: 1, refused: 1, failed: 1 });
    expect(node("connector:forward")).toEqual({ in: 3, out: 3, dropped: 0, refused: 0, failed: 0 });
    await expect.poll(() => node("exporter:sink")).toEqual({ in: 6, out: 6, dropped: 0, refused: 0, failed: 0 });
  });

  it("counts what passes each edge", async () => {
    const { hand, inspection } = await start();
    await hand(logs("a", "drop"));
    const { edges } = inspection.traffic();
    expect(inspection.graph.edges.map(({ id, from, to }) => [from, to, edges.get(id)])).toEqual([
      ["receiver:hand", "processor:logs:odd", 2],
      ["processor:logs:odd", "exporter:sink", 1],
      ["processor:logs:odd", "connector:forward", 1],
      ["connector:forward", "exporter:sink", 1],
    ]);
  });

  it("shows the batches of an edge until that is ended, once each", async () => {
    const { hand, inspection } = await start();
    const seen: [string, string[]][] = [];
    const end = inspection.watch(inspection.graph.edges, (batch, { to }) => seen.push([to, bodies(batch)]));
    await hand(logs("a", "drop"));
    end();
    await hand(logs("b"));
    expect(seen).toEqual([
      ["processor:logs:odd", ["a", "drop"]],
      ["exporter:sink", ["a"]],
      ["exporter:sink", ["a"]],
    ]);
  });

  it("ignores a watcher that throws", async () => {
    const { hand, inspection, node } = await start();
    inspection.watch(inspection.graph.edges, () => {
      throw new Error("in a watcher");
    });
    expect(await hand(logs("a"))).toMatchObject({ ok: true });
    expect(node("processor:logs:odd")).toMatchObject({ in: 1, out: 1 });
  });
});

describe("a flow", () => {
  it("removes one watcher and no other", () => {
    const flow = new Flow();
    const seen: string[] = [];
    const watcher = () => void seen.push("x");
    const [first, second] = [flow.watch(watcher), flow.watch(watcher)];
    flow.pass(logs("a"));
    first();
    first();
    flow.pass(logs("a"));
    second();
    flow.pass(logs("a"));
    expect(seen).toHaveLength(3);
    expect(flow.records).toBe(3);
  });
});

describe("the flows of a graph that changes", () => {
  const edge = { id: "", from: "receiver:a", to: "exporter:b", pipeline: "logs", signal: "logs" } as const;
  const node = { id: "receiver:a", kind: "receiver", name: "a", type: "a", pipelines: [], signals: [] } as const;

  it("are forgotten with their components", () => {
    const flows = new Flows();
    const [kept, tally] = [flows.from("receiver:a", "logs"), flows.tally("receiver:a")];
    const [removed, removedTally] = [flows.from("receiver:c", "logs"), flows.tally("receiver:c")];
    flows.keepOnly({ nodes: [node], edges: [edge] });
    expect(flows.from("receiver:a", "logs")).toBe(kept);
    expect(flows.tally("receiver:a")).toBe(tally);
    expect(flows.from("receiver:c", "logs")).not.toBe(removed);
    expect(flows.tally("receiver:c")).not.toBe(removedTally);
  });

  it("stay while somebody watches", () => {
    const flows = new Flows();
    const watched = flows.from("receiver:c", "logs");
    const stop = watched.watch(() => {});
    flows.keepOnly({ nodes: [], edges: [] });
    expect(flows.from("receiver:c", "logs")).toBe(watched);
    stop();
    flows.keepOnly({ nodes: [], edges: [] });
    expect(flows.from("receiver:c", "logs")).not.toBe(watched);
  });
});
