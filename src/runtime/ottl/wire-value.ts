import {
  ARRAY,
  BOOL,
  BYTES,
  DOUBLE,
  INT,
  MAP,
  readAny as readAnyAs,
  readKeyValues as readKeyValuesAs,
  STRING,
  type ValueForm,
} from "../telemetry/any-value.js";
import { after, varint, varint64 } from "../telemetry/wire.js";
import { writeList, writeMap, writeMember } from "../telemetry/write-any-value.js";
import type { WireWriter } from "../telemetry/writer.js";
import { OttlError } from "./error.js";
import { checkSize } from "./limits.js";
import { OttlDuration, type OttlMap, OttlMessages, OttlTime, type OttlValue, typeName } from "./value.js";

/** Values of the language from and to OTLP's AnyValue and KeyValue, with integers and doubles kept apart. */

const FORM: ValueForm<OttlValue, OttlMap> = {
  integer: (b, at, end) => (end - at < 5 ? BigInt(varint(b, at)) : BigInt.asIntN(64, varint64(b, at))),
  newMap: () => new Map(),
  has: (map, key) => map.has(key),
  put(map, key, value) {
    map.set(key, value);
  },
};

/** The AnyValue in [start, end). */
export function readAny(b: Uint8Array, start: number, end: number): OttlValue {
  return readAnyAs(FORM, b, start, end);
}

/** All KeyValues with this tag in the message [start, end); of several with one key the first counts. */
export function readKeyValues(b: Uint8Array, start: number, end: number, tag: number): OttlMap {
  return readKeyValuesAs(FORM, b, start, end, tag, new Map());
}

/** Is the AnyValue in [start, end) this text? `encoded` is the text in UTF-8. The usual form is compared in place. */
export function isText(b: Uint8Array, start: number, end: number, text: string, encoded: Uint8Array): boolean {
  if (start >= end) return false;
  const tag = b[start]!;
  if (tag !== STRING) return !isUsualTag(tag) && readAny(b, start, end) === text;
  let size = b[start + 1]!;
  let p = start + 2;
  if (size > 127) {
    size = varint(b, start + 1);
    p = after;
  }
  if (size !== encoded.length) return false;
  for (let i = 0; i < size; i++) if (b[p + i] !== encoded[i]) return false;
  return true;
}

/** Is the AnyValue in [start, end) nil: empty, or bytes without a byte? */
export function isNothing(b: Uint8Array, start: number, end: number): boolean {
  if (start >= end) return true;
  const tag = b[start]!;
  if (tag !== BYTES && isUsualTag(tag)) return false;
  const value = readAny(b, start, end);
  return value === null || (value instanceof Uint8Array && value.length === 0);
}

/** The tag of a value in one byte. Others stand for nothing known, or are written longer than they need be. */
function isUsualTag(tag: number): boolean {
  return (
    tag === STRING || tag === INT || tag === BOOL || tag === DOUBLE || tag === ARRAY || tag === MAP || tag === BYTES
  );
}

/** Writes a KeyValue with its tag. */
export function writeKeyValue(writer: WireWriter, tag: number, key: string, value: OttlValue): void {
  writer.varint(tag);
  writer.begin(key.length + (typeof value === "string" ? value.length : 0) + 6);
  writeMember(writer, key, value, MAX_DEPTH, writeAny);
  writer.end();
}

/** Each level of a value is up to three messages on the wire; deeper ones would not pass the check of what comes in. */
const MAX_DEPTH = 30;

/** Writes the body of an AnyValue. */
export function writeAny(writer: WireWriter, value: OttlValue, depth = MAX_DEPTH): void {
  if (depth === 0) throw new OttlError(`the value is nested more than ${MAX_DEPTH} deep`);
  switch (typeof value) {
    case "string":
      writer.byte(STRING);
      return writer.text(value);
    case "boolean":
      writer.byte(BOOL);
      return writer.byte(value ? 1 : 0);
    case "bigint":
      writer.byte(INT);
      return writer.varint64(value);
    case "number":
      writer.byte(DOUBLE);
      return writer.double(value);
  }
  if (value !== null) writeObject(writer, value, depth);
}

function writeObject(writer: WireWriter, value: OttlValue & object, depth: number): void {
  if (value instanceof Uint8Array) {
    writer.byte(BYTES);
    return writer.lengthDelimited(value);
  }
  if (Array.isArray(value)) writeList(writer, value, depth - 1, writeAny);
  else if (value instanceof Map) writeMap(writer, value, depth - 1, writeAny);
  else throw notStorable(value);
}

/** Throws unless the value can be an attribute: times, durations and messages cannot, nor what holds them. */
export function checkStorable(value: OttlValue, current: OttlValue = null): void {
  checkSize(value, current);
  checkParts(value, MAX_DEPTH);
}

function checkParts(value: OttlValue, depth: number): void {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  if (depth === 0) throw new OttlError(`the value is nested more than ${MAX_DEPTH} deep`);
  if (value instanceof OttlTime || value instanceof OttlDuration || value instanceof OttlMessages)
    throw notStorable(value);
  for (const item of value.values()) checkParts(item, depth - 1);
}

function notStorable(value: OttlValue): OttlError {
  const hint = value instanceof OttlTime ? ": use UnixNano or FormatTime" : "";
  return new OttlError(`a ${typeName(value)} cannot be stored as a value${hint}`);
}
