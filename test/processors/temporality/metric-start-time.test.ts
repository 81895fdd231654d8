import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Batch, Refusal } from "../../../src/plugin.js";
import { metricStartTime } from "../../../src/processors/temporality/metric-start-time/component.js";
import { decodeTree, encodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { owed } from "../../support/deliveries.js";
import { counting, processing } from "../../support/processors.js";
import { runs } from "../../support/runs.js";
import { attributes, text } from "../../support/telemetry/ottl.js";
import { recordsOf } from "../../support/telemetry/trees.js";

const S = 1_000_000_000n;

type Point = readonly [time: number, value: number | bigint, name?: string];

/** Cumulative points without start times; times are in seconds. */
const counters = (...points: readonly Point[]) => countersOf({}, ...points);

function countersOf(resource: Tree, ...points: readonly Point[]): Batch {
  const metrics = points.map(([time, value, name = "m"]) => ({ name, sum: sumOf(time, value) }));
  return encodeTree("metrics", { resourceMetrics: [{ resource, scopeMetrics: [{ scope: {}, metrics }] }] });
}

const sumOf = (time: number, value: number | bigint): Tree => ({
  aggregationTemporality: 2,
  isMonotonic: true,
  dataPoints: [
    {
      timeUnixNano: BigInt(time) * S,
      attributes: attributes({ a: text("1") }),
      ...(typeof value === "bigint" ? { asInt: value } : { asDouble: value }),
    },
  ],
});

/** Returns [start, time, value] of every resulting point, in seconds. The batch is settled afterwards. */
function through({ source, out }: ReturnType<typeof processing>, batch: Batch, refusal?: Refusal): unknown[] {
  source.next(owed(batch).delivery);
  return out.splice(0).flatMap((delivery) => {
    const records = recordsOf("metrics", decodeTree(delivery.batch));
    if (refusal === undefined) delivery.accept();
    else delivery.refuse(refusal);
    return records.map(({ record }) => [
      Number((record["startTimeUnixNano"] as bigint | undefined) ?? 0n) / Number(S),
      Number(record["timeUnixNano"]) / Number(S),
      record["asInt"] ?? record["asDouble"],
    ]);
  });
}

const setUp = (config: object = {}) => processing(metricStartTime, config, "metrics");
const subtracting = () => setUp({ strategy: "subtract_initial_point" });
const busy = new Refusal("transient", "busy");

describe("metric_start_time", () => {
  it("starts a series at its first point, and a millisecond before a reset", () => {
    const step = setUp();
    expect(through(step, counters([10, 5]))).toEqual([[10, 10, 5]]);
    expect(through(step, counters([20, 7]))).toEqual([[10, 20, 7]]);
    expect(through(step, counters([30, 1]))).toEqual([[29.999, 30, 1]]);
    expect(through(step, counters([40, 2]))).toEqual([[29.999, 40, 2]]);
  });

  it("subtracts the first point from the others, also exactly with large integers", () => {
    const step = subtracting();
    const large = 9_007_199_254_740_993n;
    expect(through(step, counters([10, large]))).toEqual([]);
    expect(through(step, counters([20, large + 2n]))).toEqual([[10, 20, 2n]]);
    expect(through(step, counters([30, 4n]))).toEqual([[29.999, 30, 4n]]);
    expect(through(step, counters([40, 6n]))).toEqual([[29.999, 40, 6n]]);
  });

  it("gives a refused batch the same start times when it comes again", () => {
    for (const strategy of ["true_reset_point", "subtract_initial_point"]) {
      const step = setUp({ strategy });
      through(step, counters([10, 5], [10, 9, "other"]));
      const batch = () => counters([20, 1], [20, 12, "other"], [20, 3, "new"]);
      const first = through(step, batch(), busy);
      expect(first.length).toBeGreaterThan(1);
      expect(through(step, batch())).toEqual(first);
    }
  });

  it("sees no reset in a refused batch that comes again with several points of a series", () => {
    for (const strategy of ["true_reset_point", "subtract_initial_point"]) {
      const step = setUp({ strategy });
      through(step, counters([10, 5]));
      const batch = () =>
        counters([20, 6], [30, 8], [40, 2], [20, 100, "new"], [30, 150, "new"], [40, 3, "new"], [50, 4, "new"]);
      const first = through(step, batch(), busy);
      expect(first.length).toBeGreaterThan(5);
      expect(through(step, batch(), busy)).toEqual(first);
      expect(through(step, batch())).toEqual(first);
      expect(through(step, counters([60, 9]))).toEqual([[39.999, 60, 9]]);
    }
  });

  it("keeps the state of a series that a later batch has changed when a batch is refused", () => {
    const step = setUp();
    through(step, counters([10, 5]));
    step.source.next(owed(counters([20, 1])).delivery);
    const [refused] = step.out.splice(0);
    expect(through(step, counters([30, 2]))).toEqual([[19.999, 30, 2]]);
    refused!.refuse(busy);
    expect(through(step, counters([40, 3]))).toEqual([[19.999, 40, 3]]);
  });

  it("acknowledges a batch that has only first points", () => {
    const step = subtracting();
    const { delivery, outcomes } = owed(counters([10, 5]));
    step.source.next(delivery);
    expect(outcomes).toMatchObject([{ ok: true }]);
    expect(step.out).toEqual([]);
  });

  it("uses the start of the process if no metric tells the start", () => {
    const step = setUp({ strategy: "start_time_metric" });
    const [[start]] = through(step, counters([10, 5])) as [[number]];
    expect(start).toBe(Math.floor(performance.timeOrigin / 1000));
  });

  it.each([Number.NaN, -1, 1e20])("uses the start of the process if the metric says %d", (value) => {
    const step = setUp({ strategy: "start_time_metric" });
    const [[start]] = through(step, counters([10, 5], [10, value, "process_start_time_seconds"])) as [[number]];
    expect(start).toBe(Math.floor(performance.timeOrigin / 1000));
  });

  it("forgets a series that had no points for gc_interval", () => {
    const step = setUp({ gc_interval: "1m" });
    through(step, counters([10, 5]));
    step.clock.advance(60_001);
    through(step, counters([20, 5, "other"]));
    expect(through(step, counters([30, 7]))).toEqual([[30, 30, 7]]);
  });

  it("knows a series that has points when very many other resources have come and gone", () => {
    const step = setUp();
    through(step, counters([10, 5]));
    for (let i = 0; i < 80; i++) {
      const resource = { attributes: attributes({ long: text("x".repeat(1024 * 1024) + i) }) };
      through(step, countersOf(resource, [10, 5]));
      if (i % 25 === 0) through(step, counters([11, 6]));
    }
    expect(through(step, counters([20, 7]))).toEqual([[10, 20, 7]]);
  });

  it("leaves points of series beyond max_series as they are, and drops them if it should subtract", () => {
    const { metrics, counts } = counting();
    const kept = processing(metricStartTime, { max_series: 1 }, "metrics");
    expect(through(kept, counters([10, 5], [10, 6, "other"]))).toEqual([
      [10, 10, 5],
      [0, 10, 6],
    ]);
    const config = { max_series: 1, strategy: "subtract_initial_point" };
    const dropping = processing(metricStartTime, config, "metrics", { metrics });
    expect(through(dropping, counters([10, 5], [10, 6, "other"]))).toEqual([]);
    expect(through(dropping, counters([20, 5], [20, 6, "other"]))).toEqual([[10, 20, 0]]);
    const dropped = "otelcol_metricstarttime_datapoints_dropped{processor=metric_start_time,reason=";
    expect([...counts]).toEqual([
      [`${dropped}initial}`, 1],
      [`${dropped}max_series}`, 2],
    ]);
  });

  it("keeps increases between points of a series, whatever the values", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { minLength: 2, maxLength: 20 }), (increases) => {
        const step = subtracting();
        let total = 100;
        through(step, counters([0, total]));
        let sum = 0;
        for (const [i, increase] of increases.entries()) {
          total += increase;
          sum += increase;
          expect(through(step, counters([i + 1, total]))).toEqual([[0, i + 1, sum]]);
        }
      }),
      runs(50),
    );
  });
});
