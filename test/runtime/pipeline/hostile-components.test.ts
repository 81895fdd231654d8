import { EMPTY, map, take, throwError } from "rxjs";
import { describe, expect, it } from "vitest";
import { type Delivery, type Exporter, type Processor, statefulProcessor } from "../../../src/plugin.js";
import { FakeClock } from "../../support/fake-clock.js";
import { sketch } from "../../support/plan.js";
import { bodies, logs } from "../../support/telemetry/batches.js";

function collecting(): { readonly taken: string[]; readonly exporter: Exporter } {
  const taken: string[] = [];
  const send: Exporter["send"] = async (batch) => void taken.push(...bodies(batch));
  return { taken, exporter: { send } };
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

describe("a fan-out with a branch that ends", () => {
  it.each<[string, () => Processor]>([
    ["completes after one delivery", () => (source) => source.pipe(take(1))],
    ["completes before the first delivery", () => () => EMPTY],
    ["errors at once", () => () => throwError(() => new Error("broken"))],
    [
      "errors on a delivery",
      () => (source) =>
        source.pipe(
          map((delivery) => {
            if (bodies(delivery.batch).includes("2")) throw new Error("broken");
            return delivery;
          }),
        ),
    ],
    [
      "throws when it is subscribed",
      () => () => {
        throw new Error("broken");
      },
    ],
  ])("gives the other branch everything when one %s", async (_, broken) => {
    const [good, bad] = [collecting(), collecting()];
    const { graph, intake } = sketch({
      processors: { broken, pass },
      connectors: { split: pass },
      exporters: { good: good.exporter, bad: bad.exporter },
      pipelines: {
        "logs/in": { receivers: ["in"], exporters: ["split"] },
        "logs/good": { receivers: ["split"], processors: ["pass"], exporters: ["good"] },
        "logs/bad": { receivers: ["split"], processors: ["broken"], exporters: ["bad"] },
      },
    });
    const outcomes = [];
    for (const text of ["1", "2", "3", "4"]) outcomes.push(await intake("in").accept(logs(text)));
    expect(good.taken).toEqual(["1", "2", "3", "4"]);
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.ok) expect(bad.taken).toContain(String(i + 1));
      else expect(outcome.refusal.kind).toBe("transient");
    }
    await graph.drain();
    expect(graph.budget.used).toBe(0);
  });
});

describe("connectors in a diamond", () => {
  const diamond = (exporter: Exporter) =>
    sketch({
      processors: { left: holding, right: pass, join: holding },
      connectors: { split: pass, meet: pass },
      exporters: { end: exporter },
      pipelines: {
        "logs/in": { receivers: ["in"], exporters: ["split"] },
        "logs/left": { receivers: ["split"], processors: ["left"], exporters: ["meet"] },
        "logs/right": { receivers: ["split"], processors: ["right"], exporters: ["meet"] },
        "logs/out": { receivers: ["meet"], processors: ["join"], exporters: ["end"] },
      },
    });

  it("deliver each record once for each way when they drain, and then answer", async () => {
    const { taken, exporter } = collecting();
    const { graph, intake } = diamond(exporter);
    const answers = ["1", "2"].map((text) => intake("in").accept(logs(text)));
    await graph.drain();
    expect(taken.toSorted()).toEqual(["1", "1", "2", "2"]);
    expect(await Promise.all(answers)).toMatchObject([{ ok: true }, { ok: true }]);
    expect(graph.budget.used).toBe(0);
  });

  it("refuse everything once when they are aborted while they drain", async () => {
    const never: Exporter = { send: () => new Promise(() => {}) };
    const { graph, intake } = diamond(never);
    const answers = ["1", "2"].map((text) => intake("in").accept(logs(text)));
    const drained = graph.drain();
    await new Promise(setImmediate);
    graph.abort();
    await drained;
    expect(await Promise.all(answers)).toMatchObject([{ ok: false }, { ok: false }]);
    expect(graph.budget.used).toBe(0);
  });
});

describe("two pipelines with the same exporter", () => {
  it("are answered separately when it throws at once for one of them", async () => {
    const taken: string[] = [];
    const exporter: Exporter = {
      send(batch) {
        if (bodies(batch).includes("bad")) throw new Error("thrown at once");
        taken.push(...bodies(batch));
        return Promise.resolve(undefined);
      },
    };
    const { graph, intake } = sketch({
      exporters: { end: exporter },
      pipelines: {
        "logs/a": { receivers: ["a"], exporters: ["end"] },
        "logs/b": { receivers: ["b"], exporters: ["end"] },
      },
    });
    const answers = await Promise.all([
      intake("a").accept(logs("bad")),
      intake("b").accept(logs("good")),
      intake("a").accept(logs("better")),
    ]);
    expect(answers).toMatchObject([{ ok: false, refusal: { kind: "transient" } }, { ok: true }, { ok: true }]);
    expect(taken).toEqual(["good", "better"]);
    await graph.drain();
  });

  it("both flush into it before it drains", async () => {
    const { taken, exporter } = collecting();
    const { graph, intake } = sketch({
      processors: { hold: holding },
      exporters: { end: exporter },
      pipelines: {
        "logs/a": { receivers: ["a"], processors: ["hold"], exporters: ["end"] },
        "logs/b": { receivers: ["b"], exporters: ["end"] },
      },
    });
    const answers = [intake("a").accept(logs("1")), intake("b").accept(logs("2"))];
    await graph.drain();
    expect(taken.toSorted()).toEqual(["1", "2"]);
    expect(await Promise.all(answers)).toMatchObject([{ ok: true }, { ok: true }]);
  });
});

describe("an exporter whose promise never settles", () => {
  it("is given up after its timeout, and its place goes to the next", async () => {
    const clock = new FakeClock();
    const calls: string[] = [];
    const exporter: Exporter = {
      send(batch) {
        calls.push(...bodies(batch));
        return bodies(batch).includes("stuck") ? new Promise(() => {}) : Promise.resolve(undefined);
      },
    };
    const { graph, intake } = sketch(
      { exporters: { end: exporter }, pipelines: { logs: { receivers: ["in"], exporters: ["end"] } } },
      { clock },
    );
    const stuck = intake("in").accept(logs("stuck"));
    expect(await intake("in").accept(logs("next"))).toMatchObject({ ok: true });
    clock.advance(60_000);
    clock.advance(60_000);
    expect(await stuck).toMatchObject({ ok: false, refusal: { kind: "transient", code: "SLUICE_TIMEOUT" } });
    await graph.drain();
    expect(calls).toEqual(["stuck", "next"]);
    expect(graph.budget.used).toBe(0);
  });
});
