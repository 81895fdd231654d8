import { describe, expect, it } from "vitest";
import { decodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { compileCondition, compileStatement } from "../../../../src/runtime/ottl/compile/compile.js";
import { dropWhere, transformBatch } from "../../../../src/runtime/ottl/compile/run.js";
import { attributes, int, METRICS, metricsOf, text } from "../../../support/telemetry/ottl.js";

const TRACE_ID = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
const EXEMPLARS: Tree[] = [
  { timeUnixNano: 5n, asInt: 7n, traceId: TRACE_ID, filteredAttributes: attributes({ user: text("ada"), n: int(1n) }) },
  { asDouble: 2.5, filteredAttributes: attributes({ user: text("bob") }) },
];

/** Every kind of metric, each with its one point and the same exemplars where it has such. */
const BATCH = metricsOf(
  ...Object.entries(METRICS).map(([kind, metric]) => {
    const data = metric[kind] as Tree;
    const [point] = data["dataPoints"] as Tree[];
    const exemplars = kind === "summary" ? {} : { exemplars: EXEMPLARS };
    return { ...metric, [kind]: { ...data, dataPoints: [{ ...point, ...exemplars }] } } as Tree;
  }),
);

function pointsOf(batch: typeof BATCH): Tree[] {
  const [resource] = decodeTree(batch)["resourceMetrics"] as Tree[];
  const [scope] = resource!["scopeMetrics"] as Tree[];
  return (scope!["metrics"] as Tree[]).map((metric) => {
    const kind = Object.keys(METRICS).find((key) => key in metric)!;
    return ((metric[kind] as Tree)["dataPoints"] as Tree[])[0]!;
  });
}

const pointsAfter = (...statements: string[]) =>
  pointsOf(
    transformBatch(
      BATCH,
      statements.map((statement) => compileStatement(statement, "exemplar")),
    ),
  );
const exemplarsOf = (point: Tree) => (point["exemplars"] ?? []) as Tree[];
const user = (exemplar: Tree) =>
  (exemplar["filteredAttributes"] as Tree[]).map(({ value }) => (value as Tree)["stringValue"])[0];

describe("the context exemplar", () => {
  it("visits the exemplars of every kind of point and changes only what is said", () => {
    const points = pointsAfter('set(filtered_attributes["user"], "masked") where exemplar.int_value == 7');
    expect(points.flatMap(exemplarsOf).map(user)).toEqual(Array(4).fill(["masked", "bob"]).flat());
    expect(points.map(({ exemplars: _, ...rest }) => rest)).toEqual(
      pointsOf(BATCH).map(({ exemplars: _, ...rest }) => rest),
    );
  });

  it("reads and sets values, times and ids", () => {
    const [gauge] = pointsAfter(
      "set(double_value, 1.5)",
      "set(time_unix_nano, 9)",
      'set(span_id.string, "0102030405060708")',
      "set(filtered_attributes, {}) where trace_id.string == " + '"0102030405060708090a0b0c0d0e0f10"',
    );
    expect(exemplarsOf(gauge!)[0]).toEqual({
      asDouble: 1.5,
      timeUnixNano: 9n,
      traceId: TRACE_ID,
      spanId: Uint8Array.from({ length: 8 }, (_, i) => i + 1),
    });
  });

  it("reaches the point, the metric, the scope and the resource around", () => {
    const points = pointsAfter(
      'set(datapoint.attributes["seen"], metric.name)',
      'set(datapoint.flags, 0) where datapoint.count == 6 and resource.attributes["replicas"] == 3 and scope.name == "lib"',
    );
    const seen = points.map((point) => (point["attributes"] as Tree[]).find(({ key }) => key === "seen")?.["value"]);
    expect(seen).toEqual([text("g"), text("s"), text("h"), text("e"), undefined]);
    expect(points.map(({ flags }) => flags)).toEqual([1, 1, 0, 1, 1]);
    expect(points.map((point) => exemplarsOf(point).length)).toEqual([2, 2, 2, 2, 0]);
  });

  it("can be filtered without losing points", () => {
    const kept = dropWhere(BATCH, [compileCondition('filtered_attributes["user"] != nil', "exemplar")]);
    expect(kept.count).toBe(BATCH.count);
    expect(pointsOf(kept).flatMap(exemplarsOf)).toEqual([]);
    expect(dropWhere(BATCH, [compileCondition("int_value == 1000", "exemplar")])).toBe(BATCH);
  });
});
