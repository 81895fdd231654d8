import type { Signal } from "../signals/signal.js";

/** An object of parsed JSON. */
export type JsonObject = { readonly [key: string]: unknown };

/** One log record, span or metric of an OTLP/JSON request, with its resource and scope. */
export interface PlacedRecord {
  readonly record: JsonObject;
  readonly resource: JsonObject;
  readonly scope: JsonObject;
}

interface RequestKeys {
  readonly resources: string;
  readonly scopes: string;
  readonly records: string;
}

/** The names of the lists in the OTLP/JSON requests of each signal. */
const REQUEST_KEYS: Readonly<Record<Signal, RequestKeys>> = {
  logs: { resources: "resourceLogs", scopes: "scopeLogs", records: "logRecords" },
  traces: { resources: "resourceSpans", scopes: "scopeSpans", records: "spans" },
  metrics: { resources: "resourceMetrics", scopes: "scopeMetrics", records: "metrics" },
};

const METRIC_DATA = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"];

/** The signal of an OTLP/JSON request; undefined if it is none. */
export function signalOfRequest(json: JsonObject): Signal | undefined {
  return (Object.keys(REQUEST_KEYS) as Signal[]).find((signal) => REQUEST_KEYS[signal].resources in json);
}

/** The log records, spans or metrics of an OTLP/JSON request, one by one. */
export function placedRecords(signal: Signal, request: JsonObject): PlacedRecord[] {
  const keys = REQUEST_KEYS[signal];
  return listIn(request, keys.resources).flatMap((container) =>
    listIn(container, keys.scopes).flatMap((scoped) =>
      listIn(scoped, keys.records).map((record) => {
        return { record, resource: objectIn(container, "resource"), scope: objectIn(scoped, "scope") };
      }),
    ),
  );
}

/** An OTLP/JSON request with only this record. */
export function requestOf(signal: Signal, { record, resource, scope }: PlacedRecord): JsonObject {
  const keys = REQUEST_KEYS[signal];
  return { [keys.resources]: [{ resource, [keys.scopes]: [{ scope, [keys.records]: [record] }] }] };
}

/** A metric once for each of its data points. */
export function eachPoint(placed: PlacedRecord): PlacedRecord[] {
  const { record: metric } = placed;
  const kind = METRIC_DATA.find((name) => name in metric);
  if (kind === undefined) return [placed];
  const data = objectIn(metric, kind);
  const one = (point: JsonObject) => ({ ...metric, [kind]: { ...data, dataPoints: [point] } });
  return listIn(data, "dataPoints").map((point) => ({ ...placed, record: one(point) }));
}

function listIn(json: JsonObject, key: string): readonly JsonObject[] {
  return (json[key] ?? []) as readonly JsonObject[];
}

function objectIn(json: JsonObject, key: string): JsonObject {
  return (json[key] ?? {}) as JsonObject;
}
