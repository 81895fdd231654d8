import type { WireWriter } from "../bytes/writer.js";
import { nanos, seconds, splitNanos } from "../signals/nanoseconds.js";
import { ENDS_PLAIN_TEXT, endsPlainText } from "./json-cursor.js";

const QUOTE = 34;

/**
 * Writes the text [p, end) of `b`, whose view is `from`, as a JSON string, four bytes at a time while nothing needs
 * escaping. Invalid UTF-8 stays as it is.
 */
export function writeText(b: Uint8Array, from: DataView, p: number, end: number, out: WireWriter): void {
  out.reserve(end - p + 2);
  out.bytes[out.length++] = QUOTE;
  writeEscaped(b, from, p, end, out);
  out.byte(QUOTE);
}

/** The same without quotes. */
export function writeEscaped(b: Uint8Array, from: DataView, p: number, end: number, out: WireWriter): void {
  out.reserve(end - p);
  let { bytes, view: to } = out;
  let at = out.length;
  while (p < end) {
    if (p <= end - 4) {
      const word = from.getInt32(p, true);
      if (!endsPlainText(word)) {
        to.setInt32(at, word, true);
        p += 4;
        at += 4;
        continue;
      }
    }
    const code = b[p++]!;
    if (ENDS_PLAIN_TEXT[code] === 0) bytes[at++] = code;
    else {
      out.length = at;
      writeAscii(ESCAPES[code] ?? `\\${String.fromCharCode(code)}`, out);
      out.reserve(end - p);
      ({ bytes, view: to } = out);
      at = out.length;
    }
  }
  out.length = at;
}

/** The JSON escapes of the control characters. */
const ESCAPES: readonly string[] = Array.from({ length: 32 }, (_, code) =>
  JSON.stringify(String.fromCharCode(code)).slice(1, -1),
);

/** Writes an ASCII text unchanged. */
export function writeAscii(text: string, out: WireWriter): void {
  const { length } = text;
  out.reserve(length);
  const { bytes } = out;
  let at = out.length;
  for (let i = 0; i < length; i++) bytes[at++] = text.charCodeAt(i);
  out.length = at;
}

/** Writes bytes as a string of hexadecimal digits. */
export function writeHex(b: Uint8Array, start: number, end: number, out: WireWriter): void {
  out.byte(QUOTE);
  writeHexDigits(b, start, end, out);
  out.byte(QUOTE);
}

/** The same without quotes. */
export function writeHexDigits(b: Uint8Array, start: number, end: number, out: WireWriter): void {
  out.reserve(2 * (end - start));
  const { bytes } = out;
  let at = out.length;
  for (let i = start; i < end; i++) {
    const byte = b[i]!;
    bytes[at++] = HEX[byte >> 4]!;
    bytes[at++] = HEX[byte & 15]!;
  }
  out.length = at;
}

const HEX = Buffer.from("0123456789abcdef");

/** Writes an integer from 0 to 2^31 - 1 in decimal and returns the position after it. */
export function putDecimal(to: DataView, at: number, value: number): number {
  // Times are kept as doubles, whose division takes several times as long.
  value |= 0;
  let size = 1;
  for (let rest = value; rest >= 10; rest = (rest / 10) | 0) size++;
  putPadded(to, at, value, size);
  return at + size;
}

/** The same for an unsigned 64-bit integer, given as two 32-bit halves. */
export function putDecimal64(to: DataView, at: number, low: number, high: number): number {
  if (high === 0 && low <= 0x7fffffff) return putDecimal(to, at, low);
  splitNanos(low, high);
  const quotient = seconds;
  if (quotient < BILLION) at = putDecimal(to, at, quotient);
  else {
    const billions = Math.floor(quotient / BILLION);
    at = putDecimal(to, at, billions);
    putPadded(to, at, quotient - billions * BILLION, 9);
    at += 9;
  }
  putPadded(to, at, nanos, 9);
  return at + 9;
}

const BILLION = 1_000_000_000;

/** The same with leading zeros, in exactly `size` digits. */
export function putPadded(to: DataView, at: number, value: number, size: number): void {
  value |= 0;
  for (let p = at + size - 1; p >= at; p--) {
    const tenth = (value / 10) | 0;
    to.setUint8(p, 48 + value - 10 * tenth);
    value = tenth;
  }
}
