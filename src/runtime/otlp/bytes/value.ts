import { MalformedError } from "../signals/malformed.js";
import { anyValueAt, anyValueEnd, readAnyValue, readKeyValues, type ValueBuilder } from "./key-value.js";
import {
  BOOL_VALUE_TAG,
  BYTES_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  INT_VALUE_TAG,
  STRING_VALUE_TAG,
} from "./tags.generated.js";
import { varint, varint64 } from "./wire.js";
import { MAX_VALUE_DEPTH, writeKeyValueBody, writeList, writeMap } from "./write-any-value.js";
import type { WireWriter } from "./writer.js";

/**
 * An OTLP AnyValue as plain JavaScript. Integers are numbers if exact, otherwise bigint. Writing a number writes an
 * integer if it is whole, otherwise a double; `asDouble(1)` always writes a double.
 */
export type Value =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | DoubleValue
  | Value[]
  | { [key: string]: Value };

/** A number that is written as a double even if it is whole. Reading gives a plain number. */
export class DoubleValue {
  readonly double: number;

  constructor(value: number) {
    this.double = value;
  }
}

/**
 * Marks a number to be written as a double even if it is whole.
 *
 * @example
 * const setRatio = (record: AnyRecordView) => record.attributes.set("ratio", asDouble(1));
 */
export function asDouble(value: number): Value {
  return new DoubleValue(value);
}

type ValueMap = { [key: string]: Value };

const PLAIN_VALUES: ValueBuilder<Value, ValueMap> = {
  integer: readInteger,
  newMap: () => Object.create(null),
  has: (map, key) => key in map,
  put(map, key, value) {
    map[key] = value;
  },
};

/** Reads the AnyValue message in [start, end); null if it has no value. */
export function readValue(b: Uint8Array, start: number, end: number): Value {
  return readAnyValue(PLAIN_VALUES, b, start, end);
}

/** Reads the KeyValues with this tag in the message [start, end) into an object without a prototype. */
export function readValues(b: Uint8Array, start: number, end: number, tag: number): ValueMap {
  return readKeyValues(PLAIN_VALUES, b, start, end, tag, PLAIN_VALUES.newMap());
}

function readInteger(b: Uint8Array, at: number, end: number): number | bigint {
  if (end - at < 5) return varint(b, at);
  const value = BigInt.asIntN(64, varint64(b, at));
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** A value as text: a string as it is, everything else as JSON, with integers that JSON would round in quotes. */
export function valueText(value: Value): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object") return String(value);
  return JSON.stringify(value, (_, item) => (typeof item === "bigint" ? String(item) : item));
}

/** Writes the body of a KeyValue. */
export function writeKeyValue(writer: WireWriter, key: string, value: Value): void {
  writeKeyValueBody(writer, key, value, MAX_VALUE_DEPTH, writeValue);
}

/** Writes the body of an AnyValue. Throws a TypeError for other values: a mistake in the code, not in the data. */
export function writeValue(writer: WireWriter, value: Value, depth = MAX_VALUE_DEPTH): void {
  if (depth === 0) throw new MalformedError(`value nested more than ${MAX_VALUE_DEPTH} deep`, -1);
  switch (typeof value) {
    case "string":
      writer.byte(STRING_VALUE_TAG);
      return writer.text(value);
    case "boolean":
      writer.byte(BOOL_VALUE_TAG);
      return writer.byte(value ? 1 : 0);
    case "bigint":
      writer.byte(INT_VALUE_TAG);
      if (value !== BigInt.asIntN(64, value)) throw new RangeError(`${value} does not fit 64 bits`);
      return writer.varint64(value);
    case "number":
      return Number.isSafeInteger(value) && !Object.is(value, -0)
        ? writeInteger(writer, value)
        : writeDouble(writer, value);
    case "object":
      return writeObject(writer, value, depth);
    default:
      throw new TypeError(`${typeof value} is not a telemetry value`);
  }
}

function writeInteger(writer: WireWriter, value: number): void {
  writer.byte(INT_VALUE_TAG);
  if (value >= 0 && value <= 0x7fffffff) writer.varint(value);
  else writer.varint64(BigInt(value));
}

function writeDouble(writer: WireWriter, value: number): void {
  writer.byte(DOUBLE_VALUE_TAG);
  writer.double(value);
}

function writeObject(writer: WireWriter, value: object | null, depth: number): void {
  if (value === null) return;
  if (value instanceof DoubleValue) return writeDouble(writer, value.double);
  if (value instanceof Uint8Array) {
    writer.byte(BYTES_VALUE_TAG);
    return writer.lengthDelimited(value);
  }
  if (Array.isArray(value)) writeList<Value>(writer, value, depth - 1, writeValue);
  else writeMap<Value>(writer, Object.entries(value), depth - 1, writeValue);
}

/** The value of the KeyValue whose length is at `lengthAt`. */
export function attributeValue(b: Uint8Array, lengthAt: number): Value {
  const [from, to] = valueRange(b, lengthAt);
  return readValue(b, from, to);
}

/** The range of that value; empty if there is none. */
export function valueRange(b: Uint8Array, lengthAt: number): [from: number, to: number] {
  const from = anyValueAt(b, lengthAt);
  return from < 0 ? [0, 0] : [from, anyValueEnd];
}
