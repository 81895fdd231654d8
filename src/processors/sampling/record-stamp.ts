import { putVarint, varintSize, type WireWriter } from "#otlp/bytes";
import { DOUBLE_VALUE_TAG, KEY_TAG, STRING_VALUE_TAG, VALUE_TAG } from "#otlp/tags";
import type { Bits56 } from "./bits56.js";

/** The record that a walk is at, and the methods to change it. `RecordWalk` implements it. */
export interface PresentRecord {
  readonly bytes: Uint8Array;
  beginRecord(): WireWriter;
  endRecord(): void;
  extendRecord(start: number, fields: Uint8Array): WireWriter;
}

/** Encodes a field with this tag and text. */
export function textField(tag: number, text: string): Uint8Array {
  return lengthDelimited(tag, Buffer.from(text));
}

/** Encodes an attribute with a text, in a field with this tag. */
export function textAttribute(tag: number, key: string, text: string): Uint8Array {
  const value = textField(STRING_VALUE_TAG, text);
  return lengthDelimited(tag, Buffer.concat([textField(KEY_TAG, key), lengthDelimited(VALUE_TAG, value)]));
}

/** Encodes an attribute with a double. */
export function doubleAttribute(tag: number, key: string, value: number): Uint8Array {
  const encoded = Buffer.alloc(9);
  encoded[0] = DOUBLE_VALUE_TAG;
  encoded.writeDoubleLE(value, 1);
  return lengthDelimited(tag, Buffer.concat([textField(KEY_TAG, key), lengthDelimited(VALUE_TAG, encoded)]));
}

function lengthDelimited(tag: number, body: Uint8Array): Uint8Array {
  const head = Buffer.alloc(1 + varintSize(body.length));
  head[0] = tag;
  putVarint(head, 1, body.length);
  return Buffer.concat([head, body]);
}

/** Stands in a template for the fourteen digits of a randomness. */
export const RANDOMNESS_PLACEHOLDER = "@@@@@@@@@@@@@@";

/**
 * Bytes that are appended to many records. They are made once; each record's randomness is written into the
 * placeholder.
 */
export class RecordStamp {
  readonly bytes: Uint8Array;
  /** Position of the placeholder, or -1. */
  readonly placeholderAt: number;

  constructor(...fields: readonly Uint8Array[]) {
    this.bytes = Buffer.concat(fields);
    this.placeholderAt = Buffer.from(this.bytes).indexOf(RANDOMNESS_PLACEHOLDER);
  }

  /** Appends the stamp to the present record, which begins at `start`. */
  append(present: PresentRecord, start: number, randomness: Bits56): void {
    const out = present.extendRecord(start, this.bytes);
    if (this.placeholderAt >= 0) putHex(out, out.length - this.bytes.length + this.placeholderAt, randomness);
  }
}

function putHex({ bytes }: WireWriter, at: number, { high, low }: Bits56): void {
  for (let i = 0, shift = 24; i < 7; i++, shift -= 4) {
    bytes[at + i] = hexDigit((high >>> shift) & 15);
    bytes[at + 7 + i] = hexDigit((low >>> shift) & 15);
  }
}

/** Returns the ASCII code of a hex digit: 0 is 48, a is 97. */
function hexDigit(value: number): number {
  return value + (value < 10 ? 48 : 87);
}

/** Writes the present record, in [start, end), without one of its fields and with others appended. */
export function replaceFields(
  present: PresentRecord,
  start: number,
  end: number,
  removed: readonly (readonly [from: number, to: number])[],
  added: readonly Uint8Array[],
): void {
  const out = present.beginRecord();
  let copied = start;
  for (const [from, to] of [...removed].sort((a, b) => a[0] - b[0])) {
    out.copy(present.bytes, copied, from);
    copied = to;
  }
  out.copy(present.bytes, copied, end);
  for (const field of added) out.copy(field, 0, field.length);
  present.endRecord();
}
