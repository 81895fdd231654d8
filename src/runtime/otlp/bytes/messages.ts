import {
  SEVERITY_NUMBER_NAMES,
  SPAN_KIND_SYMBOLS,
  STATUS_CODES,
  symbolsOf,
  TEMPORALITIES,
} from "../signals/enum-names.js";
import type { Signal } from "../signals/signal.js";
import { type FixedText, fixedText } from "./texts.js";
import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT } from "./wire.js";

/**
 * OTLP's messages as a table: the single description that drives validation, the tree and OTLP/JSON.
 *
 * A field is `[number, name, type]`; `name` is its lowerCamelCase name in OTLP/JSON. A type ending in `[]` is repeated
 * (numbers are packed). `id` is a trace or span id: bytes that OTLP/JSON writes in hex instead of base64.
 */
type ScalarType =
  | "string"
  | "bytes"
  | "id"
  | "bool"
  | "double"
  | "int64"
  | "uint64"
  | "int32"
  | "uint32"
  | "sint32"
  | "enum"
  | "fixed64"
  | "sfixed64"
  | "fixed32";

export interface Field {
  readonly number: number;
  readonly name: string;
  readonly snakeName: string;
  /** The tag of one value: number and wire type. A packed list has the same number and is length-delimited. */
  readonly tag: number;
  /** The name as OTLP/JSON writes it before a value, with quotes and colon. */
  readonly jsonLabel: FixedText;
  /** The type of one value; `message` is set if it is a message. */
  readonly type: ScalarType | "message";
  readonly message: Message | undefined;
  readonly repeated: boolean;
  /** The oneof it belongs to: at most one member of a oneof is set. */
  readonly oneof: string | undefined;
  /** The size of an id in bytes: 16 for a trace, 8 for a span; 0 for other fields. */
  readonly idBytes: number;
  /** Names of an enum's values, by number. */
  readonly enumNames: readonly string[] | undefined;
}

export interface Message {
  readonly name: string;
  /** Whether each occurrence is a record. */
  readonly isRecord: boolean;
  /** In ascending order of number. */
  readonly fields: readonly Field[];
  readonly byNumber: readonly (Field | undefined)[];
  /** By lowerCamelCase and by snake_case name. */
  readonly byName: ReadonlyMap<string, Field>;
  /** The tag of its attributes; for a metric, of its metadata; 0 if it has none. */
  readonly attributesTag: number;
}

const ENUMS: Readonly<Record<string, readonly string[]>> = {
  severityNumber: symbolsOf(SEVERITY_NUMBER_NAMES, "SEVERITY_NUMBER"),
  kind: SPAN_KIND_SYMBOLS,
  code: symbolsOf(STATUS_CODES, "STATUS_CODE"),
  aggregationTemporality: symbolsOf(TEMPORALITIES, "AGGREGATION_TEMPORALITY"),
};

/** Members of a oneof, by message. */
const ONEOFS: Readonly<Record<string, readonly string[]>> = {
  AnyValue: ["stringValue", "boolValue", "intValue", "doubleValue", "arrayValue", "kvlistValue", "bytesValue"],
  Metric: ["gauge", "sum", "histogram", "exponentialHistogram", "summary"],
  NumberDataPoint: ["asDouble", "asInt"],
  Exemplar: ["asDouble", "asInt"],
};

/** The messages that count as records: log records, spans and data points. */
const RECORDS: ReadonlySet<string> = new Set([
  "LogRecord",
  "Span",
  "NumberDataPoint",
  "HistogramDataPoint",
  "ExponentialHistogramDataPoint",
  "SummaryDataPoint",
]);

/** The names of fields that hold attributes. No message has two of them. */
const ATTRIBUTES: ReadonlySet<string> = new Set(["attributes", "metadata", "filteredAttributes"]);

type FieldRow = readonly [number: number, name: string, type: string];

const TIMES: readonly FieldRow[] = [
  [2, "startTimeUnixNano", "fixed64"],
  [3, "timeUnixNano", "fixed64"],
];

