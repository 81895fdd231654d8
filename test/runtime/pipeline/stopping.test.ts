import { identity, ignoreElements } from "rxjs";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { nodeId } from "../../../src/runtime/pipeline/describe-graph.js";
import type { GraphParts } from "../../../src/runtime/pipeline/graph-builder.js";
import { into, whenEnded } from "../../../src/runtime/pipeline/streams.js";
import { Wiring } from "../../../src/runtime/pipeline/wiring.js";
import { type Sketch, sketch } from "../../support/plan.js";
import { logs } from "../../support/telemetry/batches.js";

const exporters = { out: { send: async () => undefined } };
const one: Sketch = { exporters, pipelines: { logs: { receivers: ["in"], exporters: ["out"] } } };
/** The same, and another pipeline to the same exporter and to one of its own. */
const two: Sketch = {
  exporters: { ...exporters, own: { send: async () => undefined } },
  pipelines: { ...one.pipelines, "logs/more": { receivers: ["more"], exporters: ["out", "own"] } },
};

const ownEndOf = ({ wiring }: GraphParts) => whenEnded([wiring.end(nodeId("exporter", "own"))]);

describe("a graph that is stopped while another config is prepared", () => {
  it("drains although prepared parts lead to its exporters, and ends them", async () => {
    const { graph, prepare } = sketch(one);
    const prepared = prepare(two);
    await graph.drain();
    await ownEndOf(prepared);
  });

  it("ends the prepared parts when it is aborted", async () => {
    const { graph, prepare } = sketch(one);
    const prepared = prepare(two);
    graph.abort();
    await ownEndOf(prepared);
  });

  it("drains parts that are prepared and used after its drain has begun", async () => {
    const { graph, prepare, intake } = sketch(one);
    await graph.drain();
    const prepared = prepare(two);
    graph.use(prepared);
    await ownEndOf(prepared);
    expect(await intake("more").accept(logs("a"))).toMatchObject({ ok: false, refusal: { kind: "transient" } });
  });

  it("aborts parts that are prepared and used after its abort", async () => {
    const { graph, prepare, intake } = sketch(one);
    graph.abort();
    const prepared = prepare(two);
    graph.use(prepared);
    await ownEndOf(prepared);
    expect(await intake("more").accept(logs("a"))).toMatchObject({ ok: false, refusal: { kind: "transient" } });
  });
});

describe("a wiring that was aborted", () => {
  it("keeps nothing waiting that is connected to it later", async () => {
    const services = { logger: silentLogger, clock: systemClock, metrics: noMetrics };
    const end = () => into({ accept: () => {}, drain: async () => {}, abort: () => {} }, silentLogger);
    const first = new Wiring(services);
    first.addPlace("first", { version: identity });
    first.use();
    first.abort();
    const second = new Wiring({ ...services, running: first });
    second.addPlace("first", { version: undefined });
    second.addEnd("end", end());
    second.connectToEnd("first", "end", ignoreElements());
    second.begin();
    second.use();
    await second.drain();
  });
});
