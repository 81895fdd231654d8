import { decodeText } from "../telemetry/decode.js";
import { after, double, skip, varint, varint64 } from "../telemetry/wire.js";
import type { WireWriter } from "../telemetry/writer.js";
import { OttlError } from "./error.js";
import { OttlDuration, type OttlMap, OttlMessages, OttlTime, type OttlValue, typeName } from "./value.js";

/** Values of the language from and to OTLP's AnyValue and KeyValue, with integers and doubles kept apart. */

export const STRING = 10;
export const BOOL = 16;
export const INT = 24;
export const DOUBLE = 33;
const ARRAY = 42;
const MAP = 50;
const BYTES = 58;
const ELEMENT = 10;
const KEY = 10;
const VALUE = 18;

/** The AnyValue in [start, end). */
export function readAny(b: Uint8Array, start: number, end: number): OttlValue {
  let value: OttlValue = null;
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    value = readMember(b, tag, at, p) ?? value; // of several the last counts
  }
  return value;
}

function readMember(b: Uint8Array, tag: number, at: number, end: number): OttlValue {
  switch (tag) {
    case STRING:
      varint(b, at);
      return decodeText(b, after, end);
    case BOOL:
      return varint64(b, at) !== 0n;
    case INT:
      return end - at < 5 ? BigInt(varint(b, at)) : BigInt.asIntN(64, varint64(b, at));
    case DOUBLE:
      return double(b, at);
    case ARRAY:
      varint(b, at);
      return readElements(b, after, end);
    case MAP:
      varint(b, at);
      return readKeyValues(b, after, end, ELEMENT, new Map());
    case BYTES:
      varint(b, at);
      return new Uint8Array(b.subarray(after, end));
    default:
      return null;
  }
}

function readElements(b: Uint8Array, start: number, end: number): OttlValue[] {
  const list: OttlValue[] = [];
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== ELEMENT) continue;
    varint(b, at);
    list.push(readAny(b, after, p));
  }
  return list;
}

/** All KeyValues with this tag in the message [start, end); of several with one key the first counts. */
export function readKeyValues(b: Uint8Array, start: number, end: number, wanted: number, map: OttlMap): OttlMap {
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== wanted) continue;
    varint(b, at);
    readKeyValue(b, after, p, map);
  }
  return map;
}

function readKeyValue(b: Uint8Array, start: number, end: number, map: OttlMap): void {
  let key = "";
  let valueAt = -1;
  let valueEnd = -1;
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== KEY && tag !== VALUE) continue;
    varint(b, at);
    if (tag === KEY) key = decodeText(b, after, p);
    else {
      valueAt = after;
      valueEnd = p;
    }
  }
  if (!map.has(key)) map.set(key, valueAt < 0 ? null : readAny(b, valueAt, valueEnd));
}

/** End of the AnyValue that `anyValueAt` found. */
export let anyEnd = 0;

/** Where the AnyValue of the KeyValue whose length is at `lengthAt` begins, or -1; it ends at `anyEnd`. */
export function anyValueAt(b: Uint8Array, lengthAt: number): number {
  const size = varint(b, lengthAt);
  const end = after + size;
  for (let p = after; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== VALUE) continue;
    varint(b, at);
    anyEnd = p;
    return after;
  }
  return -1;
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
  const hint = typeof value === "string" ? value.length + 2 : 2;
  writer.begin(key.length + hint + 4);
  writeMember(writer, key, value, hint, MAX_DEPTH);
  writer.end();
}

function writeMember(writer: WireWriter, key: string, value: OttlValue, hint: number, depth: number): void {
  writer.byte(KEY);
  writer.text(key);
  writer.byte(VALUE);
  writer.begin(hint);
  writeAny(writer, value, depth);
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
  const isList = Array.isArray(value);
  if (!isList && !(value instanceof Map)) throw notStorable(value);
  writer.byte(isList ? ARRAY : MAP);
  writer.begin();
  if (isList) {
    for (const item of value) {
      writer.byte(ELEMENT);
      writer.begin();
      writeAny(writer, item, depth - 1);
      writer.end();
    }
  } else {
    for (const [key, item] of value) {
      writer.byte(ELEMENT);
      writer.begin();
      writeMember(writer, key, item, 2, depth - 1);
      writer.end();
    }
  }
  writer.end();
}

/** Throws unless the value can be an attribute: times, durations and messages cannot, nor what holds them. */
export function checkStorable(value: OttlValue, depth = MAX_DEPTH): void {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  if (depth === 0) throw new OttlError(`the value is nested more than ${MAX_DEPTH} deep`);
  if (value instanceof OttlTime || value instanceof OttlDuration || value instanceof OttlMessages)
    throw notStorable(value);
  for (const item of value.values()) checkStorable(item, depth - 1);
}

function notStorable(value: OttlValue): OttlError {
  const hint = value instanceof OttlTime ? ": use UnixNano or FormatTime" : "";
  return new OttlError(`a ${typeName(value)} cannot be stored as a value${hint}`);
}
