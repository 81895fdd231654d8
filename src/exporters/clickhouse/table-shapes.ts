import {
  logTime,
  type MetricKindName,
  type OwnedTree,
  type PlainAttributes,
  plainValue,
  plainValueText,
  treeAttributes,
  treeHex,
  treesIn,
  treeText,
} from "#otlp/json";
import { SPAN_KINDS, STATUS_CODES } from "#otlp/signals";
import type { Tree } from "../../plugin.js";

/** The shapes of rows. Each has a table of its own. */
export type RowShape = "logs" | "traces" | MetricKindName;

/**
 * A column: its type in tables created here, the value of a row, and the form in which it is written. The form of times
 * and attributes depends on the actual type of the column.
 */
export interface ClickhouseColumn {
  readonly name: string;
  readonly type: string;
  readonly form: "plain" | "time" | "times" | "map" | "maps";
  readonly read: (owned: OwnedTree) => unknown;
  /** True if the column is left out when a table, perhaps an older one, does not have it. */
  readonly isOptional?: boolean;
}

type Read = ClickhouseColumn["read"];

const ZSTD = "CODEC(ZSTD(1))";
/** The type of attributes in tables that do not use JSON. */
export const MAP_TYPE = "Map(LowCardinality(String), String)";
const LOW = `LowCardinality(String) ${ZSTD}`;
const STRING = `String ${ZSTD}`;

const plain = (name: string, type: string, read: Read): ClickhouseColumn => ({ name, type, form: "plain", read });
const map = (name: string, read: Read): ClickhouseColumn => ({ name, type: `${MAP_TYPE} ${ZSTD}`, form: "map", read });
const time = (name: string, type: string, read: Read): ClickhouseColumn => ({ name, type, form: "time", read });
/** A member of a Nested column. */
const nested = (name: string, type: string, form: ClickhouseColumn["form"], read: Read): ClickhouseColumn => ({
  name,
  type: `Array(${type}) ${ZSTD}`,
  form,
  read,
});

/** The names of the attributes in a JSON column. Queries search them instead of the column. */
function keys(name: string, read: (owned: OwnedTree) => PlainAttributes): ClickhouseColumn {
  const type = `Array(LowCardinality(String)) ${ZSTD}`;
  return { ...plain(name, type, (owned) => attributePaths(read(owned))), isOptional: true };
}

const resourceAttributes = ({ owner }: OwnedTree) => owner.resource;
const ownAttributes = ({ tree }: OwnedTree) => treeAttributes(tree);
const scopeAttributes = ({ owner }: OwnedTree) => owner.scopeAttributes;
const serviceName = ({ owner }: OwnedTree) => plainValueText(owner.resource["service.name"]);
const hex = (name: string) => (owned: OwnedTree) => treeHex(owned.tree[name]);
const word = (name: string) => (owned: OwnedTree) => treeText(owned.tree[name]);
const number = (name: string) => (owned: OwnedTree) => owned.tree[name] ?? 0;
const nanos = (name: string) => (owned: OwnedTree) => owned.tree[name] ?? 0n;
const eachOf = (name: string, read: (tree: Tree) => unknown) => (owned: OwnedTree) =>
  treesIn(owned.tree, name).map(read);

const logs: readonly ClickhouseColumn[] = [
  time("Timestamp", "DateTime64(9) CODEC(Delta(8), ZSTD(1))", ({ tree }) => logTime(tree)),
  plain("TraceId", STRING, hex("traceId")),
  plain("SpanId", STRING, hex("spanId")),
  plain("TraceFlags", "UInt8", ({ tree }) => Number(tree["flags"] ?? 0) & 255),
  plain("SeverityText", LOW, word("severityText")),
  plain("SeverityNumber", "UInt8", number("severityNumber")),
  plain("ServiceName", LOW, serviceName),
  plain("Body", STRING, ({ tree }) => plainValueText(plainValue(tree["body"] as Tree | undefined))),
  plain("ResourceSchemaUrl", LOW, ({ owner }) => owner.resourceUrl),
  map("ResourceAttributes", resourceAttributes),
  plain("ScopeSchemaUrl", LOW, ({ owner }) => owner.scopeUrl),
  plain("ScopeName", STRING, ({ owner }) => owner.scopeName),
  plain("ScopeVersion", LOW, ({ owner }) => owner.scopeVersion),
  map("ScopeAttributes", scopeAttributes),
  map("LogAttributes", ownAttributes),
  { ...plain("EventName", STRING, word("eventName")), isOptional: true },
];