const TABLE: Readonly<Record<string, readonly FieldRow[]>> = {
  LogsRequest: [[1, "resourceLogs", "ResourceLogs[]"]],
  TracesRequest: [[1, "resourceSpans", "ResourceSpans[]"]],
  MetricsRequest: [[1, "resourceMetrics", "ResourceMetrics[]"]],
  ResourceLogs: container("scopeLogs", "ScopeLogs[]", "resource", "Resource"),
  ResourceSpans: container("scopeSpans", "ScopeSpans[]", "resource", "Resource"),
  ResourceMetrics: container("scopeMetrics", "ScopeMetrics[]", "resource", "Resource"),
  ScopeLogs: container("logRecords", "LogRecord[]", "scope", "Scope"),
  ScopeSpans: container("spans", "Span[]", "scope", "Scope"),
  ScopeMetrics: container("metrics", "Metric[]", "scope", "Scope"),
  Resource: [
    [1, "attributes", "KeyValue[]"],
    [2, "droppedAttributesCount", "uint32"],
    [3, "entityRefs", "EntityRef[]"],
  ],
  EntityRef: [
    [1, "schemaUrl", "string"],
    [2, "type", "string"],
    [3, "idKeys", "string[]"],
    [4, "descriptionKeys", "string[]"],
  ],
  Scope: [
    [1, "name", "string"],
    [2, "version", "string"],
    [3, "attributes", "KeyValue[]"],
    [4, "droppedAttributesCount", "uint32"],
  ],
  KeyValue: [
    [1, "key", "string"],
    [2, "value", "AnyValue"],
  ],
  AnyValue: [
    [1, "stringValue", "string"],
    [2, "boolValue", "bool"],
    [3, "intValue", "int64"],
    [4, "doubleValue", "double"],
    [5, "arrayValue", "ArrayValue"],
    [6, "kvlistValue", "KeyValueList"],
    [7, "bytesValue", "bytes"],
  ],
  ArrayValue: [[1, "values", "AnyValue[]"]],
  KeyValueList: [[1, "values", "KeyValue[]"]],
  LogRecord: [
    [1, "timeUnixNano", "fixed64"],
    [2, "severityNumber", "enum"],
    [3, "severityText", "string"],
    [5, "body", "AnyValue"],
    [6, "attributes", "KeyValue[]"],
    [7, "droppedAttributesCount", "uint32"],
    [8, "flags", "fixed32"],
    [9, "traceId", "id"],
    [10, "spanId", "id"],
    [11, "observedTimeUnixNano", "fixed64"],
    [12, "eventName", "string"],
  ],
  Span: [
    [1, "traceId", "id"],
    [2, "spanId", "id"],
    [3, "traceState", "string"],
    [4, "parentSpanId", "id"],
    [5, "name", "string"],
    [6, "kind", "enum"],
    [7, "startTimeUnixNano", "fixed64"],
    [8, "endTimeUnixNano", "fixed64"],
    [9, "attributes", "KeyValue[]"],
    [10, "droppedAttributesCount", "uint32"],
    [11, "events", "Event[]"],
    [12, "droppedEventsCount", "uint32"],
    [13, "links", "Link[]"],
    [14, "droppedLinksCount", "uint32"],
    [15, "status", "Status"],
    [16, "flags", "fixed32"],
  ],
  Event: [
    [1, "timeUnixNano", "fixed64"],
    [2, "name", "string"],
    [3, "attributes", "KeyValue[]"],
    [4, "droppedAttributesCount", "uint32"],
  ],
  Link: [
    [1, "traceId", "id"],
    [2, "spanId", "id"],
    [3, "traceState", "string"],
    [4, "attributes", "KeyValue[]"],
    [5, "droppedAttributesCount", "uint32"],
    [6, "flags", "fixed32"],
  ],
  Status: [
    [2, "message", "string"],
    [3, "code", "enum"],
  ],
  Metric: [
    [1, "name", "string"],
    [2, "description", "string"],
    [3, "unit", "string"],
    [5, "gauge", "Gauge"],
    [7, "sum", "Sum"],
    [9, "histogram", "Histogram"],
    [10, "exponentialHistogram", "ExponentialHistogram"],
    [11, "summary", "Summary"],
    [12, "metadata", "KeyValue[]"],
  ],
  Gauge: [[1, "dataPoints", "NumberDataPoint[]"]],
  Sum: [
    [1, "dataPoints", "NumberDataPoint[]"],
    [2, "aggregationTemporality", "enum"],
    [3, "isMonotonic", "bool"],
  ],
  Histogram: [
    [1, "dataPoints", "HistogramDataPoint[]"],
    [2, "aggregationTemporality", "enum"],
  ],
  ExponentialHistogram: [
    [1, "dataPoints", "ExponentialHistogramDataPoint[]"],
    [2, "aggregationTemporality", "enum"],
  ],
  Summary: [[1, "dataPoints", "SummaryDataPoint[]"]],
  NumberDataPoint: [
    ...TIMES,
    [4, "asDouble", "double"],
    [5, "exemplars", "Exemplar[]"],
    [6, "asInt", "sfixed64"],
    [7, "attributes", "KeyValue[]"],
    [8, "flags", "uint32"],
  ],
  HistogramDataPoint: [
    ...TIMES,
    [4, "count", "fixed64"],
    [5, "sum", "double"],
    [6, "bucketCounts", "fixed64[]"],
    [7, "explicitBounds", "double[]"],
    [8, "exemplars", "Exemplar[]"],
    [9, "attributes", "KeyValue[]"],
    [10, "flags", "uint32"],
    [11, "min", "double"],
    [12, "max", "double"],
  ],
  ExponentialHistogramDataPoint: [
    [1, "attributes", "KeyValue[]"],
    ...TIMES,
    [4, "count", "fixed64"],
    [5, "sum", "double"],
    [6, "scale", "sint32"],
    [7, "zeroCount", "fixed64"],
    [8, "positive", "Buckets"],
    [9, "negative", "Buckets"],
    [10, "flags", "uint32"],
    [11, "exemplars", "Exemplar[]"],
    [12, "min", "double"],
    [13, "max", "double"],
    [14, "zeroThreshold", "double"],
  ],
  Buckets: [
    [1, "offset", "sint32"],
    [2, "bucketCounts", "uint64[]"],
  ],
  SummaryDataPoint: [
    ...TIMES,
    [4, "count", "fixed64"],
    [5, "sum", "double"],
    [6, "quantileValues", "ValueAtQuantile[]"],
    [7, "attributes", "KeyValue[]"],
    [8, "flags", "uint32"],
  ],
  ValueAtQuantile: [
    [1, "quantile", "double"],
    [2, "value", "double"],
  ],
  Exemplar: [
    [2, "timeUnixNano", "fixed64"],
    [3, "asDouble", "double"],
    [4, "spanId", "id"],
    [5, "traceId", "id"],
    [6, "asInt", "sfixed64"],
    [7, "filteredAttributes", "KeyValue[]"],
  ],
};

