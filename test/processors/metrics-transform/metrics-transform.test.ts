import { describe, expect, it } from "vitest";
import { Batch } from "../../../src/plugin.js";
import { metricsTransform } from "../../../src/processors/metrics-transform/component.js";
import { decodeTree, encodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { owed } from "../../support/deliveries.js";
import { processing } from "../../support/processors.js";
import { attributes, text } from "../../support/telemetry/ottl.js";
import { listOf, recordsOf } from "../../support/telemetry/trees.js";

type Points = readonly (readonly [labels: Record<string, string>, value: number])[];

const labelled = (labels: Record<string, string>) =>
  attributes(Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, text(value)])));

function sum(name: string, points: Points, rest: Tree = {}): Tree {
  const dataPoints = points.map(([labels, value]) => ({
    attributes: labelled(labels),
    timeUnixNano: 5n,
    asInt: BigInt(value),
  }));
  return { name, sum: { dataPoints, aggregationTemporality: 2, isMonotonic: true }, ...rest };
}

function batchOf(...metrics: Tree[]): Batch {
  const resource = { attributes: attributes({ host: text("h") }) };
  return encodeTree("metrics", { resourceMetrics: [{ resource, scopeMetrics: [{ scope: { name: "s" }, metrics }] }] });
}

function transformed(transforms: readonly object[], batch: Batch): Batch | undefined {
  const { source, out } = processing(metricsTransform, { transforms }, "metrics");
  source.next(owed(batch).delivery);
  const [first] = out;
  if (first !== undefined) expect(first.batch.count).toBe(recordsOf("metrics", decodeTree(first.batch)).length);
  return first?.batch;
}

/** `name{key=value} value`, for every point. */
function shown(transforms: readonly object[], ...metrics: Tree[]): string[] {
  const batch = transformed(transforms, batchOf(...metrics));
  if (batch === undefined) return [];
  return recordsOf("metrics", decodeTree(batch)).map(({ record, metric }) => {
    const labels = listOf(record, "attributes").map(({ key, value }) => `${key}=${(value as Tree)["stringValue"]}`);
    return `${metric!["name"]}{${labels.join(",")}} ${record["asInt"] ?? record["asDouble"] ?? record["sum"]}`;
  });
}

/** A field of protobuf with a length. */
function field(number: number, content: string | Buffer): Buffer {
  const tag = (number << 3) | 2;
  const head = tag < 128 ? [tag] : [(tag & 127) | 128, tag >> 7];
  return Buffer.concat([Buffer.from([...head, Buffer.byteLength(content)]), Buffer.from(content as string)]);
}

const CPU = sum("cpu", [
  [{ state: "user", core: "0" }, 10],
  [{ state: "user", core: "1" }, 20],
  [{ state: "idle", core: "0" }, 30],
]);

const update = (...operations: object[]) => [{ include: "cpu", action: "update", operations }];

