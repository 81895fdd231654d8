import { describe, expect, it } from "vitest";
import { type Delivery, type Exporter, eachBatch, type Processor, statefulProcessor } from "../../../src/plugin.js";
import { sketch } from "../../support/plan.js";
import { bodies, logs } from "../../support/telemetry/batches.js";

function collecting(): { readonly taken: string[]; readonly exporter: Exporter } {
  const taken: string[] = [];
  return {
    taken,
    exporter: {
      async send(batch) {
        taken.push(...bodies(batch));
        return undefined;
      },
    },
  };
}

const pass = (): Processor => (source) => source;

/** Hands on what it holds when it is drained, a turn later. */
const holding = () =>
  statefulProcessor((out) => {
    const held: Delivery[] = [];
    return {
      next: (delivery) => void held.push(delivery),
      async drain() {
        await new Promise(setImmediate);
        for (const delivery of held) out.next(delivery);
      },
    };
  });

describe("a graph that drains", () => {
  it("flushes pipelines before those they feed, through shared connectors", async () => {
    const { taken, exporter } = collecting();
    const { graph, intake } = sketch({
      processors: { first: holding, second: holding },
      connectors: { link: pass },
      exporters: { end: exporter },
      pipelines: {
        "logs/a": { receivers: ["a"], processors: ["first"], exporters: ["link"] },
        "logs/b": { receivers: ["b"], exporters: ["link"] },
        "logs/c": { receivers: ["link"], processors: ["second"], exporters: ["end"] },
      },
    });
    const answers = [intake("a").accept(logs("1")), intake("b").accept(logs("2"))];
    await graph.drain();
    expect(taken.toSorted()).toEqual(["1", "2"]);
    expect(await Promise.all(answers)).toMatchObject([{ ok: true }, { ok: true }]);
  });

  it("refuses later deliveries with a retryable error", async () => {
    const { exporter } = collecting();
    const { graph, intake } = sketch({
      exporters: { a: exporter, b: exporter },
      pipelines: { logs: { receivers: ["in"], exporters: ["a", "b"] } },
    });
    await graph.drain();
    const outcome = await intake("in").accept(logs("late"));
    expect(outcome).toMatchObject({ ok: false, refusal: { kind: "transient", code: "SLUICE_SHUTTING_DOWN" } });
  });
});

describe("a graph that is aborted", () => {
  it("refuses all deliveries inside, including one that a connector would offer to a branch that has ended", async () => {
    const stuck: Exporter = {
      send: (_batch, abort) => new Promise((_, reject) => abort.addEventListener("abort", reject)),
    };
    const offersAgain: Processor = statefulProcessor((out) => {
      const offer = (delivery: Delivery): void =>
        out.next(delivery.catchRefusal((again) => offer(again)).to(["logs/a"]));
      return { next: offer };
    });
    const { graph, intake } = sketch({
      processors: { pass: () => eachBatch((batch) => batch), hold: holding },
      connectors: { link: () => offersAgain },
      exporters: { one: stuck, two: stuck },
      pipelines: {
        "logs/in": { receivers: ["in"], exporters: ["link"] },
        "logs/a": { receivers: ["link"], processors: ["hold"], exporters: ["one"] },
        "logs/b": { receivers: ["link"], processors: ["pass"], exporters: ["two"] },
      },
    });
    const answers = Promise.all([intake("in").accept(logs("1")), intake("in").accept(logs("2"))]);
    graph.abort();
    expect(await answers).toMatchObject([{ ok: false }, { ok: false }]);
    await graph.drain();
    expect(graph.budget.used).toBe(0);
  });
});