const traces: readonly ClickhouseColumn[] = [
  time("Timestamp", "DateTime64(9) CODEC(Delta, ZSTD(1))", nanos("startTimeUnixNano")),
  plain("TraceId", STRING, hex("traceId")),
  plain("SpanId", STRING, hex("spanId")),
  plain("ParentSpanId", STRING, hex("parentSpanId")),
  plain("TraceState", STRING, word("traceState")),
  plain("SpanName", LOW, word("name")),
  plain("SpanKind", LOW, ({ tree }) => capitalised(SPAN_KINDS[Number(tree["kind"] ?? 0)])),
  plain("ServiceName", LOW, serviceName),
  map("ResourceAttributes", resourceAttributes),
  plain("ScopeName", STRING, ({ owner }) => owner.scopeName),
  plain("ScopeVersion", STRING, ({ owner }) => owner.scopeVersion),
  map("SpanAttributes", ownAttributes),
  plain("Duration", `UInt64 ${ZSTD}`, ({ tree }) => durationOf(tree)),
  plain("StatusCode", LOW, ({ tree }) =>
    capitalised(STATUS_CODES[Number((tree["status"] as Tree | undefined)?.["code"] ?? 0)]),
  ),
  plain("StatusMessage", STRING, ({ tree }) => treeText((tree["status"] as Tree | undefined)?.["message"])),
  nested(
    "Events.Timestamp",
    "DateTime64(9)",
    "times",
    eachOf("events", (event) => event["timeUnixNano"] ?? 0n),
  ),
  nested(
    "Events.Name",
    "LowCardinality(String)",
    "plain",
    eachOf("events", (event) => treeText(event["name"])),
  ),
  nested(
    "Events.Attributes",
    MAP_TYPE,
    "maps",
    eachOf("events", (event) => treeAttributes(event)),
  ),
  nested(
    "Links.TraceId",
    "String",
    "plain",
    eachOf("links", (link) => treeHex(link["traceId"])),
  ),
  nested(
    "Links.SpanId",
    "String",
    "plain",
    eachOf("links", (link) => treeHex(link["spanId"])),
  ),
  nested(
    "Links.TraceState",
    "String",
    "plain",
    eachOf("links", (link) => treeText(link["traceState"])),
  ),
  nested(
    "Links.Attributes",
    MAP_TYPE,
    "maps",
    eachOf("links", (link) => treeAttributes(link)),
  ),
];

/** Additional columns of tables that use the type JSON. */
export const KEY_COLUMNS: Readonly<Partial<Record<RowShape, readonly ClickhouseColumn[]>>> = {
  logs: [
    keys("ResourceAttributesKeys", resourceAttributes),
    keys("ScopeAttributesKeys", scopeAttributes),
    keys("LogAttributesKeys", ownAttributes),
  ],
  traces: [keys("ResourceAttributesKeys", resourceAttributes), keys("SpanAttributesKeys", ownAttributes)],
};

const pointOwner: readonly ClickhouseColumn[] = [
  map("ResourceAttributes", resourceAttributes),
  plain("ResourceSchemaUrl", STRING, ({ owner }) => owner.resourceUrl),
  plain("ScopeName", STRING, ({ owner }) => owner.scopeName),
  plain("ScopeVersion", STRING, ({ owner }) => owner.scopeVersion),
  map("ScopeAttributes", scopeAttributes),
  plain("ScopeDroppedAttrCount", `UInt32 ${ZSTD}`, ({ owner }) => owner.scope["droppedAttributesCount"] ?? 0),
  plain("ScopeSchemaUrl", STRING, ({ owner }) => owner.scopeUrl),
  plain("ServiceName", LOW, serviceName),
  plain("MetricName", LOW, ({ metric }) => treeText(metric!["name"])),
  plain("MetricDescription", STRING, ({ metric }) => treeText(metric!["description"])),
  plain("MetricUnit", STRING, ({ metric }) => treeText(metric!["unit"])),
  map("Attributes", ownAttributes),
  time("StartTimeUnix", "DateTime64(9) CODEC(Delta, ZSTD(1))", nanos("startTimeUnixNano")),
  time("TimeUnix", "DateTime64(9) CODEC(Delta, ZSTD(1))", nanos("timeUnixNano")),
];

