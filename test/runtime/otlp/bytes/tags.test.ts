import { expect, it } from "vitest";
import { MESSAGES, POINT_ATTRIBUTES_TAGS } from "../../../../src/runtime/otlp/bytes/messages.js";
import * as tags from "../../../../src/runtime/otlp/bytes/tags.js";

/** Which fields each tag is of. */
const FIELDS: Readonly<Record<keyof typeof tags, readonly string[]>> = {
  TAG_LIMIT: [],
  METRIC_DATA_TAGS: [],
  KEY_TAG: ["KeyValue.key"],
  VALUE_TAG: ["KeyValue.value"],
  STRING_VALUE_TAG: ["AnyValue.stringValue"],
  BOOL_VALUE_TAG: ["AnyValue.boolValue"],
  INT_VALUE_TAG: ["AnyValue.intValue"],
  DOUBLE_VALUE_TAG: ["AnyValue.doubleValue"],
  ARRAY_VALUE_TAG: ["AnyValue.arrayValue"],
  KVLIST_VALUE_TAG: ["AnyValue.kvlistValue"],
  BYTES_VALUE_TAG: ["AnyValue.bytesValue"],
  ELEMENT_TAG: ["ArrayValue.values", "KeyValueList.values"],
  RESOURCE_CONTAINER_TAG: ["LogsRequest.resourceLogs", "TracesRequest.resourceSpans", "MetricsRequest.resourceMetrics"],
  SCOPE_CONTAINER_TAG: ["ResourceLogs.scopeLogs", "ResourceSpans.scopeSpans", "ResourceMetrics.scopeMetrics"],
  SCOPE_ITEM_TAG: ["ScopeLogs.logRecords", "ScopeSpans.spans", "ScopeMetrics.metrics"],
  OWNER_TAG: ["ResourceLogs.resource", "ResourceMetrics.resource", "ScopeSpans.scope", "ScopeMetrics.scope"],
  SCHEMA_URL_TAG: ["ResourceLogs.schemaUrl", "ScopeMetrics.schemaUrl"],
  RESOURCE_ATTRIBUTES_TAG: ["Resource.attributes"],
  SCOPE_NAME_TAG: ["Scope.name"],
  SCOPE_VERSION_TAG: ["Scope.version"],
  SCOPE_ATTRIBUTES_TAG: ["Scope.attributes"],
  LOG_TIME_TAG: ["LogRecord.timeUnixNano"],
  LOG_SEVERITY_NUMBER_TAG: ["LogRecord.severityNumber"],
  LOG_SEVERITY_TEXT_TAG: ["LogRecord.severityText"],
  LOG_BODY_TAG: ["LogRecord.body"],
  LOG_ATTRIBUTES_TAG: ["LogRecord.attributes"],
  LOG_TRACE_ID_TAG: ["LogRecord.traceId"],
  LOG_FLAGS_TAG: ["LogRecord.flags"],
  LOG_SPAN_ID_TAG: ["LogRecord.spanId"],
  LOG_OBSERVED_TIME_TAG: ["LogRecord.observedTimeUnixNano"],
  LOG_EVENT_NAME_TAG: ["LogRecord.eventName"],
  SPAN_TRACE_ID_TAG: ["Span.traceId"],
  SPAN_ID_TAG: ["Span.spanId"],
  SPAN_TRACE_STATE_TAG: ["Span.traceState"],
  SPAN_PARENT_ID_TAG: ["Span.parentSpanId"],
  SPAN_NAME_TAG: ["Span.name"],
  SPAN_KIND_TAG: ["Span.kind"],
  SPAN_START_TIME_TAG: ["Span.startTimeUnixNano"],
  SPAN_END_TIME_TAG: ["Span.endTimeUnixNano"],
  SPAN_ATTRIBUTES_TAG: ["Span.attributes"],
  SPAN_EVENTS_TAG: ["Span.events"],
  SPAN_STATUS_TAG: ["Span.status"],
  SPAN_LINKS_TAG: ["Span.links"],
  SPAN_FLAGS_TAG: ["Span.flags"],
  SPAN_EVENT_TIME_TAG: ["Event.timeUnixNano"],
  SPAN_EVENT_NAME_TAG: ["Event.name"],
  SPAN_EVENT_DROPPED_TAG: ["Event.droppedAttributesCount"],
  SPAN_EVENT_ATTRIBUTES_TAG: ["Event.attributes"],
  SPAN_LINK_TRACE_ID_TAG: ["Link.traceId"],
  SPAN_LINK_SPAN_ID_TAG: ["Link.spanId"],
  SPAN_LINK_ATTRIBUTES_TAG: ["Link.attributes"],
  STATUS_MESSAGE_TAG: ["Status.message"],
  STATUS_CODE_TAG: ["Status.code"],
  METRIC_NAME_TAG: ["Metric.name"],
  METRIC_DESCRIPTION_TAG: ["Metric.description"],
  METRIC_UNIT_TAG: ["Metric.unit"],
  TEMPORALITY_TAG: [
    "Sum.aggregationTemporality",
    "Histogram.aggregationTemporality",
    "ExponentialHistogram.aggregationTemporality",
  ],
  MONOTONIC_TAG: ["Sum.isMonotonic"],
  DATA_POINT_START_TIME_TAG: [
    "NumberDataPoint.startTimeUnixNano",
    "HistogramDataPoint.startTimeUnixNano",
    "ExponentialHistogramDataPoint.startTimeUnixNano",
    "SummaryDataPoint.startTimeUnixNano",
  ],
  NUMBER_DOUBLE_TAG: ["NumberDataPoint.asDouble"],
  NUMBER_INT_TAG: ["NumberDataPoint.asInt"],
  NUMBER_ATTRIBUTES_TAG: ["NumberDataPoint.attributes", "SummaryDataPoint.attributes"],
  GAUGE_TAG: ["Metric.gauge"],
  SUM_TAG: ["Metric.sum"],
  HISTOGRAM_TAG: ["Metric.histogram"],
  EXPONENTIAL_HISTOGRAM_TAG: ["Metric.exponentialHistogram"],
  SUMMARY_TAG: ["Metric.summary"],
  DATA_POINT_TAG: [
    "Gauge.dataPoints",
    "Sum.dataPoints",
    "Histogram.dataPoints",
    "ExponentialHistogram.dataPoints",
    "Summary.dataPoints",
  ],
  DATA_POINT_TIME_TAG: [
    "NumberDataPoint.timeUnixNano",
    "HistogramDataPoint.timeUnixNano",
    "ExponentialHistogramDataPoint.timeUnixNano",
    "SummaryDataPoint.timeUnixNano",
  ],
};

function tagOf(field: string): number {
  const [message, name] = field.split(".") as [string, string];
  return MESSAGES[message]!.byName.get(name)!.tag;
}

it("has the tags that follow from the table of messages", () => {
  const wrong = Object.entries(tags).flatMap(([name, tag]) =>
    FIELDS[name as keyof typeof tags].filter((field) => tagOf(field) !== tag).map((field) => `${name}: ${field}`),
  );
  expect(wrong).toEqual([]);
});

it("has a limit above every known tag, whatever its wire type", () => {
  const numbers = Object.values(MESSAGES).flatMap(({ fields }) => fields.map(({ number }) => number));
  expect(Math.max(...numbers.map((number) => (number << 3) | 7))).toBeLessThan(tags.TAG_LIMIT);
});

it("knows where the attributes of data points are, by the metric's data", () => {
  expect(POINT_ATTRIBUTES_TAGS).toEqual({ 42: 58, 58: 58, 74: 74, 82: 10, 90: 58 });
});
