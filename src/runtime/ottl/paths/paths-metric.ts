import type { Tree } from "#otlp/bytes";
import { METRIC_DATA_TAGS } from "#otlp/metric-tags";
import { OttlError } from "../values/error.js";
import { type OttlValue, sameValue } from "../values/value.js";
import type { EditableMessage } from "./editable-message.js";
import {
  BOOLEAN_FIELD,
  checkedList,
  DOUBLE_FIELD,
  fieldAccess,
  INT32_FIELD,
  INT64_FIELD,
  listAccess,
  messagesAccess,
  readField,
  typeMismatch,
  writeField,
} from "./field-access.js";
import type { PathAccess, SelectMessage } from "./path-access.js";
import { fieldPaths, type PathTable, pathWithoutKeys } from "./path-table.js";

/** The paths of a data point: the record itself, or the point around an exemplar. */
export function dataPointPaths(point: SelectMessage): PathTable {
  return {
    ...fieldPaths(point, {
      time: ["timeUnixNano", "time"],
      time_unix_nano: ["timeUnixNano", "uint64"],
      start_time: ["startTimeUnixNano", "time"],
      start_time_unix_nano: ["startTimeUnixNano", "uint64"],
      flags: ["flags", "uint32"],
      count: ["count", "uint64"],
      sum: ["sum", "double"],
      scale: ["scale", "int32"],
      zero_count: ["zeroCount", "uint64"],
    }),
    value_double: pathWithoutKeys("double", numberAccess(point, "asDouble", "asInt")),
    value_int: pathWithoutKeys("int", numberAccess(point, "asInt", "asDouble")),
    bucket_counts: pathWithoutKeys("list", listAccess(point, "bucketCounts", "int")),
    explicit_bounds: pathWithoutKeys("list", listAccess(point, "explicitBounds", "double")),
    quantile_values: pathWithoutKeys("quantileValues", messagesAccess(point, "quantileValues")),
    exemplars: pathWithoutKeys("exemplars", messagesAccess(point, "exemplars")),
    positive: pathWithoutKeys("positive", messagesAccess(point, "positive")),
    "positive.offset": pathWithoutKeys("int", bucketAccess(point, "positive", "offset")),
    "positive.bucket_counts": pathWithoutKeys("list", bucketAccess(point, "positive", "bucketCounts")),
    negative: pathWithoutKeys("negative", messagesAccess(point, "negative")),
    "negative.offset": pathWithoutKeys("int", bucketAccess(point, "negative", "offset")),
    "negative.bucket_counts": pathWithoutKeys("list", bucketAccess(point, "negative", "bucketCounts")),
  };
}

const exemplar: SelectMessage = (ctx) => ctx.record;

export const EXEMPLAR_PATHS: PathTable = {
  ...fieldPaths(exemplar, {
    time: ["timeUnixNano", "time"],
    time_unix_nano: ["timeUnixNano", "uint64"],
    trace_id: ["traceId", "traceId"],
    "trace_id.string": ["traceId", "traceIdText"],
    span_id: ["spanId", "spanId"],
    "span_id.string": ["spanId", "spanIdText"],
  }),
  double_value: pathWithoutKeys("double", numberAccess(exemplar, "asDouble", "asInt")),
  int_value: pathWithoutKeys("int", numberAccess(exemplar, "asInt", "asDouble")),
};

/** The value of a gauge, sum or exemplar as one of its two types; 0 if it has the other type. */
function numberAccess(select: SelectMessage, name: "asInt" | "asDouble", other: "asInt" | "asDouble"): PathAccess {
  const conversion = name === "asInt" ? INT64_FIELD : DOUBLE_FIELD;
  return {
    get: (ctx) => {
      const message = select(ctx);
      const field = message.type.byName.get(name);
      return field === undefined ? null : conversion.read(readField(message, field));
    },
    set: (ctx, value) => {
      const message = select(ctx);
      const written = conversion.write(value);
      const field = message.type.byName.get(name);
      if (field === undefined) throw new OttlError(`a ${message.type.name} has no value`);
      const current = readField(message, field);
      if (current !== undefined && sameValue(conversion.read(current), value)) return;
      writeField(message, field, written);
      writeField(message, message.type.byName.get(other)!, undefined);
    },
  };
}

/** A field of an exponential histogram's positive or negative buckets. */
function bucketAccess(
  select: SelectMessage,
  side: "positive" | "negative",
  name: "offset" | "bucketCounts",
): PathAccess {
  const read = (message: EditableMessage): Tree => (readField(message, message.type.byName.get(side)!) ?? {}) as Tree;
  const view = (buckets: Tree): OttlValue =>
    name === "offset"
      ? INT32_FIELD.read(buckets["offset"])
      : ((buckets["bucketCounts"] ?? []) as bigint[]).map((count) => BigInt.asIntN(64, count));
  return {
    get: (ctx) => {
      const message = select(ctx);
      return message.type.byName.has(side) ? view(read(message)) : null;
    },
    set: (ctx, value) => {
      const message = select(ctx);
      const field = message.type.byName.get(side);
      if (field === undefined) throw new OttlError(`a ${message.type.name} has no ${side} buckets`);
      const written =
        name === "offset"
          ? INT32_FIELD.write(value)
          : checkedList(value, "bigint", "int").map((count) => BigInt.asUintN(64, count as bigint));
      const buckets = read(message);
      if (!sameValue(view(buckets), value)) writeField(message, field, { ...buckets, [name]: written as Tree[string] });
    },
  };
}

const metric: SelectMessage = (ctx) => ctx.around.metric.current();
const data: SelectMessage = (ctx) => ctx.around.metricData.current();

export const METRIC_PATHS: PathTable = {
  ...fieldPaths(metric, { name: ["name", "text"], description: ["description", "text"], unit: ["unit", "text"] }),
  type: pathWithoutKeys("int", {
    get: (ctx) => BigInt(METRIC_DATA_TAGS.indexOf(ctx.around.metricData.tag()) + 1),
    set: () => undefined, // as in the Collector: functions change a metric's type
  }),
  aggregation_temporality: pathWithoutKeys(
    "int",
    optionalAccess(fieldAccess(data, "aggregationTemporality", INT32_FIELD), "bigint"),
  ),
  is_monotonic: pathWithoutKeys("bool", optionalAccess(fieldAccess(data, "isMonotonic", BOOLEAN_FIELD), "boolean")),
  data_points: pathWithoutKeys("data_points", messagesAccess(data, "dataPoints")),
};

/** A field that only some kinds of data have: for the others it is nil, and setting it does nothing. */
function optionalAccess(access: PathAccess, type: "bigint" | "boolean"): PathAccess {
  return {
    get: (ctx) => access.get(ctx),
    set: (ctx, value) => {
      if (typeof value !== type) throw typeMismatch(type === "bigint" ? "int" : "bool", value);
      if (access.get(ctx) !== null) access.set(ctx, value);
    },
  };
}
