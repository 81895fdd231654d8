/**
 * Generates the tags of OTLP's fields as constants: `npm run readers`, after a build. They are made from the table of
 * messages, so no code has a tag number of its own, and written as literals, because the compiler inlines a literal
 * into a comparison. A test compares the files with what this script makes.
 */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * @typedef {import("../src/runtime/otlp/bytes/messages.js").Message} Message
 * @typedef {import("../src/runtime/otlp/bytes/messages.js").Field} Field
 * @typedef {Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>} TagGroups
 * Constants by group; each has one field, or several of different messages with the same tag. A name that ends in TAGS
 * is of a list.
 */

const SIGNALS = ["Logs", "Spans", "Metrics"];
const METRIC_DATA = ["Gauge", "Sum", "Histogram", "ExponentialHistogram", "Summary"];
const POINTS = ["NumberDataPoint", "HistogramDataPoint", "ExponentialHistogramDataPoint", "SummaryDataPoint"];
const DISTRIBUTIONS = POINTS.slice(1);

/** The field with this name of each message. */
const each = (/** @type {readonly string[]} */ messages, /** @type {string} */ field) =>
  messages.map((message) => `${message}.${field}`);

/** Stands for all fields of the table. */
const ALL_FIELDS = "*";

/** @type {Readonly<Record<string, TagGroups>>} by file */
export const TAG_FILES = {
  "src/runtime/otlp/bytes/tags.generated.ts": {
    "All known fields have tags below this; a larger tag belongs to an unknown field": { TAG_LIMIT: ALL_FIELDS },
    "Values and attributes": {
      KEY_TAG: "KeyValue.key",
      VALUE_TAG: "KeyValue.value",
      STRING_VALUE_TAG: "AnyValue.stringValue",
      BOOL_VALUE_TAG: "AnyValue.boolValue",
      INT_VALUE_TAG: "AnyValue.intValue",
      DOUBLE_VALUE_TAG: "AnyValue.doubleValue",
      ARRAY_VALUE_TAG: "AnyValue.arrayValue",
      KVLIST_VALUE_TAG: "AnyValue.kvlistValue",
      BYTES_VALUE_TAG: "AnyValue.bytesValue",
      ELEMENT_TAG: each(["ArrayValue", "KeyValueList"], "values"),
    },
    "Containers of any signal: request, resource container, scope container": {
      RESOURCE_CONTAINER_TAG: [
        "LogsRequest.resourceLogs",
        "TracesRequest.resourceSpans",
        "MetricsRequest.resourceMetrics",
      ],
      SCOPE_CONTAINER_TAG: SIGNALS.map((signal) => `Resource${signal}.scope${signal}`),
      SCOPE_ITEM_TAG: ["ScopeLogs.logRecords", "ScopeSpans.spans", "ScopeMetrics.metrics"],
      OWNER_TAG: SIGNALS.flatMap((signal) => [`Resource${signal}.resource`, `Scope${signal}.scope`]),
      SCHEMA_URL_TAG: SIGNALS.flatMap((signal) => [`Resource${signal}.schemaUrl`, `Scope${signal}.schemaUrl`]),
      RESOURCE_ATTRIBUTES_TAG: "Resource.attributes",
      SCOPE_NAME_TAG: "Scope.name",
      SCOPE_VERSION_TAG: "Scope.version",
      SCOPE_ATTRIBUTES_TAG: "Scope.attributes",
    },
    "Log records": {
      LOG_TIME_TAG: "LogRecord.timeUnixNano",
      LOG_SEVERITY_NUMBER_TAG: "LogRecord.severityNumber",
      LOG_SEVERITY_TEXT_TAG: "LogRecord.severityText",
      LOG_BODY_TAG: "LogRecord.body",
      LOG_ATTRIBUTES_TAG: "LogRecord.attributes",
      LOG_FLAGS_TAG: "LogRecord.flags",
      LOG_TRACE_ID_TAG: "LogRecord.traceId",
      LOG_SPAN_ID_TAG: "LogRecord.spanId",
      LOG_OBSERVED_TIME_TAG: "LogRecord.observedTimeUnixNano",
      LOG_EVENT_NAME_TAG: "LogRecord.eventName",
    },
    Spans: {
      SPAN_TRACE_ID_TAG: "Span.traceId",
      SPAN_ID_TAG: "Span.spanId",
      SPAN_TRACE_STATE_TAG: "Span.traceState",
      SPAN_PARENT_ID_TAG: "Span.parentSpanId",
      SPAN_NAME_TAG: "Span.name",
      SPAN_KIND_TAG: "Span.kind",
      SPAN_START_TIME_TAG: "Span.startTimeUnixNano",
      SPAN_END_TIME_TAG: "Span.endTimeUnixNano",
      SPAN_ATTRIBUTES_TAG: "Span.attributes",
      SPAN_EVENTS_TAG: "Span.events",
      SPAN_LINKS_TAG: "Span.links",
      SPAN_STATUS_TAG: "Span.status",
      SPAN_FLAGS_TAG: "Span.flags",
      SPAN_EVENT_TIME_TAG: "Event.timeUnixNano",
      SPAN_EVENT_NAME_TAG: "Event.name",
      SPAN_EVENT_ATTRIBUTES_TAG: "Event.attributes",
      SPAN_LINK_TRACE_ID_TAG: "Link.traceId",
      SPAN_LINK_SPAN_ID_TAG: "Link.spanId",
      SPAN_LINK_TRACE_STATE_TAG: "Link.traceState",
      SPAN_LINK_ATTRIBUTES_TAG: "Link.attributes",
      STATUS_MESSAGE_TAG: "Status.message",
      STATUS_CODE_TAG: "Status.code",
    },
  },
  "src/runtime/otlp/bytes/metric-tags.generated.ts": {
    Metrics: {
      METRIC_NAME_TAG: "Metric.name",
      METRIC_DESCRIPTION_TAG: "Metric.description",
      METRIC_UNIT_TAG: "Metric.unit",
      GAUGE_TAG: "Metric.gauge",
      SUM_TAG: "Metric.sum",
      HISTOGRAM_TAG: "Metric.histogram",
      EXPONENTIAL_HISTOGRAM_TAG: "Metric.exponentialHistogram",
      SUMMARY_TAG: "Metric.summary",
      METRIC_METADATA_TAG: "Metric.metadata",
    },
    "The data of any metric": {
      METRIC_DATA_TAGS: ["gauge", "sum", "histogram", "exponentialHistogram", "summary"].map(
        (kind) => `Metric.${kind}`,
      ),
    },
    "The data of a metric": {
      DATA_POINT_TAG: each(METRIC_DATA, "dataPoints"),
      TEMPORALITY_TAG: each(["Sum", "Histogram", "ExponentialHistogram"], "aggregationTemporality"),
      MONOTONIC_TAG: "Sum.isMonotonic",
    },
    "Data points of several kinds": {
      DATA_POINT_START_TIME_TAG: each(POINTS, "startTimeUnixNano"),
      DATA_POINT_TIME_TAG: each(POINTS, "timeUnixNano"),
      DISTRIBUTION_COUNT_TAG: each(DISTRIBUTIONS, "count"),
      DISTRIBUTION_SUM_TAG: each(DISTRIBUTIONS, "sum"),
    },
    "Data points of gauges and sums": {
      NUMBER_DOUBLE_TAG: "NumberDataPoint.asDouble",
      NUMBER_EXEMPLARS_TAG: "NumberDataPoint.exemplars",
      NUMBER_INT_TAG: "NumberDataPoint.asInt",
      NUMBER_ATTRIBUTES_TAG: "NumberDataPoint.attributes",
      NUMBER_FLAGS_TAG: "NumberDataPoint.flags",
    },
    "Data points of histograms": {
      HISTOGRAM_BUCKET_COUNTS_TAG: "HistogramDataPoint.bucketCounts",
      HISTOGRAM_BOUNDS_TAG: "HistogramDataPoint.explicitBounds",
      HISTOGRAM_EXEMPLARS_TAG: "HistogramDataPoint.exemplars",
      HISTOGRAM_ATTRIBUTES_TAG: "HistogramDataPoint.attributes",
      HISTOGRAM_FLAGS_TAG: "HistogramDataPoint.flags",
    },
    "Data points of exponential histograms": {
      EXPONENTIAL_ATTRIBUTES_TAG: "ExponentialHistogramDataPoint.attributes",
      EXPONENTIAL_SCALE_TAG: "ExponentialHistogramDataPoint.scale",
      EXPONENTIAL_ZERO_COUNT_TAG: "ExponentialHistogramDataPoint.zeroCount",
      EXPONENTIAL_POSITIVE_TAG: "ExponentialHistogramDataPoint.positive",
      EXPONENTIAL_NEGATIVE_TAG: "ExponentialHistogramDataPoint.negative",
      EXPONENTIAL_FLAGS_TAG: "ExponentialHistogramDataPoint.flags",
      EXPONENTIAL_EXEMPLARS_TAG: "ExponentialHistogramDataPoint.exemplars",
      EXPONENTIAL_MIN_TAG: "ExponentialHistogramDataPoint.min",
      EXPONENTIAL_MAX_TAG: "ExponentialHistogramDataPoint.max",
      EXPONENTIAL_ZERO_THRESHOLD_TAG: "ExponentialHistogramDataPoint.zeroThreshold",
      BUCKETS_OFFSET_TAG: "Buckets.offset",
      BUCKETS_COUNTS_TAG: "Buckets.bucketCounts",
    },
    "Data points of summaries": {
      SUMMARY_QUANTILES_TAG: "SummaryDataPoint.quantileValues",
      SUMMARY_ATTRIBUTES_TAG: "SummaryDataPoint.attributes",
      SUMMARY_FLAGS_TAG: "SummaryDataPoint.flags",
      QUANTILE_TAG: "ValueAtQuantile.quantile",
      QUANTILE_VALUE_TAG: "ValueAtQuantile.value",
    },
    Exemplars: {
      EXEMPLAR_TIME_TAG: "Exemplar.timeUnixNano",
      EXEMPLAR_DOUBLE_TAG: "Exemplar.asDouble",
      EXEMPLAR_SPAN_ID_TAG: "Exemplar.spanId",
      EXEMPLAR_TRACE_ID_TAG: "Exemplar.traceId",
      EXEMPLAR_ATTRIBUTES_TAG: "Exemplar.filteredAttributes",
    },
  },
};