function container(items: string, itemType: string, owner: string, ownerType: string): readonly FieldRow[] {
  return [
    [1, owner, ownerType],
    [2, items, itemType],
    [3, "schemaUrl", "string"],
  ];
}

/** The wire type of one value of each type. */
const WIRE_TYPES: Readonly<Record<Field["type"], number>> = {
  message: LENGTH_DELIMITED,
  string: LENGTH_DELIMITED,
  bytes: LENGTH_DELIMITED,
  id: LENGTH_DELIMITED,
  bool: VARINT,
  int64: VARINT,
  uint64: VARINT,
  int32: VARINT,
  uint32: VARINT,
  sint32: VARINT,
  enum: VARINT,
  double: FIXED64,
  fixed64: FIXED64,
  sfixed64: FIXED64,
  fixed32: FIXED32,
};

/** All messages by name; fields refer to the messages they contain. */
export const MESSAGES: Readonly<Record<string, Message>> = buildMessages();

/** The request message of each signal. */
export const REQUEST: Readonly<Record<Signal, Message>> = {
  logs: MESSAGES["LogsRequest"]!,
  traces: MESSAGES["TracesRequest"]!,
  metrics: MESSAGES["MetricsRequest"]!,
};

interface MessageDraft extends Message {
  fields: Field[];
  byNumber: (Field | undefined)[];
  byName: Map<string, Field>;
  attributesTag: number;
}

function buildMessages(): Record<string, Message> {
  const messages: Record<string, MessageDraft> = {};
  for (const name of Object.keys(TABLE)) {
    messages[name] = {
      name,
      isRecord: RECORDS.has(name),
      fields: [],
      byNumber: [],
      byName: new Map(),
      attributesTag: 0,
    };
  }
  for (const [name, rows] of Object.entries(TABLE)) {
    const message = messages[name]!;
    for (const row of rows) {
      const field = toField(row, messages, ONEOFS[name]);
      message.fields.push(field);
      message.byNumber[field.number] = field;
      message.byName.set(field.snakeName, field).set(field.name, field);
      if (ATTRIBUTES.has(field.name)) message.attributesTag = field.tag;
    }
  }
  return messages;
}

function toField(
  [number, name, declaredType]: FieldRow,
  messages: Readonly<Record<string, Message>>,
  oneof: readonly string[] = [],
): Field {
  const repeated = declaredType.endsWith("[]");
  const type = repeated ? declaredType.slice(0, -2) : declaredType;
  const message = messages[type];
  const valueType = message ? "message" : (type as ScalarType);
  return {
    number,
    name,
    tag: (number << 3) | WIRE_TYPES[valueType],
    snakeName: name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    jsonLabel: fixedText(`"${name}":`),
    type: valueType,
    message,
    repeated,
    oneof: oneof.includes(name) ? oneof[0] : undefined,
    idBytes: type === "id" ? (name === "traceId" ? 16 : 8) : 0,
    enumNames: type === "enum" ? ENUMS[name] : undefined,
  };
}

/** Whether its lists are packed: one length, followed by the values without tags. */
export function isPackable(field: Field): boolean {
  return (field.tag & 7) !== LENGTH_DELIMITED;
}

/** The message of a metric's data, by its tag in the metric. */
export function metricDataMessage(dataTag: number): Message {
  return MESSAGES["Metric"]!.byNumber[dataTag >>> 3]!.message!;
}

/** The message of the points in a metric's data, by the tag of the data in the metric. */
export function dataPointMessage(dataTag: number): Message {
  return metricDataMessage(dataTag).byName.get("dataPoints")!.message!;
}

/** The tags of data points' attributes, by the tag of the metric's data that contains the points. */
export const POINT_ATTRIBUTES_TAGS: Readonly<Record<number, number>> = Object.fromEntries(
  MESSAGES["Metric"]!.fields.filter(({ oneof }) => oneof !== undefined).map(({ tag }) => [
    tag,
    dataPointMessage(tag).attributesTag,
  ]),
);

/** The key under which a decoded message keeps its unknown fields, unchanged and with their tags. */
export const UNKNOWN_FIELDS: unique symbol = Symbol.for("sluice.unknown_fields");
