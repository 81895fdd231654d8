import { putVarint, varintSize } from "#otlp/bytes";
import { INT_VALUE_TAG, KEY_TAG, SPAN_ATTRIBUTES_TAG, STRING_VALUE_TAG, VALUE_TAG } from "#otlp/tags";
import type { JsonText } from "./scan-span.js";

/** Longer texts are copied by a call. */
const SHORT_TEXT = 48;
/** The value of each hex digit, and 255 for other bytes. */
export const HEX = Uint8Array.from({ length: 256 }, (_, c) => {
  const digit = "0123456789abcdef".indexOf(String.fromCharCode(c).toLowerCase());
  return digit < 0 ? 255 : digit;
});

/** Fills with leading zeros. */
export function putId(
  b: Buffer,
  start: number,
  tag: number,
  json: Uint8Array,
  { at, end }: JsonText,
  size: number,
): number {
  b[start] = tag;
  b[start + 1] = size;
  for (let p = end - 1, i = start + 1 + size; i > start + 1; i--, p -= 2) {
    const low = p >= at ? HEX[json[p]!]! : 0;
    const high = p > at ? HEX[json[p - 1]!]! : 0;
    b[i] = (high << 4) | low;
  }
  return start + 2 + size;
}

export function putText(b: Buffer, p: number, tag: number, json: Buffer, { at, end }: JsonText): number {
  b[p] = tag;
  return putBytes(b, putVarint(b, p + 1, end - at), json, at, end);
}

function putBytes(b: Buffer, p: number, source: Buffer, at: number, end: number): number {
  if (end - at > SHORT_TEXT) return p + source.copy(b, p, at, end);
  for (let i = at; i < end; i++) b[p++] = source[i]!;
  return p;
}

export function putAttribute(
  b: Buffer,
  start: number,
  keyIn: Buffer,
  keyAt: number,
  keyEnd: number,
  valueIn: Buffer,
  value: JsonText,
): number {
  const keySize = keyEnd - keyAt;
  const valueSize = value.end - value.at;
  const anyValueSize = 1 + varintSize(valueSize) + valueSize;
  b[start] = SPAN_ATTRIBUTES_TAG;
  let p = putVarint(b, start + 1, 2 + varintSize(keySize) + keySize + varintSize(anyValueSize) + anyValueSize);
  b[p] = KEY_TAG;
  p = putBytes(b, putVarint(b, p + 1, keySize), keyIn, keyAt, keyEnd);
  b[p] = VALUE_TAG;
  p = putVarint(b, p + 1, anyValueSize);
  return putText(b, p, STRING_VALUE_TAG, valueIn, value);
}

export function putPort(b: Buffer, start: number, key: Buffer, port: number): number {
  const valueSize = 1 + varintSize(port);
  b[start] = SPAN_ATTRIBUTES_TAG;
  b[start + 1] = 4 + key.length + valueSize;
  b[start + 2] = KEY_TAG;
  b[start + 3] = key.length;
  const p = putBytes(b, start + 4, key, 0, key.length);
  b[p] = VALUE_TAG;
  b[p + 1] = valueSize;
  b[p + 2] = INT_VALUE_TAG;
  return putVarint(b, p + 3, port);
}

const TWO_TO_32 = 0x1_0000_0000;

/** Multiplies in two halves, because the product is beyond the exact numbers. */
export function putNanos(b: Buffer, p: number, tag: number, microseconds: number): number {
  const product = (microseconds % TWO_TO_32) * 1000;
  let low = product % TWO_TO_32;
  let high = Math.floor(microseconds / TWO_TO_32) * 1000 + Math.floor(product / TWO_TO_32);
  b[p] = tag;
  for (let i = 1; i <= 4; i++, low /= 256, high /= 256) {
    b[p + i] = low & 255;
    b[p + 4 + i] = high & 255;
  }
  return p + 9;
}
