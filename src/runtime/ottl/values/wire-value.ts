import type { WireWriter } from "#otlp/bytes";
import {
  after,
  MAX_VALUE_DEPTH,
  readAnyValue,
  readKeyValues,
  type ValueBuilder,
  varint,
  varint64,
  writeKeyValueBody,
  writeList,
  writeMap,
} from "#otlp/bytes";
import { BOOL_VALUE_TAG, BYTES_VALUE_TAG, DOUBLE_VALUE_TAG, INT_VALUE_TAG, STRING_VALUE_TAG } from "#otlp/tags";
import type { Pattern } from "#text/patterns";
import { OttlError } from "./error.js";
import { checkSize, checkWork, MAX_TEXT_LENGTH, recordWork, spendOnText } from "./limits.js";
import { OttlDuration, OttlId, type OttlMap, OttlMessages, OttlTime, type OttlValue, typeName } from "./value.js";

/** Values of the language from and to OTLP's AnyValue and KeyValue, with integers and doubles kept apart. */

const OTTL_VALUES: ValueBuilder<OttlValue, OttlMap> = {
  integer: (b, at, end) => (end - at < 5 ? BigInt(varint(b, at)) : BigInt.asIntN(64, varint64(b, at))),
  newMap: () => new Map(),
  has: (map, key) => map.has(key),
  put(map, key, value) {
    recordWork.spent++;
    map.set(key, value);
  },
};

/** Shorter texts are read faster than their work is counted. */
const LONG_TEXT = 4096;

/** Reads the AnyValue in [start, end). */
export function readOttlValue(b: Uint8Array, start: number, end: number): OttlValue {
  if (end - start > LONG_TEXT) {
    spendOnText(end - start);
    checkWork();
  }
  return readAnyValue(OTTL_VALUES, b, start, end);
}

/** Reads all KeyValues with this tag in the message [start, end); of several with the same key the first counts. */
export function readOttlMap(b: Uint8Array, start: number, end: number, tag: number): OttlMap {
  if (recordWork.spent > 0) checkWork();
  return readKeyValues(OTTL_VALUES, b, start, end, tag, new Map());
}

/**
 * Whether the pattern may match in the AnyValue in [start, end) as text; true unless it is a text in the usual form. A
 * long one counts as work, so it is left to `readOttlValue`.
 */
export function mayMatchEncoded(b: Uint8Array, start: number, end: number, pattern: Pattern): boolean {
  if (start >= end || end - start > LONG_TEXT || b[start] !== STRING_VALUE_TAG) return true;
  const size = varint(b, start + 1);
  return after + size !== end || pattern.mayMatch(b, after, end);
}

/** Writes a KeyValue with its tag. */
export function writeOttlKeyValue(writer: WireWriter, tag: number, key: string, value: OttlValue): void {
  writer.varint(tag);
  writer.begin(key.length + (typeof value === "string" ? value.length : 0) + 6);
  writeKeyValueBody(writer, key, value, MAX_VALUE_DEPTH, writeOttlValue);
  writer.end();
}

/** Writes the body of an AnyValue. */
export function writeOttlValue(writer: WireWriter, value: OttlValue, depth = MAX_VALUE_DEPTH): void {
  if (depth === 0) throw new OttlError(`the value is nested more than ${MAX_VALUE_DEPTH} deep`);
  switch (typeof value) {
    case "string":
      writer.byte(STRING_VALUE_TAG);
      return writer.text(value);
    case "boolean":
      writer.byte(BOOL_VALUE_TAG);
      return writer.byte(value ? 1 : 0);
    case "bigint":
      writer.byte(INT_VALUE_TAG);
      return writer.varint64(value);
    case "number":
      writer.byte(DOUBLE_VALUE_TAG);
      return writer.double(value);
  }
  if (value !== null) writeObject(writer, value, depth);
}

function writeObject(writer: WireWriter, value: OttlValue & object, depth: number): void {
  if (value instanceof Uint8Array && !(value instanceof OttlId)) {
    writer.byte(BYTES_VALUE_TAG);
    return writer.lengthDelimited(value);
  }
  if (Array.isArray(value)) writeList(writer, value, depth - 1, writeOttlValue);
  else if (value instanceof Map) writeMap(writer, value, depth - 1, writeOttlValue);
  else throw notStorable(value);
}

/** Whether `checkStorable` accepts the value whatever it replaces. */
export function isSurelyStorable(value: OttlValue): boolean {
  return typeof value === "string" ? value.length <= MAX_TEXT_LENGTH : typeof value !== "object" || value === null;
}

/**
 * Throws unless the value can be an attribute: ids, times, durations, messages and anything that contains them cannot.
 */
export function checkStorable(value: OttlValue, current: OttlValue = null): void {
  checkSize(value, current);
  checkStorableParts(value, MAX_VALUE_DEPTH);
}

function checkStorableParts(value: OttlValue, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (value instanceof OttlId) throw notStorable(value);
  if (value instanceof Uint8Array) return;
  if (depth === 0) throw new OttlError(`the value is nested more than ${MAX_VALUE_DEPTH} deep`);
  if (value instanceof OttlTime || value instanceof OttlDuration || value instanceof OttlMessages)
    throw notStorable(value);
  for (const item of value.values()) checkStorableParts(item, depth - 1);
}

const ID_HINT = ': use trace_id.string, span_id.string or Format("%s", [trace_id])';

function notStorable(value: OttlValue): OttlError {
  const hint = value instanceof OttlTime ? ": use UnixNano or FormatTime" : value instanceof OttlId ? ID_HINT : "";
  return new OttlError(`${value instanceof OttlId ? "an" : "a"} ${typeName(value)} cannot be stored as a value${hint}`);
}
