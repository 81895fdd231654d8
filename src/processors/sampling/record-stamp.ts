import {
  DOUBLE_VALUE_TAG,
  KEY_TAG,
  putVarint,
  type RecordWalk,
  STRING_VALUE_TAG,
  VALUE_TAG,
  varintSize,
  type WireWriter,
} from "../../runtime/kit.js";
import type { Bits56 } from "./bits56.js";

/** A field with this tag and this text. */
export function textField(tag: number, text: string): Uint8Array {
  return lengthDelimited(tag, Buffer.from(text));
}

/** An attribute with a text, in a field with this tag. */
export function textAttribute(tag: number, key: string, text: string): Uint8Array {
  const value = textField(STRING_VALUE_TAG, text);
  return lengthDelimited(tag, Buffer.concat([textField(KEY_TAG, key), lengthDelimited(VALUE_TAG, value)]));
}

/** An attribute with a double. */
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

/** What stands in a template where the fourteen digits of a randomness will. */
export const RANDOMNESS_PLACEHOLDER = "@@@@@@@@@@@@@@";

/** Bytes that are put behind many records: made once, with the randomness of each written into the hole. */
export class RecordStamp {
  private readonly bytes: Uint8Array;
  private readonly placeholderAt: number;

  constructor(...fields: readonly Uint8Array[]) {
    this.bytes = Buffer.concat(fields);
    this.placeholderAt = Buffer.from(this.bytes).indexOf(RANDOMNESS_PLACEHOLDER);
  }

  /** Puts it behind the record that begins at `start`, the present one of the walk. */
  append(walk: RecordWalk, start: number, randomness: Bits56): void {
    const out = walk.extendRecord(start, this.bytes);
    if (this.placeholderAt >= 0) putHex(out, out.length - this.bytes.length + this.placeholderAt, randomness);
  }
}

function putHex({ bytes }: WireWriter, at: number, { high, low }: Bits56): void {
  for (let i = 0, shift = 24; i < 7; i++, shift -= 4) {
    bytes[at + i] = hexDigit((high >>> shift) & 15);
    bytes[at + 7 + i] = hexDigit((low >>> shift) & 15);
  }
}

/** The ASCII of a hex digit: 0 is 48, a is 97. */
function hexDigit(value: number): number {
  return value + (value < 10 ? 48 : 87);
}

/** The record in [start, end) of the walk without one of its fields, and with others behind it. */
export function replaceFields(
  walk: RecordWalk,
  start: number,
  end: number,
  removed: readonly (readonly [from: number, to: number])[],
  added: readonly Uint8Array[],
): void {
  const out = walk.beginRecord();
  let copied = start;
  for (const [from, to] of [...removed].sort((a, b) => a[0] - b[0])) {
    out.copy(walk.bytes, copied, from);
    copied = to;
  }
  out.copy(walk.bytes, copied, end);
  for (const field of added) out.copy(field, 0, field.length);
  walk.endRecord();
}