describe("metrics_transform", () => {
  it("renames, and passes metrics that do not match as the same bytes", () => {
    expect(
      shown([{ include: "a", action: "update", new_name: "b" }], sum("a", [[{}, 1]]), sum("c", [[{}, 2]])),
    ).toEqual(["b{} 1", "c{} 2"]);
    const batch = batchOf(CPU);
    expect(transformed([{ include: "other", action: "update", new_name: "x" }], batch)).toBe(batch);
  });

  it("fills pattern groups into names, each transform working on the result of the previous ones", () => {
    const transforms = [
      { include: "^(.*)_total$", match_type: "regexp", action: "update", new_name: "$1.count" },
      { include: "a.count", action: "update", new_name: "z" },
    ];
    expect(shown(transforms, sum("a_total", [[{}, 1]]), sum("b_total", [[{}, 2]]))).toEqual(["z{} 1", "b.count{} 2"]);
  });

  it("replaces the name and leaves all other bytes of the metric unchanged", () => {
    const [named, unknownField, value] = [field(1, "cpu"), field(99, "kept"), field(3, "s")];
    const metricsOf = (...fields: Buffer[]) => field(1, field(2, field(2, Buffer.concat(fields))));
    const rename = [{ include: "cpu", action: "update", new_name: "processor.time" }];
    const renamed = Buffer.from(
      transformed(rename, Batch.admit("metrics", metricsOf(unknownField, named, value)))!.bytes,
    );
    expect(renamed.toString("hex")).toBe(metricsOf(field(1, "processor.time"), unknownField, value).toString("hex"));
    const nameless = [{ include: "^$", match_type: "regexp", action: "update", new_name: "x" }];
    const given = Batch.admit("metrics", metricsOf(value));
    expect(Buffer.from(transformed(nameless, given)!.bytes).toString("hex")).toBe(
      metricsOf(field(1, "x"), value).toString("hex"),
    );
  });

  it("applies later transforms to renamed metrics, and to copies of changed ones", () => {
    const transforms = [
      { include: "cpu", action: "update", new_name: "a" },
      { include: "a", action: "insert", new_name: "b" },
      { include: "b", action: "update", operations: [{ action: "aggregate_labels", aggregation_type: "sum" }] },
      { include: "b", action: "insert", new_name: "c" },
      { include: "b", action: "update", new_name: "d" },
      {
        include: "a",
        action: "update",
        operations: [{ action: "aggregate_labels", label_set: ["core"], aggregation_type: "sum" }],
      },
    ];
    expect(shown(transforms, CPU)).toEqual(["a{core=0} 40", "a{core=1} 20", "d{} 60", "c{} 60"]);
  });

  it("changes a copy, of the points that match", () => {
    const transforms = [
      { include: "cpu", action: "insert", new_name: "copy", experimental_match_labels: { core: "1" } },
    ];
    expect(shown(transforms, CPU).at(-1)).toBe("copy{state=user,core=1} 20");
    expect(shown(transforms, CPU)).toHaveLength(4);
  });

  it.each<[string, object, string[]]>([
    [
      "adds labels that are not there",
      { action: "add_label", new_label: "core", new_value: "x" },
      ["cpu{state=user,core=0} 10", "cpu{state=user,core=1} 20", "cpu{state=idle,core=0} 30"],
    ],
    [
      "renames labels and values",
      {
        action: "update_label",
        label: "state",
        new_label: "mode",
        value_actions: [{ value: "idle", new_value: "off" }],
      },
      ["cpu{mode=user,core=0} 10", "cpu{mode=user,core=1} 20", "cpu{mode=off,core=0} 30"],
    ],
    [
      "deletes points by a label's value",
      { action: "delete_label_value", label: "state", label_value: "user" },
      ["cpu{state=idle,core=0} 30"],
    ],
    [
      "aggregates labels away",
      { action: "aggregate_labels", label_set: ["state"], aggregation_type: "sum" },
      ["cpu{state=user} 30", "cpu{state=idle} 30"],
    ],
    [
      "aggregates values of a label",
      {
        action: "aggregate_label_values",
        label: "core",
        aggregated_values: ["0", "1"],
        new_value: "all",
        aggregation_type: "max",
      },
      ["cpu{state=user,core=all} 20", "cpu{state=idle,core=all} 30"],
    ],
    [
      "makes doubles of integers",
      { action: "toggle_scalar_data_type" },
      ["cpu{state=user,core=0} 10", "cpu{state=user,core=1} 20", "cpu{state=idle,core=0} 30"],
    ],
    [
      "scales values",
      { action: "experimental_scale_value", experimental_scale: 0.25 },
      ["cpu{state=user,core=0} 2", "cpu{state=user,core=1} 5", "cpu{state=idle,core=0} 7"],
    ],
  ])("%s", (_, operation, expected) => expect(shown(update(operation), CPU)).toEqual(expected));

  it("leaves a metric without points out, and the batch when nothing is left of it", () => {
    const gone = update({ action: "delete_label_value", label: "core", label_value: "0" });
    expect(shown(gone, sum("cpu", [[{ core: "0" }, 1]]), sum("b", [[{}, 1]]))).toEqual(["b{} 1"]);
    expect(transformed(gone, batchOf(sum("cpu", [[{ core: "0" }, 1]])))).toBeUndefined();
  });

  it("neither renames nor changes the number of points if only some match", () => {
    const transforms = [
      {
        include: "cpu",
        action: "update",
        new_name: "x",
        experimental_match_labels: { core: "1" },
        operations: [
          { action: "add_label", new_label: "n", new_value: "1" },
          { action: "experimental_scale_value", experimental_scale: 2 },
        ],
      },
    ];
    expect(shown(transforms, CPU)).toEqual([
      "cpu{state=user,core=0} 10",
      "cpu{state=user,core=1} 40",
      "cpu{state=idle,core=0} 30",
    ]);
  });

  it("makes one metric of several, with the groups of the pattern as labels", () => {
    const named = {
      include: "^net\\.(?P<WAY>.*)$",
      match_type: "regexp",
      action: "combine",
      new_name: "net",
      aggregation_type: "sum",
    };
    const metrics = [
      sum("net.In", [
        [{ dev: "a" }, 1],
        [{ dev: "b" }, 2],
      ]),
      sum("net.Out", [[{ dev: "a" }, 4]]),
    ];
    expect(shown([{ ...named, submatch_case: "lower" }], ...metrics)).toEqual([
      "net{dev=a,WAY=in} 1",
      "net{dev=b,WAY=in} 2",
      "net{dev=a,WAY=out} 4",
    ]);
    expect(shown([{ ...named, include: "^net\\.(.*)$" }], ...metrics)[2]).toBe("net{dev=a,$1=Out} 4");
    expect(shown([{ ...named, include: "^net\\..*$" }], ...metrics)).toEqual(["net{dev=a} 5", "net{dev=b} 2"]);
    expect(shown([named], metrics[0]!, sum("net.x", [[{ dev: "a" }, 1]], { unit: "By" }))).toHaveLength(3);
    expect(shown([named], metrics[0]!, sum("net.x", [[{ dev: "a" }, 1]], { unit: "By" }))[0]).toBe("net.In{dev=a} 1");
  });

  it("moves metrics to a resource of their own", () => {
    const group = { include: "cpu", action: "group", group_resource_labels: { kind: "host" } };
    const batch = transformed([group], batchOf(CPU, sum("b", [[{}, 1]])))!;
    const [first, second] = listOf(decodeTree(batch), "resourceMetrics") as [Tree, Tree];
    const labels = (one: Tree) => ((one["resource"] as Tree)["attributes"] as Tree[]).map(({ key }) => key);
    expect([labels(first), labels(second)]).toEqual([["host"], ["host", "kind"]]);
    expect(recordsOf("metrics", decodeTree(batch)).map(({ metric }) => metric!["name"])).toEqual([
      "b",
      "cpu",
      "cpu",
      "cpu",
    ]);
    expect(listOf(second, "scopeMetrics")[0]!["scope"]).toEqual({ name: "s" });
  });

  it("scales histograms with their bounds, and moves the buckets of exponential ones", () => {
    const histogram = {
      name: "cpu",
      histogram: {
        dataPoints: [{ count: 3n, sum: 4, min: 1, max: 2, explicitBounds: [1, 2], bucketCounts: [1n, 1n, 1n] }],
      },
    };
    const exponential = {
      name: "cpu",
      exponentialHistogram: {
        dataPoints: [{ count: 1n, sum: 3, scale: 0, positive: { offset: 1, bucketCounts: [1n] } }],
      },
    };
    const scaled = transformed(
      update({ action: "experimental_scale_value", experimental_scale: 2 }),
      batchOf(histogram, exponential),
    )!;
    const [one, two] = recordsOf("metrics", decodeTree(scaled)).map(({ record }) => record) as [Tree, Tree];
    expect(one).toMatchObject({ sum: 8, min: 2, max: 4, explicitBounds: [2, 4], bucketCounts: [1n, 1n, 1n] });
    expect(two).toMatchObject({ sum: 6, positive: { offset: 2 } });
  });
});
