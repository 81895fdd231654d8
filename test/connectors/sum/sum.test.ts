import { describe, expect, it } from "vitest";
import { sum } from "../../../src/connectors/sum/component.js";
import { type Batch, encodeTree, type Tree } from "../../../src/plugin.js";
import { decodeTree } from "../../../src/runtime/otlp/json/tree.js";
import { attributes, text } from "../../support/telemetry/ottl.js";
import { recordsOf } from "../../support/telemetry/trees.js";
import { through } from "../support.js";

const record = (amount: Tree, labels: Record<string, string> = {}): Tree => ({
  attributes: attributes({
    amount,
    ...Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, text(value)])),
  }),
});

function logsOf(...logRecords: Tree[]): Batch {
  const resource = { attributes: attributes({ service: text("shop") }) };
  return encodeTree("logs", { resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] });
}

/** `name{key=value} sum`, for every point. */
function summed(config: object, batch: Batch): string[] {
  const { out } = through(sum, config, batch, { to: "metrics" });
  return out.flatMap((delivery) =>
    recordsOf("metrics", decodeTree(delivery.batch)).map(({ record: point, metric }) => {
      const labels = ((point["attributes"] ?? []) as Tree[]).map(
        ({ key, value }) => `${key}=${Object.values(value as Tree)[0]}`,
      );
      return `${metric!["name"]}{${labels.join(",")}} ${point["asDouble"]}`;
    }),
  );
}

const total = (rest: object = {}) => ({ logs: { total: { source_attribute: "amount", ...rest } } });
const ORDERS = logsOf(
  record({ intValue: 5n }, { currency: "EUR", shop: "a" }),
  record({ doubleValue: 2.5 }, { currency: "EUR", shop: "b" }),
  record(text("1.5"), { currency: "USD", shop: "a" }),
  record(text("many"), { currency: "USD" }),
);

describe("sum", () => {
  it("adds up whole numbers, fractions and texts that are numbers; others count as 0", () =>
    expect(summed(total(), ORDERS)).toEqual(["total{} 9"]));

  it("adds up separately for each combination of attributes, and leaves out records without them", () => {
    expect(summed(total({ attributes: [{ key: "currency" }] }), ORDERS)).toEqual([
      "total{currency=EUR} 7.5",
      "total{currency=USD} 1.5",
    ]);
    expect(summed(total({ attributes: [{ key: "currency" }, { key: "shop" }] }), ORDERS)).toEqual([
      "total{currency=EUR,shop=a} 5",
      "total{currency=EUR,shop=b} 2.5",
      "total{currency=USD,shop=a} 1.5",
    ]);
  });

  it("adds up only records for which a condition holds", () =>
    expect(summed(total({ conditions: ['attributes["shop"] == "a"'] }), ORDERS)).toEqual(["total{} 6.5"]));

  it("makes delta sums under the same resource, with the time of now", () => {
    const { out } = through(sum, total({ description: "d" }), ORDERS, { to: "metrics" });
    const [only] = recordsOf("metrics", decodeTree(out[0]!.batch));
    expect(only!.resourceContainer["resource"]).toEqual({ attributes: attributes({ service: text("shop") }) });
    expect(only!.metric).toMatchObject({ description: "d", sum: { aggregationTemporality: 1, isMonotonic: true } });
    expect(only!.record["timeUnixNano"]).toBeGreaterThan(0n);
  });

  it("carries the debt of what it adds up, and acknowledges batches with nothing to add up", () => {
    const { out, outcomes } = through(sum, total(), ORDERS, { to: "metrics" });
    expect(outcomes).toEqual([]);
    out[0]!.accept();
    expect(outcomes).toMatchObject([{ ok: true }]);
    for (const config of [{}, total({ conditions: ["false"] })]) {
      const none = through(sum, config, ORDERS, { to: "metrics" });
      expect(none.out).toEqual([]);
      expect(none.outcomes).toMatchObject([{ ok: true }]);
    }
  });

  it("refuses metrics without a source, and attributes of metrics", () => {
    expect(sum.schema.safeParse({ logs: { total: {} } }).success).toBe(false);
    const metrics = { total: { source_attribute: "a", attributes: [{ key: "k" }] } };
    expect(sum.schema.safeParse({ metrics }).success).toBe(false);
  });
});
