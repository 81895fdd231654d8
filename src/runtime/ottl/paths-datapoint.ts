import type { Tree } from "../telemetry/tree.js";
import type { Access, Pick } from "./access.js";
import { OttlError } from "./error.js";
import { DOUBLE, INT32, INT64, listAccess, listOf, messagesAccess, readField, writeField } from "./fields.js";
import type { Level } from "./level.js";
import { fields, type PathTable, plain } from "./path-table.js";
import { type OttlValue, sameValue } from "./value.js";

const record: Pick = (scene) => scene.record;

export const DATA_POINT_PATHS: PathTable = {
  ...fields(record, {
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
  value_double: plain("double", numberAccess("asDouble", "asInt")),
  value_int: plain("int", numberAccess("asInt", "asDouble")),
  bucket_counts: plain("list", listAccess(record, "bucketCounts", "int")),
  explicit_bounds: plain("list", listAccess(record, "explicitBounds", "double")),
  quantile_values: plain("quantileValues", messagesAccess(record, "quantileValues")),
  exemplars: plain("exemplars", messagesAccess(record, "exemplars")),
  positive: plain("positive", messagesAccess(record, "positive")),
  "positive.offset": plain("int", bucketAccess("positive", "offset")),
  "positive.bucket_counts": plain("list", bucketAccess("positive", "bucketCounts")),
  negative: plain("negative", messagesAccess(record, "negative")),
  "negative.offset": plain("int", bucketAccess("negative", "offset")),
  "negative.bucket_counts": plain("list", bucketAccess("negative", "bucketCounts")),
};

/** The value of a gauge or sum as one of its two types; 0 when it is of the other one. */
function numberAccess(name: "asInt" | "asDouble", other: "asInt" | "asDouble"): Access {
  const conversion = name === "asInt" ? INT64 : DOUBLE;
  return {
    get: (scene) => {
      const field = scene.record.message.byName.get(name);
      return field === undefined ? null : conversion.read(readField(scene.record, field));
    },
    set: (scene, value) => {
      const level = scene.record;
      const written = conversion.write(value);
      const field = level.message.byName.get(name);
      if (field === undefined) throw new OttlError(`a ${level.message.name} has no value`);
      const current = readField(level, field);
      if (current !== undefined && sameValue(conversion.read(current), value)) return;
      writeField(level, field, written);
      writeField(level, level.message.byName.get(other)!, undefined);
    },
  };
}

/** A field of an exponential histogram's positive or negative buckets. */
function bucketAccess(side: "positive" | "negative", name: "offset" | "bucketCounts"): Access {
  const read = (level: Level): Tree => (readField(level, level.message.byName.get(side)!) ?? {}) as Tree;
  const view = (buckets: Tree): OttlValue =>
    name === "offset"
      ? INT32.read(buckets["offset"])
      : ((buckets["bucketCounts"] ?? []) as bigint[]).map((count) => BigInt.asIntN(64, count));
  return {
    get: (scene) => (scene.record.message.byName.has(side) ? view(read(scene.record)) : null),
    set: (scene, value) => {
      const level = scene.record;
      const field = level.message.byName.get(side);
      if (field === undefined) throw new OttlError(`a ${level.message.name} has no ${side} buckets`);
      const written =
        name === "offset"
          ? INT32.write(value)
          : listOf(value, "bigint", "int").map((count) => BigInt.asUintN(64, count as bigint));
      const buckets = read(level);
      if (!sameValue(view(buckets), value)) writeField(level, field, { ...buckets, [name]: written as Tree[string] });
    },
  };
}
