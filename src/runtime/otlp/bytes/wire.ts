/**
 * Reads protobuf's wire format, for bytes that have passed `checkRequest`.
 *
 * The hot loops keep their position in a local variable and read one-byte varints in place; that measured twice as fast
 * as a reader object. Only a longer varint goes through `varint`, which leaves the position after it in `after`.
 * Nothing here checks bounds: a batch is checked once, on its way in.
 *
 * All loops over the fields of a message go through `nextBody` (fields with one tag) or `stepOver` (every field), which
 * leave what they found in variables until the next call:
 *
 *     for (let p = start; (p = nextBody(b, p, end, SPAN_EVENTS_TAG)) >= 0; ) {
 *       const body = p;
 *       p = bodyEnd;
 *       ...
 *     }
 */

/** Wire types: the low three bits of a tag. */
export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH_DELIMITED = 2;
export const FIXED32 = 5;

/** Position after the last varint read by `varint`. */
export let after = 0;

/** Reads a varint of up to 32 bits, such as a tag or a length, at `p`, and sets `after`. */
export function varint(b: Uint8Array, p: number): number {
  let x = b[p++]!;
  let value = x & 127;
  let shift = 7;
  while (x > 127) {
    x = b[p++]!;
    if (shift < 32) value |= (x & 127) << shift;
    shift += 7;
  }
  after = p;
  return value >>> 0;
}

/** Returns the position after the value of a field with this tag, whose value starts at `p`. */
export function skip(b: Uint8Array, p: number, tag: number): number {
  switch (tag & 7) {
    case VARINT:
      while (b[p++]! > 127);
      return p;
    case FIXED64:
      return p + 8;
    case LENGTH_DELIMITED: {
      let length = b[p++]!;
      if (length > 127) {
        length = varint(b, p - 1);
        p = after;
      }
      return p + length;
    }
    default:
      return p + 4;
  }
}

/** Reads a 64-bit varint at `p` as an unsigned bigint and sets `after`. */
export function varint64(b: Uint8Array, p: number): bigint {
  varintHalves(b, p);
  return (BigInt(highHalf) << 32n) | BigInt(lowHalf);
}

/** The unsigned halves read by `varintHalves`. */
export let lowHalf = 0;
export let highHalf = 0;

/** The same without a bigint, into `lowHalf` and `highHalf`. */
export function varintHalves(b: Uint8Array, p: number): void {
  let low = 0;
  let high = 0;
  let shift = 0;
  let x: number;
  do {
    x = b[p++]!;
    if (shift < 28) low |= (x & 127) << shift;
    else if (shift === 28) {
      low |= (x & 127) << 28;
      high |= (x & 127) >> 4;
    } else if (shift < 64) high |= (x & 127) << (shift - 32);
    shift += 7;
  } while (x > 127);
  after = p;
  lowHalf = low >>> 0;
  highHalf = high >>> 0;
}

export function fixed32(b: Uint8Array, p: number): number {
  return (b[p]! | (b[p + 1]! << 8) | (b[p + 2]! << 16) | (b[p + 3]! << 24)) >>> 0;
}

export function fixed64(b: Uint8Array, p: number): bigint {
  return (BigInt(fixed32(b, p + 4)) << 32n) | BigInt(fixed32(b, p));
}

const scratch = new DataView(new ArrayBuffer(8));

export function double(b: Uint8Array, p: number): number {
  scratch.setUint32(0, fixed32(b, p), true);
  scratch.setUint32(4, fixed32(b, p + 4), true);
  return scratch.getFloat64(0, true);
}

/** Results of `nextBody`: the positions of the field's tag and length, and the end of its body. */
export let fieldAt = 0;
export let lengthAt = 0;
export let bodyEnd = 0;

/**
 * Returns where the body of the next field with this tag starts among the fields in [p, end), or -1. Only for texts,
 * bytes and messages.
 */
