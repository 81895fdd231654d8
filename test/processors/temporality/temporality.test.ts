import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Batch, Refusal } from "../../../src/plugin.js";
import { cumulativeToDelta } from "../../../src/processors/temporality/cumulative-to-delta/component.js";
import { deltaToCumulative } from "../../../src/processors/temporality/delta-to-cumulative/component.js";
import { decodeTree, encodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { owed } from "../../support/deliveries.js";
import { counting, processing } from "../../support/processors.js";
import { runs } from "../../support/runs.js";
import { attributes, text } from "../../support/telemetry/ottl.js";
import { recordsOf } from "../../support/telemetry/trees.js";

const CUMULATIVE = 2;
const DELTA = 1;
const S = 1_000_000_000n;

/** Points of one metric; times are in seconds. */
function sums(temporality: number, points: readonly Tree[], rest: Tree = {}): Batch {
  const dataPoints = points.map((point) => ({ attributes: attributes({ a: text("1") }), ...point }));
  const sum = { dataPoints, aggregationTemporality: temporality, isMonotonic: true, ...rest };
  return batchOf({ name: "m", unit: "1", sum });
}

function batchOf(...metrics: Tree[]): Batch {
  return encodeTree("metrics", { resourceMetrics: [{ resource: {}, scopeMetrics: [{ scope: {}, metrics }] }] });
}

const at = (time: number, value: number | bigint, start = 1): Tree => ({
  startTimeUnixNano: BigInt(start) * S,
  timeUnixNano: BigInt(time) * S,
  ...(typeof value === "bigint" ? { asInt: value } : { asDouble: value }),
});

type Step = ReturnType<typeof processing>;

/** Returns [start, time, value] of every resulting point. The batch is settled afterwards. */
function through({ source, out }: Step, batch: Batch, refusal?: Refusal): unknown[] {
  source.next(owed(batch).delivery);
  return out.splice(0).flatMap((delivery) => {
    const records = recordsOf("metrics", decodeTree(delivery.batch));
    if (refusal === undefined) delivery.accept();
    else delivery.refuse(refusal);
    return records.map(({ record }) => [
      Number((record["startTimeUnixNano"] as bigint) / S),
      Number((record["timeUnixNano"] as bigint) / S),
      record["asInt"] ?? record["asDouble"] ?? record,
    ]);
  });
}

const toDelta = (config: object = { initial_value: "keep" }) => processing(cumulativeToDelta, config, "metrics");
const toCumulative = (config: object = {}) => processing(deltaToCumulative, config, "metrics");
const busy = new Refusal("transient", "busy");

describe("cumulative_to_delta", () => {
  it("returns the difference from the last point, as integers and doubles", () => {
    const step = toDelta();
    const exact = 9_007_199_254_740_993n;
    expect(through(step, sums(CUMULATIVE, [at(2, exact), at(3, exact + 1n)]))).toEqual([
      [1, 2, exact],
      [2, 3, 1n],
    ]);
    const doubles = toDelta();
    expect(through(doubles, sums(CUMULATIVE, [at(2, 1.5), at(3, 4)]))).toEqual([
      [1, 2, 1.5],
      [2, 3, 2.5],
    ]);
  });

  it("sets the temporality to delta, and leaves the bytes of other metrics unchanged", () => {
    const { source, out } = toDelta();
    source.next(owed(sums(CUMULATIVE, [at(2, 1n)])).delivery);
    expect(recordsOf("metrics", decodeTree(out[0]!.batch))[0]!.metric).toMatchObject({
      name: "m",
      unit: "1",
      sum: { aggregationTemporality: DELTA, isMonotonic: true },
    });
    for (const batch of [
      sums(DELTA, [at(2, 1n)]),
      sums(CUMULATIVE, [at(2, 1n)], { isMonotonic: false }),
      batchOf({ name: "g", gauge: { dataPoints: [at(2, 1n)] } }),
    ]) {
      source.next(owed(batch).delivery);
      expect(out.at(-1)!.batch).toBe(batch);
    }
  });

  it("passes the first point on if the counter is known to be new, or as configured", () => {
    expect(through(toDelta({}), sums(CUMULATIVE, [at(2, 5n), at(3, 6n)]))).toEqual([[2, 3, 1n]]);
    expect(through(toDelta({ initial_value: "drop" }), sums(CUMULATIVE, [at(2, 5n)]))).toEqual([]);
    const step = toDelta({});
    const now = Math.ceil(step.clock.now() / 1000) + 1;
    expect(through(step, sums(CUMULATIVE, [at(now + 5, 5n, now)]))).toEqual([[now, now + 5, 5n]]);
  });

  it("counts the whole value of a counter that was reset", () => {
    const step = toDelta();
    through(step, sums(CUMULATIVE, [at(2, 50n)]));
    expect(through(step, sums(CUMULATIVE, [at(5, 7n, 4), at(6, 9n, 4)]))).toEqual([
      [4, 5, 7n],
      [5, 6, 2n],
    ]);
  });

  it("counts refused points that come again once, also when other points came in between", () => {
    const step = toDelta();
    through(step, sums(CUMULATIVE, [at(2, 10n)]));
    expect(through(step, sums(CUMULATIVE, [at(3, 15n)]), busy)).toEqual([[2, 3, 5n]]);
    expect(through(step, sums(CUMULATIVE, [at(3, 15n)]))).toEqual([[2, 3, 5n]]);
    step.source.next(owed(sums(CUMULATIVE, [at(4, 20n)])).delivery);
    const [held] = step.out.splice(0);
    expect(through(step, sums(CUMULATIVE, [at(5, 22n)]))).toEqual([[4, 5, 2n]]);
    held!.refuse(busy);
    expect(through(step, sums(CUMULATIVE, [at(4, 20n)]))).toEqual([]);
    expect(through(step, sums(CUMULATIVE, [at(6, 30n)]))).toEqual([[5, 6, 13n]]);
    const first = toDelta();
    expect(through(first, sums(CUMULATIVE, [at(2, 3n)]), busy)).toEqual([[1, 2, 3n]]);
    expect(through(first, sums(CUMULATIVE, [at(2, 3n)]))).toEqual([[1, 2, 3n]]);
  });

  it("keeps series apart by resource, scope, name, unit, type and attributes in any order", () => {
    const step = toDelta({ initial_value: "drop" });
    const [a, b] = [
      { key: "a", value: text("1") },
      { key: "b", value: text("2") },
    ];
    through(step, sums(CUMULATIVE, [{ ...at(2, 1n), attributes: [a, b] }]));
    expect(through(step, sums(CUMULATIVE, [{ ...at(3, 3n), attributes: [b, a] }]))).toEqual([[2, 3, 2n]]);
    expect(through(step, sums(CUMULATIVE, [{ ...at(3, 3n), attributes: [a] }]))).toEqual([]);
    const other = {
      name: "m",
      unit: "By",
      sum: { dataPoints: [{ ...at(3, 3n), attributes: [a, b] }], aggregationTemporality: 2, isMonotonic: true },
    };
    expect(through(step, batchOf(other))).toEqual([]);
  });

  it("converts the configured metrics, by name and type", () => {
    const only = toDelta({ include: { match_type: "regexp", metrics: ["^n"] }, initial_value: "keep" });
    const batch = sums(CUMULATIVE, [at(2, 1n)]);
    only.source.next(owed(batch).delivery);
    expect(only.out[0]!.batch).toBe(batch);
    const not = toDelta({ exclude: { metric_types: ["Sum"] } });
    not.source.next(owed(batch).delivery);
    expect(not.out[0]!.batch).toBe(batch);
  });

  it("drops and counts points that are not newer, have no value, or have no room", () => {
    const { metrics, counts } = counting();
    const step = processing(cumulativeToDelta, { max_series: 1, initial_value: "keep" }, "metrics", { metrics });
    through(step, sums(CUMULATIVE, [at(3, 1n), at(3, 1n), at(2, 0n), { ...at(4, 0n), flags: 1 }]));
    through(step, sums(CUMULATIVE, [{ ...at(3, 1n), attributes: [] }]));
    const reasons = [...counts].map(([name, count]) => `${name.replace(/^.*reason=/, "").replace("}", "")} ${count}`);
    expect(reasons.sort()).toEqual(["max_series 1", "no_value 1", "out_of_order 2"]);
  });
});

describe("delta_to_cumulative", () => {
  it("adds up, from the start of the first point on", () => {
    const step = toCumulative();
    expect(through(step, sums(DELTA, [at(2, 5n), at(3, 2n, 2), at(3, 9n, 2)]))).toEqual([
      [1, 2, 5n],
      [1, 3, 7n],
    ]);
  });

  it("counts refused points that come again once", () => {
    const step = toCumulative();
    through(step, sums(DELTA, [at(2, 5n)]));
    expect(through(step, sums(DELTA, [at(3, 2n, 2)]), busy)).toEqual([[1, 3, 7n]]);
    expect(through(step, sums(DELTA, [at(3, 2n, 2)]))).toEqual([[1, 3, 7n]]);
    step.source.next(owed(sums(DELTA, [at(4, 1n, 3)])).delivery);
    const [held] = step.out.splice(0);
    expect(through(step, sums(DELTA, [at(5, 1n, 4)]))).toEqual([[1, 5, 9n]]);
    held!.refuse(busy);
    expect(through(step, sums(DELTA, [at(4, 1n, 3)]))).toEqual([]);
    expect(through(step, sums(DELTA, [at(6, 1n, 5)]))).toEqual([[1, 6, 10n]]);
  });

  it("forgets series without points for long", () => {
    const step = toCumulative({ max_stale: "1m" });
    through(step, sums(DELTA, [at(2, 5n)]));
    step.clock.advance(120_000);
    through(step, sums(DELTA, [{ ...at(3, 1n), attributes: [] }]));
    expect(through(step, sums(DELTA, [at(9, 2n, 8)]))).toEqual([[8, 9, 2n]]);
  });
});

describe("both", () => {
  const bounded = fc.array(fc.array(fc.nat(20), { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 6 });

  it("restore the original histograms, with bounds", () => {
    fc.assert(
      fc.property(bounded, (increments) => {
        const totals = increments.map((_, i) =>
          [0, 1, 2].map((k) => increments.slice(0, i + 1).reduce((sum, one) => sum + one[k]!, 0)),
        );
        const dataPoints = totals.map((counts, i) => ({
          startTimeUnixNano: S,
          timeUnixNano: BigInt(i + 2) * S,
          count: BigInt(counts.reduce((a, b) => a + b)),
          sum: counts[1]! * 3 + counts[2]! * 8,
          explicitBounds: [1, 5],
          bucketCounts: counts.map(BigInt),
        }));
        const batch = batchOf({ name: "h", histogram: { dataPoints, aggregationTemporality: CUMULATIVE } });
        expect(bothWays(batch)).toEqual(recordsOf("metrics", decodeTree(batch)).map(({ record }) => record));
      }),
      runs(30),
    );
  });

  it("restore the original exponential histograms, at their final scale", () => {
    const point = fc.record({
      scale: fc.integer({ min: -1, max: 3 }),
      offset: fc.integer({ min: -20, max: 20 }),
      counts: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 }),
    });
    fc.assert(
      fc.property(fc.array(point, { minLength: 1, maxLength: 5 }), (points) => {
        const dataPoints = points.map(({ scale, offset, counts }, i) => ({
          startTimeUnixNano: BigInt(i + 1) * S,
          timeUnixNano: BigInt(i + 2) * S,
          count: BigInt(counts.reduce((a, b) => a + b)),
          sum: 1,
          scale,
          positive: { offset, bucketCounts: counts.map(BigInt) },
        }));
        const batch = batchOf({ name: "e", exponentialHistogram: { dataPoints, aggregationTemporality: DELTA } });
        const step = toCumulative();
        const cumulative = through(step, batch) as [number, number, Tree][];
        const last = cumulative.at(-1)![2];
        const total = dataPoints.reduce((sum, { count }) => sum + count, 0n);
        expect(last["count"]).toBe(total);
        expect((last["positive"] as { bucketCounts: bigint[] }).bucketCounts.reduce((a, b) => a + b)).toBe(total);
        expect((last["scale"] as number | undefined) ?? 0).toBeLessThanOrEqual(
          Math.min(...points.map(({ scale }) => scale)),
        );
      }),
      runs(30),
    );
  });

  function bothWays(batch: Batch): Tree[] {
    const [first, second] = [toDelta(), toCumulative()];
    first.source.next(owed(batch).delivery);
    second.source.next(first.out[0]!);
    return recordsOf("metrics", decodeTree(second.out[0]!.batch)).map(({ record }) => record);
  }
});
