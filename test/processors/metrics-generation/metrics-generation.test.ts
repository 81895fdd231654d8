import { describe, expect, it } from "vitest";
import type { Batch } from "../../../src/plugin.js";
import { metricsGeneration } from "../../../src/processors/metrics-generation/component.js";
import { decodeTree, encodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { owed } from "../../support/deliveries.js";
import { processing } from "../../support/processors.js";
import { recordsOf } from "../../support/telemetry/trees.js";

const gauge = (name: string, ...values: number[]): Tree => ({
  name,
  gauge: { dataPoints: values.map((value) => ({ timeUnixNano: 5n, asInt: BigInt(value) })) },
});

function batchOf(...scopes: Tree[][]): Batch {
  const scopeMetrics = scopes.map((metrics, i) => ({ scope: { name: `s${i}` }, metrics }));
  return encodeTree("metrics", { resourceMetrics: [{ scopeMetrics }] });
}

function generated(batch: Batch, ...rules: object[]): Batch {
  const { source, out } = processing(metricsGeneration, { rules }, "metrics");
  source.next(owed(batch).delivery);
  const result = out[0]!.batch;
  expect(result.count).toBe(recordsOf("metrics", decodeTree(result)).length);
  return result;
}

/** `scope name value` of every point. */
const shown = (batch: Batch) =>
  recordsOf("metrics", decodeTree(batch)).map(
    ({ metric, record, scopeContainer }) =>
      `${(scopeContainer["scope"] as Tree)["name"]} ${metric!["name"]} ${record["asInt"] ?? record["asDouble"]}`,
  );

const percent = { name: "share", unit: "%", type: "calculate", metric1: "used", metric2: "all", operation: "percent" };

describe("metrics_generation", () => {
  it("adds a metric beside its first operand, and uses the first point of the second one", () => {
    const batch = batchOf([gauge("used", 10, 30)], [gauge("all", 40, 80)]);
    expect(shown(generated(batch, percent))).toEqual([
      "s0 used 10",
      "s0 used 30",
      "s0 share 25",
      "s0 share 75",
      "s1 all 40",
      "s1 all 80",
    ]);
  });

  it("keeps the temporality and monotonicity of a sum", () => {
    const used = {
      name: "used",
      sum: { ...(gauge("", 3)["gauge"] as Tree), aggregationTemporality: 2, isMonotonic: true },
    };
    const rule = { name: "twice", type: "scale", metric1: "used", scale_by: 2, operation: "multiply" };
    const [, made] = recordsOf("metrics", decodeTree(generated(batchOf([used]), rule)));
    expect(made!.metric).toMatchObject({ name: "twice", sum: { aggregationTemporality: 2, isMonotonic: true } });
    expect(made!.record).toMatchObject({ timeUnixNano: 5n, asDouble: 6 });
  });

  it("passes on as the same batch what has no operands, or would be divided by 0", () => {
    for (const batch of [
      batchOf([gauge("used", 1)]),
      batchOf([gauge("all", 1)]),
      batchOf([gauge("used", 1), gauge("all", 0)]),
      batchOf([gauge("used"), gauge("all", 1)]),
      batchOf([]),
    ])
      expect(generated(batch, percent)).toBe(batch);
  });

  it("does not mix resources", () => {
    const resourceMetrics = [gauge("used", 1), gauge("all", 2)].map((metric) => ({
      scopeMetrics: [{ metrics: [metric] }],
    }));
    const batch = encodeTree("metrics", { resourceMetrics });
    expect(generated(batch, percent)).toBe(batch);
  });

  it("refuses rules that cannot make anything", () => {
    const { operation: _, ...without } = percent;
    for (const rule of [
      without,
      { ...percent, metric2: "" },
      { ...percent, name: "used" },
      { ...percent, type: "scale" },
    ])
      expect(metricsGeneration.schema.safeParse({ rules: [rule] }).success).toBe(false);
  });
});