export function nextBody(b: Uint8Array, p: number, end: number, wanted: number): number {
  while (p < end) {
    const at = p;
    let tag = b[p++]!;
    if (tag > 127) {
      tag = varint(b, at);
      p = after;
    }
    if (tag !== wanted) {
      p = skip(b, p, tag);
      continue;
    }
    fieldAt = at;
    lengthAt = p;
    let size = b[p++]!;
    if (size > 127) {
      size = varint(b, p - 1);
      p = after;
    }
    bodyEnd = p + size;
    return p;
  }
  return -1;
}

/**
 * Calls `visit` with the bodies of all fields with this tag, in order; `at` is the position of the field's tag. For
 * loops that are not on the hot path.
 */
export function eachBody(
  b: Uint8Array,
  start: number,
  end: number,
  tag: number,
  visit: (start: number, end: number, at: number) => void,
): void {
  for (let p = start; (p = nextBody(b, p, end, tag)) >= 0; ) {
    const body = p;
    p = bodyEnd;
    visit(body, p, fieldAt);
  }
}

/** The body of the first field with this tag; [start, start) if there is none. */
export function message(b: Uint8Array, start: number, end: number, tag: number): [start: number, end: number] {
  const body = nextBody(b, start, end, tag);
  return body < 0 ? [start, start] : [body, bodyEnd];
}

/** Results of `stepOver`: the field's tag and the start of its value. A length-delimited value starts with its length. */
export let fieldTag = 0;
export let valueAt = 0;

/** Reads the tag of any field at `p` and returns the position after the field. */
export function stepOver(b: Uint8Array, p: number): number {
  let tag = b[p++]!;
  if (tag > 127) {
    tag = varint(b, p - 1);
    p = after;
  }
  fieldTag = tag;
  valueAt = p;
  return skip(b, p, tag);
}

/**
 * Returns the position of the value of the first field with this tag in the message [p, end), or -1. For a
 * length-delimited field that is the position of its length.
 */
export function findField(b: Uint8Array, p: number, end: number, wanted: number): number {
  while (p < end) {
    let tag = b[p++]!;
    if (tag > 127) {
      tag = varint(b, p - 1);
      p = after;
    }
    if (tag === wanted) return p;
    p = skip(b, p, tag);
  }
  return -1;
}

/**
 * The range of the first field with this number in the message [start, end), including its tag; empty at `start` if
 * there is none.
 */
export function fieldRange(b: Uint8Array, start: number, end: number, number: number): [from: number, to: number] {
  for (let p = start; p < end; ) {
    const at = p;
    p = stepOver(b, p);
    if (fieldTag >>> 3 === number) return [at, p];
  }
  return [start, start];
}

/** The number of bytes of a varint. */
export function varintSize(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  if (value < 0x10000000) return 4;
  return 5;
}

/** Writes a varint at `p` and returns the position after it. */
export function putVarint(b: Uint8Array, p: number, value: number): number {
  while (value > 127) {
    b[p++] = (value & 127) | 128;
    value >>>= 7;
  }
  b[p++] = value;
  return p;
}

/** A view of the same memory, for reading or writing several bytes at a time. */
export function viewOf(b: Uint8Array): DataView {
  return new DataView(b.buffer, b.byteOffset, b.byteLength);
}

/**
 * Copies `size` bytes, several at a time; the last step overlaps the previous one. Source and target must not overlap.
 */
export function copyView(from: DataView, start: number, to: DataView, at: number, size: number): void {
  if (size < 8) {
    for (let i = 0; i < size; i++) to.setUint8(at + i, from.getUint8(start + i));
    return;
  }
  for (let i = 0; ; i = Math.min(i + 8, size - 8)) {
    to.setInt32(at + i, from.getInt32(start + i, true), true);
    to.setInt32(at + i + 4, from.getInt32(start + i + 4, true), true);
    if (i === size - 8) return;
  }
}
