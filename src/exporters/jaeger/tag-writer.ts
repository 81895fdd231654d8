import { after, fieldTag, readValue, stepOver, valueAt, varint, type WireWriter } from "#otlp/bytes";
import { plainValueText } from "#otlp/json";
import {
  BOOL_VALUE_TAG,
  BYTES_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  INT_VALUE_TAG,
  KEY_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "#otlp/tags";
import {
  JAEGER_BINARY_TAG,
  JAEGER_BOOL_TAG,
  JAEGER_FLOAT64_TAG,
  JAEGER_INT64_TAG,
  JAEGER_KEY_TAG,
  JAEGER_STRING_TAG,
  JAEGER_TAG_TYPES,
  JAEGER_TYPE_TAG,
} from "#traces";

/** Writes a tag with a text as the field `field` of the enclosing message. */
export function writeTextTag(out: WireWriter, field: number, key: string, text: string): void {
  out.byte(field);
  out.begin(key.length + text.length + 4);
  out.byte(JAEGER_KEY_TAG);
  out.text(key);
  writeText(out, text);
  out.end();
}

export function writeTrueTag(out: WireWriter, field: number, key: string): void {
  out.byte(field);
  out.begin(key.length + 6);
  out.byte(JAEGER_KEY_TAG);
  out.text(key);
  writeType(out, JAEGER_TAG_TYPES.bool);
  out.byte(JAEGER_BOOL_TAG);
  out.byte(1);
  out.end();
}

/** Writes an attribute, whose KeyValue is [start, end), as a tag. Lists and maps become JSON. */
export function writeAttributeTag(out: WireWriter, field: number, b: Uint8Array, start: number, end: number): void {
  if (writeShortTag(out, field, b, start, end)) return;
  out.byte(field);
  out.begin(end - start + 2);
  let valueStart = end;
  let valueEnd = end;
  for (let p = start; p < end; ) {
    p = stepOver(b, p);
    if (fieldTag === KEY_TAG) {
      out.byte(JAEGER_KEY_TAG);
      out.copy(b, valueAt, p);
    } else if (fieldTag === VALUE_TAG) {
      varint(b, valueAt);
      valueStart = after;
      valueEnd = p;
    }
  }
  writeValue(out, b, valueStart, valueEnd);
  out.end();
}

/** Lengths up to this take one byte. */
const MAX_SHORT = 127;

/**
 * Does the same for a short key followed by a short text, as in nearly all attributes. Otherwise returns false and
 * writes nothing.
 */
function writeShortTag(out: WireWriter, field: number, b: Uint8Array, start: number, end: number): boolean {
  const valueAt = start + 2 + b[start + 1]!;
  // A read beyond the end gives bytes of another field, so the lengths do not match then.
  if (b[start] !== KEY_TAG || end - start > MAX_SHORT || valueAt + 4 >= end || b[valueAt] !== VALUE_TAG) return false;
  if (b[valueAt + 1] !== end - valueAt - 2 || b[valueAt + 2] !== STRING_VALUE_TAG) return false;
  if (b[valueAt + 3] !== end - valueAt - 4) return false;
  out.reserve(end - start);
  const { bytes } = out;
  let at = out.length;
  bytes[at++] = field;
  bytes[at++] = end - start - 2;
  for (let p = start; p < valueAt; p++) bytes[at++] = b[p]!;
  bytes[at++] = JAEGER_STRING_TAG;
  for (let p = valueAt + 3; p < end; p++) bytes[at++] = b[p]!;
  out.length = at;
  return true;
}

function writeValue(out: WireWriter, b: Uint8Array, start: number, end: number): void {
  if (start === end) return;
  // A value normally has one field. If it has several, the last one counts, which the general reader handles.
  if (stepOver(b, start) === end) {
    const at = valueAt;
    switch (fieldTag) {
      case STRING_VALUE_TAG:
        out.byte(JAEGER_STRING_TAG);
        return out.copy(b, at, end);
      case BOOL_VALUE_TAG:
        return writeCopy(out, JAEGER_TAG_TYPES.bool, JAEGER_BOOL_TAG, b, at, end);
      case INT_VALUE_TAG:
        return writeCopy(out, JAEGER_TAG_TYPES.int64, JAEGER_INT64_TAG, b, at, end);
      case DOUBLE_VALUE_TAG:
        return writeCopy(out, JAEGER_TAG_TYPES.float64, JAEGER_FLOAT64_TAG, b, at, end);
      case BYTES_VALUE_TAG:
        return writeCopy(out, JAEGER_TAG_TYPES.binary, JAEGER_BINARY_TAG, b, at, end);
    }
  }
  const value = readValue(b, start, end);
  if (value !== null) writeText(out, plainValueText(value));
}

/** Copies the value, whose bytes are the same in both formats. */
function writeCopy(out: WireWriter, type: number, tag: number, b: Uint8Array, start: number, end: number): void {
  writeType(out, type);
  out.byte(tag);
  out.copy(b, start, end);
}

function writeType(out: WireWriter, type: number): void {
  out.byte(JAEGER_TYPE_TAG);
  out.byte(type);
}

function writeText(out: WireWriter, text: string): void {
  if (text === "") return;
  out.byte(JAEGER_STRING_TAG);
  out.text(text);
}
