import { type TimeZone, UTC, type ZonedTime } from "#text";

/**
 * The values of the language. They are never changed in place: who changes a map or list makes a new one, so that any
 * number of places may hold the same. An integer is a bigint and a double is a number, so that the two never get mixed up:
 * what was written as an integer is compared, computed and written back as one. `null` is nil: what is not there, or
 * an attribute without a value.
 */
export type OttlValue =
  | null
  | string
  | boolean
  | bigint
  | number
  | Uint8Array
  | OttlTime
  | OttlDuration
  | OttlMessages
  | OttlValue[]
  | OttlMap;

export type OttlMap = Map<string, OttlValue>;

/** A point in time, in nanoseconds since 1970, with the zone in which it is to be printed. */
export class OttlTime implements ZonedTime {
  readonly nanos: bigint;
  readonly zone: TimeZone;

  constructor(nanos: bigint, zone: TimeZone = UTC) {
    this.nanos = nanos;
    this.zone = zone;
  }
}

/** A duration in nanoseconds. */
export class OttlDuration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = BigInt.asIntN(64, nanos);
  }
}

/**
 * The id of a trace or span. It equals only the same id, is in no order with anything, and cannot be stored as a value: who
 * wants its text takes the path `trace_id.string`, or `Format`.
 */
export class OttlId extends Uint8Array {}

/** The id of a profile: as long as that of a trace, but another thing. */
export class OttlProfileId extends OttlId {}

/** Messages that are only passed around, such as a span's events: each one as its wire bytes. */
export class OttlMessages {
  readonly kind: string;
  readonly items: readonly Uint8Array[];

  constructor(kind: string, items: readonly Uint8Array[]) {
    this.kind = kind;
    this.items = items;
  }
}

/** What a value is called in messages. */
export function typeName(value: OttlValue): string {
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
  }
  if (value === null) return "nil";
  if (value instanceof OttlId) return "id";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof OttlTime) return "time";
  if (value instanceof OttlDuration) return "duration";
  if (value instanceof OttlMessages) return value.kind;
  return Array.isArray(value) ? "list" : "map";
}

/** Whether it is nil: no value, or bytes without a byte, as in the Collector. */
export function isNil(value: OttlValue): boolean {
  return value === null || (value instanceof Uint8Array && value.length === 0);
}

export function isMap(value: OttlValue): value is OttlMap {
  return value instanceof Map;
}

/** Of the same type and content; maps in any order. Doubles by their bits but for NaN, which is itself. */
export function sameValue(a: OttlValue, b: OttlValue): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && sameKindOfBytes(a, b) && Buffer.compare(a, b) === 0;
  if (Array.isArray(a)) return Array.isArray(b) && sameLists(a, b);
  if (a instanceof Map) return b instanceof Map && sameMaps(a, b);
  if (a instanceof OttlTime) return b instanceof OttlTime && a.nanos === b.nanos;
  if (a instanceof OttlDuration) return b instanceof OttlDuration && a.nanos === b.nanos;
  return (
    b instanceof OttlMessages &&
    a.kind === b.kind &&
    a.items.length === b.items.length &&
    a.items.every((item, i) => Buffer.compare(item, b.items[i]!) === 0)
  );
}

/** Ids are not the bytes that they are made of, nor ids of another kind. */
function sameKindOfBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a instanceof OttlId || b instanceof OttlId ? a.constructor === b.constructor : true;
}

function sameLists(a: readonly OttlValue[], b: readonly OttlValue[]): boolean {
  return a.length === b.length && a.every((item, i) => sameValue(item, b[i]!));
}

function sameMaps(a: OttlMap, b: OttlMap): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !sameValue(value, other)) return false;
  }
  return true;
}
