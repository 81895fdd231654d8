import type { Signal } from "./signal.js";
import { LENGTH_DELIMITED } from "./wire.js";

/**
 * OTLP's messages as a table: the one description that validation, the tree and OTLP/JSON are driven by.
 *
 * A field is `[number, name, type]`; `name` is the lowerCamelCase one of OTLP/JSON. A type ending in `[]` is repeated
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
  /** The name as OTLP/JSON writes it before a value, quotes and colon included. */
  readonly jsonLabel: Uint8Array;
  /** The type of one value; `message` is set when it is a message. */
  readonly type: ScalarType | "message";
  readonly message: Message | undefined;
  readonly repeated: boolean;
  /** The oneof it is a member of: of all members of a choice at most one is set. */
  readonly oneof: string | undefined;
  /** Names of an enum's values, by number. */
  readonly enumNames: readonly string[] | undefined;
}

export interface Message {
  readonly name: string;
  /** In ascending order of number. */
  readonly fields: readonly Field[];
  readonly byNumber: readonly (Field | undefined)[];
  /** By lowerCamelCase and by snake_case name. */
  readonly byName: ReadonlyMap<string, Field>;
}

const SEVERITY_NAMES = [
  "UNSPECIFIED",
  ...["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"].flatMap((level) => [
    level,
    `${level}2`,
    `${level}3`,
    `${level}4`,
  ]),
].map((name) => `SEVERITY_NUMBER_${name}`);
const SPAN_KIND_NAMES = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"].map(
  (n) => `SPAN_KIND_${n}`,
);
const STATUS_CODE_NAMES = ["UNSET", "OK", "ERROR"].map((name) => `STATUS_CODE_${name}`);
const TEMPORALITY_NAMES = ["UNSPECIFIED", "DELTA", "CUMULATIVE"].map((name) => `AGGREGATION_TEMPORALITY_${name}`);

const ENUMS: Readonly<Record<string, readonly string[]>> = {
  severityNumber: SEVERITY_NAMES,
  kind: SPAN_KIND_NAMES,
  code: STATUS_CODE_NAMES,
  aggregationTemporality: TEMPORALITY_NAMES,
};

/** Members of a oneof, by message. */
const ONEOFS: Readonly<Record<string, readonly string[]>> = {
  AnyValue: ["stringValue", "boolValue", "intValue", "doubleValue", "arrayValue", "kvlistValue", "bytesValue"],
  Metric: ["gauge", "sum", "histogram", "exponentialHistogram", "summary"],
  NumberDataPoint: ["asDouble", "asInt"],
  Exemplar: ["asDouble", "asInt"],
};

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

/** All messages by name; fields point at each other's messages. */
export const MESSAGES: Readonly<Record<string, Message>> = buildMessages();

/** The request message of each signal. */
export const REQUEST: Readonly<Record<Signal, Message>> = {
  logs: MESSAGES["LogsRequest"]!,
  traces: MESSAGES["TracesRequest"]!,
  metrics: MESSAGES["MetricsRequest"]!,
};

function buildMessages(): Record<string, Message> {
  const messages: Record<
    string,
    Message & { fields: Field[]; byNumber: (Field | undefined)[]; byName: Map<string, Field> }
  > = {};
  for (const name of Object.keys(TABLE)) messages[name] = { name, fields: [], byNumber: [], byName: new Map() };
  for (const [name, rows] of Object.entries(TABLE)) {
    const message = messages[name]!;
    for (const row of rows) {
      const field = toField(row, messages, ONEOFS[name]);
      message.fields.push(field);
      message.byNumber[field.number] = field;
      message.byName.set(field.snakeName, field).set(field.name, field);
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
  return {
    number,
    name,
    snakeName: name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    jsonLabel: Buffer.from(`"${name}":`),
    type: message ? "message" : (type as ScalarType),
    message,
    repeated,
    oneof: oneof.includes(name) ? oneof[0] : undefined,
    enumNames: type === "enum" ? ENUMS[name] : undefined,
  };
}

/** The wire type in which a field is written; numbers that come in lists are packed. */
export function wireType(field: Field): number {
  switch (field.type) {
    case "message":
    case "string":
    case "bytes":
    case "id":
      return LENGTH_DELIMITED;
    case "double":
    case "fixed64":
    case "sfixed64":
      return 1;
    case "fixed32":
      return 5;
    default:
      return field.repeated ? LENGTH_DELIMITED : 0;
  }
}
