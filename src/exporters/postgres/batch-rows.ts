import { keyOfRecord } from "#brokers";
import { storableKey } from "#brokers/postgres";
import { jsonText, type KeyValueTree, plainObject, plainValue } from "#otlp/json";
import { SPAN_KINDS, STATUS_CODES, TEMPORALITIES } from "#otlp/signals";
import { type Batch, decodeTree, type Tree } from "../../plugin.js";

/** A value of a row in the server's text form; null is SQL's NULL. */
type Cell = string | null;

/** A record as a row, in the order of its signal's columns. */
export interface Row {
  readonly cells: readonly Cell[];
  /** The key of the message that the record was made of, if any. */
  readonly messageKey: string | undefined;
}

/** Returns the records of a batch as rows, in order: log records, spans or data points. */
export function batchRows(batch: Batch): Row[] {
  const { resources, scopes, records } = LISTS[batch.signal];
  const rows: Row[] = [];
  for (const container of listIn(decodeTree(batch), resources)) {
    const resource = (container["resource"] ?? {}) as Tree;
    const shared = attributesOf(resource);
    const resourceText = jsonText(shared);
    const service = typeof shared["service.name"] === "string" ? shared["service.name"] : null;
    for (const scoped of listIn(container, scopes)) {
      const scope = (scoped["scope"] ?? {}) as Tree;
      const owners: readonly Cell[] = [
        resourceText,
        textOf(scope["name"]),
        textOf(scope["version"]),
        scope["attributes"] === undefined ? null : jsonText(attributesOf(scope)),
        service,
      ];
      for (const record of listIn(scoped, records)) READERS[batch.signal](record, owners, rows);
    }
  }
  return rows;
}

const LISTS = {
  logs: { resources: "resourceLogs", scopes: "scopeLogs", records: "logRecords" },
  traces: { resources: "resourceSpans", scopes: "scopeSpans", records: "spans" },
  metrics: { resources: "resourceMetrics", scopes: "scopeMetrics", records: "metrics" },
} as const;

const READERS = { logs: readLog, traces: readSpan, metrics: readMetric } as const;

function readLog(record: Tree, owners: readonly Cell[], rows: Row[]): void {
  const attributes = attributesOf(record);
  const time = record["timeUnixNano"] || record["observedTimeUnixNano"];
  add(rows, attributes, owners, [
    timeOf(time),
    numberOf(time),
    timeOf(record["observedTimeUnixNano"]),
    hexOf(record["traceId"]),
    hexOf(record["spanId"]),
    numberOf(record["flags"]),
    numberOf(record["severityNumber"]),
    textOf(record["severityText"]),
    textOf(record["eventName"]) ?? plainText(attributes["event.name"]),
    bodyText(record["body"]),
  ]);
}

function readSpan(span: Tree, owners: readonly Cell[], rows: Row[]): void {
  const { startTimeUnixNano: start, endTimeUnixNano: end } = span;
  const status = (span["status"] ?? {}) as Tree;
  add(rows, attributesOf(span), owners, [
    timeOf(start),
    numberOf(start),
    timeOf(end),
    typeof start === "bigint" && typeof end === "bigint" ? String(end - start) : null,
    hexOf(span["traceId"]),
    hexOf(span["spanId"]),
    hexOf(span["parentSpanId"]),
    textOf(span["traceState"]),
    numberOf(span["flags"]),
    textOf(span["name"]),
    nameOf(SPAN_KINDS, span["kind"]),
    nameOf(STATUS_CODES, status["code"]),
    textOf(status["message"]),
    nestedList(span["events"]),
    nestedList(span["links"]),
  ]);
}

const KINDS = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"] as const;

function readMetric(metric: Tree, owners: readonly Cell[], rows: Row[]): void {
  const kind = KINDS.find((name) => metric[name] !== undefined);
  if (kind === undefined) return;
  const data = metric[kind] as Tree;
  const shared = [textOf(metric["name"]), textOf(metric["description"]), textOf(metric["unit"]), kind];
  const temporality = nameOf(TEMPORALITIES, data["aggregationTemporality"]);
  const isMonotonic = kind === "sum" ? String(data["isMonotonic"] === true) : null;
  for (const point of listIn(data, "dataPoints")) {
    const { asInt, asDouble } = point;
    add(rows, attributesOf(point), owners, [
      timeOf(point["timeUnixNano"]),
      numberOf(point["timeUnixNano"]),
      timeOf(point["startTimeUnixNano"]),
      ...shared,
      temporality,
      isMonotonic,
      numberOf(asDouble ?? asInt),
      numberOf(asInt),
      pointData(point),
      numberOf(point["flags"]),
    ]);
  }
}

function add(rows: Row[], attributes: Readonly<Record<string, unknown>>, owners: readonly Cell[], cells: Cell[]): void {
  const key = keyOfRecord(attributes);
  cells.push(jsonText(attributes), ...owners);
  rows.push({ cells, messageKey: key && storableKey(key) });
}

/** The fields of a data point that have no column: buckets, quantiles, exemplars. */
function pointData(point: Tree): Cell {
  const {
    attributes: _a,
    timeUnixNano: _t,
    startTimeUnixNano: _s,
    flags: _f,
    asInt: _i,
    asDouble: _d,
    ...rest
  } = point;
  return Object.keys(rest).length === 0 ? null : jsonText(plainTree(rest));
}

function nestedList(list: unknown): Cell {
  return list === undefined ? null : jsonText((list as Tree[]).map(plainTree));
}

/** Attributes become an object of plain values, ids become hexadecimal; everything else is as in OTLP/JSON. */
function plainTree(tree: Tree): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(tree).map(([name, value]) => {
      if (name === "attributes" || name === "filteredAttributes")
        return [name, plainObject(value as unknown as KeyValueTree[])];
      if (value instanceof Uint8Array) return [name, hexOf(value)];
      return [name, Array.isArray(value) ? value.map(plainElement) : plainElement(value)];
    }),
  );
}

function plainElement(value: unknown): unknown {
  const isTree = typeof value === "object" && value !== null && !(value instanceof Uint8Array);
  return isTree ? plainTree(value as Tree) : value;
}

function attributesOf(message: Tree): Record<string, unknown> {
  return plainObject(message["attributes"] as unknown as KeyValueTree[]);
}

function listIn(tree: Tree, name: string): readonly Tree[] {
  return (tree[name] ?? []) as readonly Tree[];
}

function bodyText(body: unknown): Cell {
  return body === undefined ? null : plainText(plainValue(body as Tree));
}

function plainText(value: unknown): Cell {
  if (value === undefined || value === null) return null;
  return typeof value === "string" ? value : jsonText(value);
}

function textOf(value: unknown): Cell {
  return typeof value === "string" && value !== "" ? value : null;
}

function numberOf(value: unknown): Cell {
  return value === undefined ? null : String(value);
}

function hexOf(value: unknown): Cell {
  return value instanceof Uint8Array && value.length > 0 ? Buffer.from(value).toString("hex") : null;
}

/** A number without a name stays a number. */
function nameOf(names: readonly string[], value: unknown): Cell {
  return typeof value === "number" ? (names[value] ?? String(value)) : null;
}

/** The server's times have microseconds. Zero means no time. */
function timeOf(nanos: unknown): Cell {
  if (typeof nanos !== "bigint" || nanos === 0n) return null;
  const micros = nanos / 1000n;
  const rest = String(micros % 1_000_000n).padStart(6, "0");
  return `${new Date(Number(micros / 1000n)).toISOString().slice(0, 19)}.${rest}+00`;
}