const value = (tree: Tree) => tree["asDouble"] ?? tree["asInt"] ?? 0;
const exemplars: readonly ClickhouseColumn[] = [
  nested(
    "Exemplars.FilteredAttributes",
    MAP_TYPE,
    "maps",
    eachOf("exemplars", (each) => treeAttributes(each, "filteredAttributes")),
  ),
  nested(
    "Exemplars.TimeUnix",
    "DateTime64(9)",
    "times",
    eachOf("exemplars", (each) => each["timeUnixNano"] ?? 0n),
  ),
  nested("Exemplars.Value", "Float64", "plain", eachOf("exemplars", value)),
  nested(
    "Exemplars.SpanId",
    "String",
    "plain",
    eachOf("exemplars", (each) => treeHex(each["spanId"])),
  ),
  nested(
    "Exemplars.TraceId",
    "String",
    "plain",
    eachOf("exemplars", (each) => treeHex(each["traceId"])),
  ),
];

const flags = plain("Flags", `UInt32 ${ZSTD}`, number("flags"));
const temporality = plain("AggregationTemporality", `Int32 ${ZSTD}`, ({ metric, kind }) => {
  return (metric![kind!] as Tree)["aggregationTemporality"] ?? 0;
});
const numberValue = plain("Value", `Float64 ${ZSTD}`, ({ tree }) => value(tree));
const count = plain("Count", "UInt64 CODEC(Delta, ZSTD(1))", number("count"));
const sum = plain("Sum", `Float64 ${ZSTD}`, number("sum"));
const range: readonly ClickhouseColumn[] = [
  plain("Min", `Float64 ${ZSTD}`, number("min")),
  plain("Max", `Float64 ${ZSTD}`, number("max")),
];
const buckets = (side: "positive" | "negative", prefix: string): readonly ClickhouseColumn[] => [
  plain(`${prefix}Offset`, `Int32 ${ZSTD}`, ({ tree }) => (tree[side] as Tree | undefined)?.["offset"] ?? 0),
  plain(
    `${prefix}BucketCounts`,
    `Array(UInt64) ${ZSTD}`,
    ({ tree }) => (tree[side] as Tree | undefined)?.["bucketCounts"] ?? [],
  ),
];

/** The columns of each table, in the order of the Collector's exporter. */
export const COLUMNS: Readonly<Record<RowShape, readonly ClickhouseColumn[]>> = {
  logs,
  traces,
  gauge: [...pointOwner, numberValue, flags, ...exemplars],
  sum: [
    ...pointOwner,
    numberValue,
    flags,
    ...exemplars,
    temporality,
    plain(
      "IsMonotonic",
      "Bool CODEC(Delta, ZSTD(1))",
      ({ metric }) => (metric!["sum"] as Tree)["isMonotonic"] === true,
    ),
  ],
  histogram: [
    ...pointOwner,
    count,
    sum,
    plain("BucketCounts", `Array(UInt64) ${ZSTD}`, ({ tree }) => tree["bucketCounts"] ?? []),
    plain("ExplicitBounds", `Array(Float64) ${ZSTD}`, ({ tree }) => tree["explicitBounds"] ?? []),
    ...exemplars,
    flags,
    ...range,
    temporality,
  ],
  exponentialHistogram: [
    ...pointOwner,
    count,
    sum,
    plain("Scale", `Int32 ${ZSTD}`, number("scale")),
    plain("ZeroCount", `UInt64 ${ZSTD}`, number("zeroCount")),
    ...buckets("positive", "Positive"),
    ...buckets("negative", "Negative"),
    ...exemplars,
    flags,
    ...range,
    temporality,
  ],
  summary: [
    ...pointOwner,
    count,
    sum,
    nested(
      "ValueAtQuantiles.Quantile",
      "Float64",
      "plain",
      eachOf("quantileValues", (each) => each["quantile"] ?? 0),
    ),
    nested(
      "ValueAtQuantiles.Value",
      "Float64",
      "plain",
      eachOf("quantileValues", (each) => each["value"] ?? 0),
    ),
    flags,
  ],
};

/** Capitalises kinds and codes as the Collector does. */
function capitalised(name: string | undefined): string {
  return name === undefined ? "" : name.charAt(0).toUpperCase() + name.slice(1).toLowerCase();
}

/** The duration is 0 if a span ends before it begins, because the column is unsigned. */
function durationOf({ startTimeUnixNano: start, endTimeUnixNano: end }: Tree): bigint {
  const length = typeof start === "bigint" && typeof end === "bigint" ? end - start : 0n;
  return length < 0n ? 0n : length;
}

function attributePaths(attributes: PlainAttributes, prefix = ""): string[] {
  const paths = Object.entries(attributes).flatMap(([key, each]) =>
    isMap(each) ? attributePaths(each, `${prefix}${key}.`) : [prefix + key],
  );
  return prefix === "" ? [...new Set(paths)].sort() : paths;
}

function isMap(each: unknown): each is PlainAttributes {
  return typeof each === "object" && each !== null && !Array.isArray(each) && !(each instanceof Uint8Array);
}
