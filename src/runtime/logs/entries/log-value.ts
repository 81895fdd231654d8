import { MAX_VALUE_DEPTH, WireWriter, writeKeyValueBody, writeList } from "#otlp/bytes";
import {
  BOOL_VALUE_TAG,
  BYTES_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  ELEMENT_TAG,
  INT_VALUE_TAG,
  KEY_TAG,
  KVLIST_VALUE_TAG,
  LOG_ATTRIBUTES_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "#otlp/tags";

/**
 * A value of a log entry. A number is a double and a bigint an integer, because the Collector treats JSON's numbers as
 * doubles. Objects may come from JSON, so their keys are data: look only at own properties.
 */
export type LogValue = string | number | bigint | boolean | null | Uint8Array | LogValue[] | LogMap;

export type LogMap = { [key: string]: LogValue };

export function isLogMap(value: unknown): value is LogMap {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

export function newLogMap(): LogMap {
  return Object.create(null) as LogMap;
}

export function ownValue(map: LogMap, key: string): LogValue | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** Sets a key of any name, including `__proto__`. */
export function setValue(map: LogMap, key: string, value: LogValue): void {
  if (key === "__proto__") {
    Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
  } else map[key] = value;
}

/** A deep copy. */
export function copyValue(value: LogValue): LogValue {
  if (Array.isArray(value)) return value.map(copyValue);
  if (!isLogMap(value)) return value;
  const copy = newLogMap();
  for (const key of Object.keys(value)) copy[key] = copyValue(value[key]!);
  return copy;
}

/** Writes the body of an AnyValue. */
export function writeLogValue(writer: WireWriter, value: LogValue, depth: number): void {
  switch (typeof value) {
    case "string":
      writer.byte(STRING_VALUE_TAG);
      return writer.text(value);
    case "number":
      writer.byte(DOUBLE_VALUE_TAG);
      return writer.double(value);
    case "boolean":
      writer.byte(BOOL_VALUE_TAG);
      return writer.byte(value ? 1 : 0);
    case "bigint":
      writer.byte(INT_VALUE_TAG);
      return writer.varint64(value);
  }
  if (value === null || value === undefined) return;
  if (value instanceof Uint8Array) {
    writer.byte(BYTES_VALUE_TAG);
    writer.lengthDelimited(value);
  } else if (depth === 0) {
    writer.byte(STRING_VALUE_TAG);
    writer.text(textOf(value));
  } else if (Array.isArray(value)) writeList(writer, value, depth - 1, writeLogValue);
  else {
    writer.byte(KVLIST_VALUE_TAG);
    writer.begin(USUAL_MAP_SIZE);
    writeLogMap(writer, ELEMENT_TAG, value, depth - 1);
    writer.end();
  }
}

/** Any number of two bytes: smaller maps are moved by one byte. */
const USUAL_MAP_SIZE = 200;

/** Writes a map as fields with this tag, each a KeyValue, whose values may be `depth` levels deep. */
export function writeLogMap(writer: WireWriter, tag: number, map: LogMap, depth = MAX_VALUE_DEPTH): void {
  for (const key in map) {
    if (!Object.hasOwn(map, key)) continue;
    const value = map[key]!;
    if (typeof value === "string" && writeShortText(writer, tag, key, value)) continue;
    writer.byte(tag);
    writer.begin(typeof value === "string" ? key.length + value.length + 6 : key.length + 13);
    writeKeyValueBody(writer, key, value, depth, writeLogValue);
    writer.end();
  }
}

/** The size of key and value together up to which every length takes one byte. */
const MAX_SHORT = 120;

/** Writes a KeyValue of short ASCII texts, as most are, in one step. Otherwise writes nothing and returns false. */
function writeShortText(writer: WireWriter, tag: number, key: string, value: string): boolean {
  const { length: keyLength } = key;
  const { length } = value;
  if (keyLength + length > MAX_SHORT) return false;
  writer.reserve(keyLength + length + 8);
  const { bytes } = writer;
  let at = writer.length;
  let all = 0;
  bytes[at++] = tag;
  bytes[at++] = keyLength + length + 6;
  bytes[at++] = KEY_TAG;
  bytes[at++] = keyLength;
  for (let i = 0; i < keyLength; i++) {
    const code = key.charCodeAt(i);
    all |= code;
    bytes[at++] = code;
  }
  bytes[at++] = VALUE_TAG;
  bytes[at++] = length + 2;
  bytes[at++] = STRING_VALUE_TAG;
  bytes[at++] = length;
  for (let i = 0; i < length; i++) {
    const code = value.charCodeAt(i);
    all |= code;
    bytes[at++] = code;
  }
  if (all > 127) return false;
  writer.length = at;
  return true;
}

/** Encodes attributes as fields with this tag, by default a log record's. */
export function encodeAttributes(map: LogMap, tag = LOG_ATTRIBUTES_TAG): Uint8Array {
  const writer = new WireWriter();
  writeLogMap(writer, tag, map);
  return Buffer.from(writer.written());
}

/** Values nested deeper than OTLP readers accept, as text. */
function textOf(value: LogValue): string {
  try {
    return JSON.stringify(value, (_, item) => (typeof item === "bigint" ? String(item) : item));
  } catch {
    return "nested too deep";
  }
}
