import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Batch, type Delivery, type Origin, Refusal } from "../../../../src/plugin.js";
import { interval } from "../../../../src/processors/intervals/interval/component.js";
import { decodeTree, encodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { owed } from "../../../support/deliveries.js";
import { notesInMemory, processing } from "../../../support/processors.js";
import { runs } from "../../../support/runs.js";
import { attributes, text } from "../../../support/telemetry/ottl.js";
import { recordsOf } from "../../../support/telemetry/trees.js";

const MINUTE = 60_000;
const CUMULATIVE = 2;

const point = (series: string, time: number, value: number): Tree => ({
  attributes: attributes({ a: text(series) }),
  timeUnixNano: BigInt(time),
  asInt: BigInt(value),
});
const counter = (name: string, points: readonly Tree[], data: Tree = {}): Tree => ({
  name,
  sum: { dataPoints: [...points], aggregationTemporality: CUMULATIVE, isMonotonic: true, ...data },
});
const delta = (name: string, points: readonly Tree[]) => counter(name, points, { aggregationTemporality: 1 });

function batchOf(...metrics: Tree[]): Batch {
  const resource = { attributes: attributes({ service: text("shop") }) };
  return encodeTree("metrics", { resourceMetrics: [{ resource, scopeMetrics: [{ scope: { name: "s" }, metrics }] }] });
}

function collecting(config: object = {}, more: Parameters<typeof processing>[3] = {}) {
  const made = processing(interval, config, "metrics", more);
  const send = (batch: Batch, origin: Partial<Origin> = {}) => {
    const { delivery, outcomes } = owed(batch, origin);
    made.source.next(delivery);
    return outcomes;
  };
  return { ...made, send };
}

/** `name/series time value` of every point that came out. */
const shown = (out: readonly Delivery[]) =>
  out.flatMap(({ batch }) =>
    recordsOf("metrics", decodeTree(batch)).map(({ metric, record }) => {
      const [{ value }] = record["attributes"] as [{ value: Tree }];
      return `${metric!["name"]}/${value["stringValue"]} ${record["timeUnixNano"]} ${record["asInt"]}`;
    }),
  );

describe("interval", () => {
  it("passes on the last point of each series once an interval", () => {
    const { send, clock, out } = collecting();
    send(batchOf(counter("c", [point("x", 5, 1), point("y", 6, 2)])));
    send(batchOf(counter("c", [point("x", 9, 3), point("y", 4, 1)])));
    clock.advance(MINUTE - 1);
    expect(out).toEqual([]);
    clock.advance(1);
    expect(shown(out)).toEqual(["c/x 9 3", "c/y 6 2"]);
    expect(out[0]!.batch.count).toBe(2);
    send(batchOf(counter("c", [point("x", 7, 2)])));
    clock.advance(MINUTE);
    expect(shown(out.slice(1))).toEqual(["c/x 7 2"]);
  });

  it("passes deltas, and sums that may fall, on at once, and settles a request when all of it was accepted", () => {
    const { send, clock, out } = collecting();
    const gauge = counter("u", [point("x", 5, 1)], { isMonotonic: false });
    const outcomes = send(batchOf(delta("d", [point("x", 5, 1)]), counter("c", [point("x", 5, 1)]), gauge));
    expect(shown(out)).toEqual(["d/x 5 1", "u/x 5 1"]);
    out[0]!.accept();
    expect(outcomes).toEqual([]);
    clock.advance(MINUTE);
    expect(shown(out.slice(1))).toEqual(["c/x 5 1"]);
    out[1]!.accept();
    expect(outcomes).toMatchObject([{ ok: true }]);
  });

  it("passes a request on as the same batch if nothing of it waits", () => {
    const { send, out } = collecting({ pass_through: { gauge: true } });
    for (const metric of [delta("d", [point("x", 5, 1)]), { name: "g", gauge: { dataPoints: [point("x", 5, 1)] } }]) {
      const batch = batchOf(metric);
      send(batch);
      expect(out.pop()!.batch).toBe(batch);
    }
  });

  it("settles a request as soon as newer points have replaced all of its own", () => {
    const { send, clock, out } = collecting();
    const first = send(batchOf(counter("c", [point("x", 5, 1), point("y", 5, 1)])));
    const second = send(batchOf(counter("c", [point("x", 6, 2)])));
    expect(first).toEqual([]);
    const third = send(batchOf(counter("c", [point("y", 6, 2)])));
    expect(first).toMatchObject([{ ok: true }]);
    expect(send(batchOf(counter("c", [point("y", 1, 0)])))).toMatchObject([{ ok: true }]);
    clock.advance(MINUTE);
    for (const delivery of out) delivery.refuse(new Refusal("transient", "busy"));
    expect([...second, ...third]).toMatchObject([{ ok: false }, { ok: false }]);
  });

  it("tells metrics apart by unit, kind, temporality and monotonicity, and series by resource and scope", () => {
    const { send, clock, out } = collecting();
    const points = [point("x", 5, 1)];
    send(
      batchOf(
        counter("m", points),
        { ...counter("m", points), unit: "By" },
        { name: "m", gauge: { dataPoints: points } },
      ),
    );
    const scopeMetrics = [{ scope: { name: "t" }, metrics: [counter("m", points)] }];
    send(encodeTree("metrics", { resourceMetrics: [{ resource: {}, scopeMetrics }] }));
    clock.advance(MINUTE);
    expect(shown(out)).toHaveLength(4);
  });

  it("passes on early when more bytes wait than max_bytes allows", () => {
    const batch = batchOf(counter("c", [point("x", 5, 1)]));
    const { send, out } = collecting({ max_bytes: batch.byteLength });
    send(batch);
    expect(out).toEqual([]);
    send(batchOf(counter("c", [point("y", 5, 1)])));
    expect(shown(out)).toEqual(["c/x 5 1", "c/y 5 1"]);
  });

  it("does not pass deltas on again that were accepted before a crash", () => {
    const notes = notesInMemory();
    const batch = batchOf(delta("d", [point("x", 5, 1)]), counter("c", [point("x", 5, 1)]));
    const before = collecting({}, { journal: notes.open() });
    before.send(batch, { position: 3 });
    before.out[0]!.accept();
    before.unsubscribe();
    const after = collecting({}, { journal: notes.open() });
    after.send(batch, { position: 3 });
    after.clock.advance(MINUTE);
    expect(shown(after.out)).toEqual(["c/x 5 1"]);
  });

  it("passes on the point with the latest time of every series, in whatever order they come", () => {
    const points = fc.array(fc.tuple(fc.constantFrom("x", "y", "z"), fc.nat(1000)), { minLength: 1, maxLength: 30 });
    const law = fc.property(points, (all) => {
      const { send, clock, out } = collecting();
      const latest = new Map<string, number>();
      for (const [series, time] of all) {
        send(batchOf(counter("c", [point(series, time, time)])));
        latest.set(series, Math.max(latest.get(series) ?? 0, time));
      }
      clock.advance(MINUTE);
      expect(shown(out).sort()).toEqual([...latest].map(([series, time]) => `c/${series} ${time} ${time}`).sort());
    });
    fc.assert(law, runs(100));
  });
});
