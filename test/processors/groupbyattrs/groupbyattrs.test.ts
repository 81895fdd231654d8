import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch, type ProcessorContext, SIGNALS, type Signal } from "../../../src/plugin.js";
import { groupByAttrs } from "../../../src/processors/groupbyattrs/component.js";
import { regroup } from "../../../src/processors/groupbyattrs/regroup.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { decodeTree, encodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { feed, owed } from "../../support/deliveries.js";
import { runs } from "../../support/runs.js";
import { referenceEncode } from "../../support/telemetry/otlp-reference.js";
import { attributes, text } from "../../support/telemetry/ottl.js";
import { request } from "../../support/telemetry/telemetry-arbitraries.js";
import { listOf, meaning, type Placed, recordsOf } from "../../support/telemetry/trees.js";
import { rewritten, unknownFields } from "../../support/telemetry/wire-forms.js";

function run(config: object, batch: Batch, extra: Partial<ProcessorContext> = {}): Batch {
  const { signal } = batch;
  const context: ProcessorContext = {
    id: "groupbyattrs",
    kind: "processor",
    signal,
    pipeline: signal,
    logger: silentLogger,
    metrics: noMetrics,
    clock: systemClock,
    random: Math.random,
    ...extra,
  };
  const { source, out } = feed(groupByAttrs.create(groupByAttrs.schema.parse(config), context));
  source.next(owed(batch).delivery);
  expect(out).toHaveLength(1);
  return out[0]!.batch;
}

/** `resource attributes | scope | metric | record attributes`, for every record. */
function lines(batch: Batch): string[] {
  const written = (owner: Tree | undefined) =>
    listOf(owner ?? {}, "attributes")
      .map(({ key, value }) => `${key}=${Object.values(value as Tree)[0]}`)
      .sort()
      .join(",");
  return recordsOf(batch.signal, decodeTree(batch)).map(({ record, resourceContainer, scopeContainer, metric }) =>
    [
      written(resourceContainer["resource"] as Tree | undefined),
      ((scopeContainer["scope"] ?? {}) as Tree)["name"] ?? "",
      ...(metric === undefined ? [] : [metric["name"]]),
      written(record),
    ].join(" | "),
  );
}

function logsUnder(
  ...resources: [resource: { [key: string]: string }, ...records: { [key: string]: string }[]][]
): Batch {
  const texts = (entries: { [key: string]: string }) =>
    attributes(Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, text(value)])));
  return encodeTree("logs", {
    resourceLogs: resources.map(([resource, ...records]) => ({
      resource: { attributes: texts(resource) },
      scopeLogs: [{ scope: { name: "s" }, logRecords: records.map((one) => ({ attributes: texts(one) })) }],
    })),
  });
}

const gauge = (name: string, ...points: { [key: string]: string }[]): Tree => ({
  name,
  gauge: {
    dataPoints: points.map((one) => ({
      attributes: attributes(Object.fromEntries(Object.entries(one).map(([key, value]) => [key, text(value)]))),
      asInt: 1n,
    })),
  },
});