const LENGTH_DELIMITED = 2;

/**
 * The text of a file of tags.
 *
 * @param {TagGroups} groups @param {Readonly<Record<string, Message>>} messages
 */
export function tagSource(groups, messages) {
  const parts = Object.entries(groups).map(([title, constants]) => {
    const lines = Object.entries(constants).map(([name, fields]) => tagLine(name, [fields].flat(), messages));
    return `// ${title}.\n${lines.join("")}`;
  });
  return `// Generated by scripts/wire-tags.js from OTLP's table of messages. Do not edit.\n\n${parts.join("\n")}`;
}

/** Tags of known fields are below this, whatever their wire type. @param {Readonly<Record<string, Message>>} messages */
function tagLimit(messages) {
  const numbers = Object.values(messages).flatMap(({ fields }) => fields.map(({ number }) => number));
  return (Math.max(...numbers) + 1) << 3;
}

/** @param {string} name @param {readonly string[]} fields @param {Readonly<Record<string, Message>>} messages */
function tagLine(name, fields, messages) {
  if (fields[0] === ALL_FIELDS) return `export const ${name} = ${tagLimit(messages)};\n`;
  const comment = `// ${fields[0]}${fields.length === 1 ? "" : ` and ${fields.length - 1} more`}\n`;
  if (name.endsWith("_TAGS")) {
    const list = fields.map((field) => tagOf(field, messages)).join(", ");
    return `export const ${name}: readonly number[] = [${list}]; ${comment}`;
  }
  const tags = new Set(fields.map((field) => tagOf(field, messages)));
  if (tags.size !== 1) throw new Error(`the fields of ${name} have different tags: ${[...tags].join(", ")}`);
  return `export const ${name} = ${[...tags][0]}; ${comment}`;
}

/** The tag that writers use: lists of numbers are packed. @param {string} path @param {Readonly<Record<string, Message>>} messages */
function tagOf(path, messages) {
  const [message = "", name = ""] = path.split(".");
  const field = messages[message]?.byName.get(name);
  if (field === undefined) throw new Error(`the table has no field ${path}`);
  return field.repeated ? (field.number << 3) | LENGTH_DELIMITED : field.tag;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const root = dirname(import.meta.dirname);
  const { MESSAGES } = await import("../dist/runtime/otlp/bytes/messages.js");
  for (const [path, groups] of Object.entries(TAG_FILES)) writeFileSync(join(root, path), tagSource(groups, MESSAGES));
}
