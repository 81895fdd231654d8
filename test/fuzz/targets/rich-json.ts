import type { Signal } from "../../../src/runtime/otlp/signals/signal.js";

const attributes = [
  { key: "text", value: { stringValue: 'a \u{1f600} "quoted" text' } },
  { key: "number", value: { intValue: "-9007199254740993" } },
  { key: "double", value: { doubleValue: 1.5e-7 } },
  { key: "flag", value: { boolValue: true } },
  { key: "bytes", value: { bytesValue: "+/8=" } },
  { key: "list", value: { arrayValue: { values: [{ stringValue: "x" }, { intValue: 1 }, {}] } } },
  { key: "map", value: { kvlistValue: { values: [{ key: "inner", value: { stringValue: "y" } }] } } },
];
const resource = { attributes, droppedAttributesCount: 2 };
const scope = { name: "fuzz", version: "1", attributes: attributes.slice(0, 2) };
const traceId = "5b8efff798038103d269b633813fc60c";
const spanId = "eee19b7ec3c1b174";
const times = { startTimeUnixNano: "1544712660000000000", timeUnixNano: "1544712661000000000" };

const logRecords = [
  { ...times, severityNumber: 9, severityText: "INFO", body: { stringValue: "hello" }, attributes, traceId, spanId },
  { body: attributes[6]!.value, eventName: "e", flags: 1 },
];
const spans = [
  {
    traceId,
    spanId,
    parentSpanId: spanId,
    traceState: "a=b",
    name: "GET /",
    kind: 2,
    startTimeUnixNano: "1544712660000000000",
    endTimeUnixNano: "1544712661000000000",
    attributes,
    events: [{ timeUnixNano: "1", name: "event", attributes: attributes.slice(0, 1) }],
    links: [{ traceId, spanId, attributes: attributes.slice(1, 2) }],
    status: { code: 2, message: "failed" },
  },
];
const point = { ...times, attributes: attributes.slice(0, 3) };
const exemplars = [{ timeUnixNano: "1", asDouble: 2, traceId, spanId, filteredAttributes: attributes.slice(0, 1) }];
const metrics = [
  { name: "g", unit: "By", gauge: { dataPoints: [{ ...point, asInt: "7", exemplars }] } },
  { name: "s", sum: { dataPoints: [{ ...point, asDouble: 0.5 }], aggregationTemporality: 2, isMonotonic: true } },
  {
    name: "h",
    histogram: {
      dataPoints: [{ ...point, count: "3", sum: 4, bucketCounts: ["1", "2"], explicitBounds: [1.5], min: 0, max: 9 }],
      aggregationTemporality: 1,
    },
  },
  {
    name: "e",
    exponentialHistogram: {
      dataPoints: [{ ...point, count: 2, scale: -1, zeroCount: 1, positive: { offset: 1, bucketCounts: ["1"] } }],
    },
  },
  { name: "q", summary: { dataPoints: [{ ...point, count: 1, quantileValues: [{ quantile: 0.99, value: 2 }] }] } },
];

/** A request in which every kind of field stands. */
export function richJson(signal: Signal): string {
  const schemaUrl = "https://opentelemetry.io/schemas/1.40.0";
  switch (signal) {
    case "logs":
      return JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords, schemaUrl }], schemaUrl }] });
    case "traces":
      return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans, schemaUrl }] }] });
    case "metrics":
      return JSON.stringify({ resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }], schemaUrl }] });
  }
}