describe("groupbyattrs", () => {
  it("takes time in proportion to a batch in which every record has a value of its own", () => {
    const logRecords = Array.from({ length: 16_000 }, (_, i) => ({ attributes: attributes({ id: text(`${i}`) }) }));
    const batch = run({ keys: ["id"] }, encodeTree("logs", { resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    expect(listOf(decodeTree(batch), "resourceLogs")).toHaveLength(16_000);
  });

  it("moves the attributes with these keys to the resource, replacing its own", () => {
    const batch = logsUnder([{ host: "old", r: "1" }, { host: "a", x: "1" }, { host: "b" }, { host: "a" }, { x: "2" }]);
    expect(lines(run({ keys: ["host", "zone"] }, batch))).toEqual([
      "host=a,r=1 | s | x=1",
      "host=a,r=1 | s | ",
      "host=b,r=1 | s | ",
      "host=old,r=1 | s | x=2",
    ]);
  });

  it("keeps records together if one of them only repeats an attribute of the resource", () => {
    const batch = logsUnder([{ host: "a" }, { host: "a", x: "1" }, { x: "2" }, { host: "a", x: "3" }, { x: "4" }]);
    expect(lines(run({ keys: ["host"] }, batch))).toEqual([1, 2, 3, 4].map((x) => `host=a | s | x=${x}`));
  });

  it("merges records of different resources when the resources become equal", () => {
    const batch = logsUnder(
      [{ host: "a" }, { n: "1" }],
      [{}, { host: "a", n: "2" }],
      [{ host: "b" }, { host: "a", n: "3" }],
    );
    const result = run({ keys: ["host"] }, batch);
    expect(lines(result)).toEqual(["host=a | s | n=1", "host=a | s | n=2", "host=a | s | n=3"]);
    expect(listOf(decodeTree(result), "resourceLogs")).toHaveLength(1);
  });

  it("merges equal resources and scopes without any keys", () => {
    const batch = logsUnder(
      [{ a: "1", b: "2" }, { n: "1" }],
      [{ c: "3" }, { n: "2" }],
      [{ b: "2", a: "1" }, { n: "3" }],
    );
    for (const config of [{}, { keys: [] }, { keys: null }]) {
      const result = run(config, batch);
      expect(lines(result)).toEqual(["a=1,b=2 | s | n=1", "a=1,b=2 | s | n=3", "c=3 | s | n=2"]);
      const resources = listOf(decodeTree(result), "resourceLogs");
      expect(resources.map((one) => listOf(one, "scopeLogs").length)).toEqual([1, 1]);
    }
  });

  it("keeps resources separate that differ in anything", () => {
    const resourceLogs = [
      { resource: { attributes: [] }, schemaUrl: "1", scopeLogs: [{ logRecords: [{}] }] },
      { resource: { attributes: [] }, schemaUrl: "2", scopeLogs: [{ logRecords: [{}] }] },
      { resource: { droppedAttributesCount: 1 }, schemaUrl: "1", scopeLogs: [{ logRecords: [{}] }] },
    ];
    const batch = encodeTree("logs", { resourceLogs });
    expect(run({ keys: ["host"] }, batch)).toBe(batch);
  });

  it("passes a batch with nothing to move or merge as the same object", () => {
    const batch = logsUnder([{ a: "1" }, { n: "1" }, { n: "2" }], [{ a: "2" }, { n: "3" }]);
    expect(run({ keys: ["host"] }, batch)).toBe(batch);
    expect(run({}, batch)).toBe(batch);
  });

  it("groups data points, and merges equal metrics", () => {
    const metrics = [
      gauge("g", { host: "a", id: "1" }, { host: "b", id: "2" }),
      gauge("g", { host: "a", id: "3" }),
      { ...gauge("g", { host: "a", id: "4" }), unit: "s" },
      gauge("stays", { id: "5" }),
    ];
    const batch = encodeTree("metrics", { resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
    const result = run({ keys: ["host"] }, batch);
    expect(lines(result)).toEqual([
      "host=a |  | g | id=1",
      "host=a |  | g | id=3",
      "host=a |  | g | id=4",
      "host=b |  | g | id=2",
      " |  | stays | id=5",
    ]);
    const [first] = listOf(decodeTree(result), "resourceMetrics");
    expect(listOf(listOf(first!, "scopeMetrics")[0]!, "metrics")).toHaveLength(2);
  });

  it("counts what it moves and what stays, under the Collector's names", () => {
    const metrics = countedMetrics();
    run({ keys: ["host"] }, logsUnder([{}, { host: "a" }, { n: "1" }, { n: "2" }]), { metrics });
    expect(metrics.value("otelcol_processor_groupbyattrs_num_grouped_logs")).toBe(1);
    expect(metrics.value("otelcol_processor_groupbyattrs_num_non_grouped_logs")).toBe(2);
  });

  it("passes on a batch that would grow too large, and logs it", () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => warnings.push(message) };
    const records = Array.from({ length: 200 }, (_, i) => ({ host: `h${i}` }));
    const batch = logsUnder([{ large: "x".repeat(1_000_000) }, ...records]);
    expect(run({ keys: ["host"] }, batch, { logger })).toBe(batch);
    expect(warnings).toEqual(["a batch was passed on without grouping it"]);
  });
});

const KEYS = ["a", "b", "event.name", ""];
const odd = { shuffled: true, padded: true, unpacked: true, unknown: true };

/** Describes a record completely, with everything around it. */
function expected({ record, resourceContainer, scopeContainer, metric }: Placed, keys: readonly string[]): string {
  const own = listOf(record, "attributes");
  const isMoved = (one: Tree) => keys.includes((one["key"] ?? "") as string);
  const moved = keys
    .map((key) => own.find((one) => (one["key"] ?? "") === key))
    .filter((one): one is Tree => one !== undefined);
  const names: unknown[] = moved.map((one: Tree) => one["key"] ?? "");
  const resource = (resourceContainer["resource"] ?? {}) as Tree;
  const stays = listOf(resource, "attributes").filter((one) => !names.includes(one["key"] ?? ""));
  return placed({
    record: { ...record, attributes: own.filter((one) => !isMoved(one)) },
    resource: { ...resource, attributes: [...stays, ...moved] },
    resourceContainer,
    scopeContainer,
    metric,
  });
}

function actual({ record, resourceContainer, scopeContainer, metric }: Placed): string {
  const resource = (resourceContainer["resource"] ?? {}) as Tree;
  return placed({ record, resource, resourceContainer, scopeContainer, metric });
}

function placed(of: Omit<Placed, "siblings"> & { resource: Tree }): string {
  const { record, resource, resourceContainer, scopeContainer, metric } = of;
  const around = { url: resourceContainer["schemaUrl"] ?? "", scopeUrl: scopeContainer["schemaUrl"] ?? "" };
  const scope = meaning((scopeContainer["scope"] ?? {}) as Tree, true);
  const kind = Object.entries(metric ?? {}).map(([name, value]) => [name, withoutPoints(value)]);
  const written = [around, sortedAttributes(resource), scope, kind.sort(), meaning(record)];
  return JSON.stringify(written, (_key, value) => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
    if (Object.is(value, -0)) return "-0";
    return typeof value === "bigint" || typeof value === "number" ? `${typeof value} ${value}` : value;
  });
}

/** Sorted by text, because keys may occur twice. */
function sortedAttributes(resource: Tree): Tree {
  const text = (one: Tree) => JSON.stringify(meaning(one), (_k, v) => (typeof v === "bigint" ? `${v}n` : v));
  return meaning({
    ...resource,
    attributes: listOf(resource, "attributes").toSorted((x, y) => (text(x) < text(y) ? -1 : 1)),
  });
}

function withoutPoints(value: unknown): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
    ? meaning({ ...value, dataPoints: [] })
    : value;
}

describe.each<Signal>([...SIGNALS])("regrouping %s", (signal) => {
  it("gives every record the attributes, resource and scope that a simple implementation gives it", () => {
    fc.assert(
      fc.property(request(signal), fc.subarray(KEYS), fc.integer(), (tree, keys, seed) => {
        const batch = Batch.admit(signal, rewritten(signal, referenceEncode(signal, tree), odd, seed));
        const { batch: result, moved } = regroup(batch, keys);
        const before = recordsOf(signal, decodeTree(batch));
        expect(Batch.admit(signal, result.bytes).count).toBe(batch.count);
        expect(result.count).toBe(batch.count);
        const after = recordsOf(signal, decodeTree(result)).map(actual);
        expect(after.toSorted()).toEqual(before.map((one) => expected(one, keys)).toSorted());
        expect(moved).toBe(before.filter(({ record }) => hasAny(record, keys)).length);
        if (before.length > 0) {
          const unknown = (bytes: Uint8Array) =>
            unknownFields(signal, bytes).filter((one) => isOfRecord(one) && (keys.length === 0 || stays(one)));
          expect(unknown(result.bytes).toSorted()).toEqual(unknown(batch.bytes).toSorted());
        }
      }),
      runs(30),
    );
  });

  it("changes nothing the second time, and leaves no two equal resources", () => {
    fc.assert(
      fc.property(request(signal), fc.subarray(KEYS), (tree, keys) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        const { batch: result } = regroup(batch, keys);
        expect(regroup(result, keys).batch).toBe(result);
      }),
      runs(25),
    );
  });
});

function hasAny(record: Tree, keys: readonly string[]): boolean {
  return listOf(record, "attributes").some((one) => keys.includes((one["key"] ?? "") as string));
}

function isOfRecord(field: string): boolean {
  return /\.(logRecords|spans|dataPoints)\b/.test(field.split(":")[0]!);
}

/** Unknown fields of attributes move with the attributes. */
function stays(field: string): boolean {
  return !/\.attributes\b/.test(field.split(":")[0]!);
}
