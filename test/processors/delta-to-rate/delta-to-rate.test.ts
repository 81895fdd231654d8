import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../src/plugin.js";
import { deltaToRate } from "../../../src/processors/delta-to-rate/component.js";
import { decodeTree, encodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { owed } from "../../support/deliveries.js";
import { processing } from "../../support/processors.js";
import { runs } from "../../support/runs.js";
import { attributes, text } from "../../support/telemetry/ottl.js";
import { recordsOf } from "../../support/telemetry/trees.js";

const DELTA = 1;
const S = 1_000_000_000n;

const sum = (name: string, points: readonly Tree[], rest: Tree = {}, data: Tree = {}): Tree => ({
  name,
  sum: { dataPoints: [...points], aggregationTemporality: DELTA, isMonotonic: true, ...data },
  ...rest,
});

const point = (from: bigint, to: bigint, value: Tree): Tree => ({
  startTimeUnixNano: from,
  timeUnixNano: to,
  attributes: attributes({ host: text("a") }),
  ...value,
});

function batchOf(...metrics: Tree[]): Batch {
  const resource = { attributes: attributes({ service: text("shop") }) };
  return encodeTree("metrics", { resourceMetrics: [{ resource, scopeMetrics: [{ scope: { name: "s" }, metrics }] }] });
}

function converted(batch: Batch, metrics: readonly string[] = ["requests"]): Batch {
  const { source, out } = processing(deltaToRate, { metrics }, "metrics");
  source.next(owed(batch).delivery);
  expect(out).toHaveLength(1);
  expect(out[0]!.batch.count).toBe(batch.count);
  return out[0]!.batch;
}

const metricsOf = (batch: Batch) => recordsOf("metrics", decodeTree(batch)).map(({ metric }) => metric!);
const rates = (...points: readonly Tree[]) =>
  recordsOf("metrics", decodeTree(converted(batchOf(sum("requests", points))))).map(({ record }) => record["asDouble"]);

describe("delta_to_rate", () => {
  it("divides whole numbers and fractions by the seconds of their point", () => {
    expect(
      rates(
        point(10n * S, 20n * S, { asInt: 25n }),
        point(10n * S, 20n * S, { asInt: -25n }),
        point(10n * S, 10n * S + S / 2n, { asDouble: 1.5 }),
      ),
    ).toEqual([2.5, -2.5, 3]);
  });

  it("makes a gauge of the sum, keeps everything else of its points, and adds /s to the unit", () => {
    const extras = { flags: 1, exemplars: [{ timeUnixNano: 3n, asInt: 7n }] };
    const metric = sum("requests", [point(0n, S, { asInt: 4n, ...extras })], {
      description: "all of them",
      unit: "{request}",
      metadata: attributes({ team: text("web") }),
    });
    const [result] = metricsOf(converted(batchOf(metric)));
    expect(result).toEqual({
      name: "requests",
      description: "all of them",
      unit: "{request}/s",
      metadata: attributes({ team: text("web") }),
      gauge: { dataPoints: [{ ...point(0n, S, { asDouble: 4 }), ...extras, startTimeUnixNano: expect.anything() }] },
    });
  });

  it("leaves a metric without a unit without one", () => {
    expect(metricsOf(converted(batchOf(sum("requests", [point(0n, S, { asInt: 4n })]))))[0]).not.toHaveProperty("unit");
  });

  it("gives a rate of 0 if the point ends when it starts, or before", () => {
    expect(rates(point(S, S, { asInt: 4n }), point(2n * S, S, { asInt: 4n }))).toEqual([0, 0]);
  });

  it("counts a missing start as the beginning of 1970, as the Collector does", () => {
    const [rate] = rates({ timeUnixNano: 1_700_000_000n * S, asInt: 1_700_000_000n });
    expect(rate).toBe(1);
  });

  it("keeps points without a value as they are", () => {
    expect(rates(point(0n, S, { flags: 1 }), point(0n, S, { asInt: 4n }))).toEqual([undefined, 4]);
  });

  it("passes on as the same bytes whatever it does not convert", () => {
    const points = [point(0n, S, { asInt: 4n })];
    for (const metric of [
      sum("other", points),
      sum("requests", points, {}, { aggregationTemporality: 2 }),
      { name: "requests", gauge: { dataPoints: points } },
      { name: "requests" },
      sum("requests", points, { gauge: { dataPoints: points } }),
    ]) {
      const batch = batchOf(metric);
      expect(converted(batch)).toBe(batch);
    }
  });

  it("keeps the bytes of the metrics beside those that it converts", () => {
    const beside = sum("beside", [point(5n, 9n, { asInt: 4n })]);
    const result = converted(batchOf(beside, sum("requests", [point(0n, S, { asInt: 1n })]), beside));
    expect(metricsOf(result).map(({ name }) => name)).toEqual(["beside", "requests", "beside"]);
    expect(metricsOf(result)[0]).toEqual(metricsOf(batchOf(beside))[0]);
  });

  it("divides as numbers are divided, for any times and values", () => {
    const times = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    const law = fc.property(times, times, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (from, to, value) => {
      const [rate] = rates(point(from, to, { asInt: value }));
      const nanoseconds = BigInt.asIntN(64, to - from);
      const seconds = Number(nanoseconds / S) + Number(nanoseconds % S) / 1e9;
      expect(rate).toBe(seconds > 0 ? Number(value) / seconds : 0);
    });
    fc.assert(law, runs(200));
  });

  it("refuses a config without metrics", () => {
    expect(deltaToRate.schema.safeParse({}).success).toBe(false);
    expect(deltaToRate.schema.safeParse({ metrics: [] }).success).toBe(false);
  });

  it("survives bytes that repeat fields", () => {
    const one = batchOf(sum("requests", [point(0n, S, { asInt: 4n })])).bytes;
    const twice = Batch.admit("metrics", Buffer.concat([one, one]));
    expect(metricsOf(converted(twice)).map((metric) => Object.keys(metric))).toEqual([
      ["name", "gauge"],
      ["name", "gauge"],
    ]);
  });
});
