import { type TimeZone, UTC, type ZonedTime } from "#text";

/**
 * The values of the language. They are never changed in place: a changed map or list is a new one, so any number of
 * places may share one. An integer is a bigint and a double is a number, so the two never get mixed up: a value written
 * as an integer is compared, computed and written back as one. `null` is nil: a missing value, or an attribute without
 * a value.
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

/** A point in time in nanoseconds since 1970, with the zone for printing it. */
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
 * The id of a trace or span. It equals only the same id, is unordered, and cannot be stored as a value: use the path
 * `trace_id.string` or `Format` for its text.
 */
export class OttlId extends Uint8Array {}

/** The id of a profile: as long as a trace id, but a different type. */
export class OttlProfileId extends OttlId {}

/** Messages that are only passed around, such as a span's events, each as its wire bytes. */
export class OttlMessages {
  readonly kind: string;
  readonly items: readonly Uint8Array[];

  constructor(kind: string, items: readonly Uint8Array[]) {
    this.kind = kind;
    this.items = items;
  }
}

/** The name of a value's type in messages. */
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

/** Whether the value is nil: no value, or empty bytes, as in the Collector. */
export function isNil(value: OttlValue): boolean {
  return value === null || (value instanceof Uint8Array && value.length === 0);
}

export function isMap(value: OttlValue): value is OttlMap {
  return value instanceof Map;
}

/**
 * Whether type and content are the same; maps in any order. Doubles are compared by their bits, except that NaN equals
 * NaN.
 */
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

/** Ids differ from plain bytes and from ids of another kind. */
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
