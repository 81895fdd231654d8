import type { WireWriter } from "../bytes/writer.js";
import { double, high, isNegative, low, NOT_PLAIN, readDecimal, readDouble } from "./decimal.js";
import { HEX_DIGITS, isDigit, type JsonCursor, NO_HEX, QUOTE } from "./json-cursor.js";
import { FIXED64, type Member, VARINT32, VARINT64 } from "./message-plan.js";

/*
 * Copies JSON values in their most common forms directly to the wire. Each function returns false, with nothing read or
 * written, for values that need the general path.
 */

/** Copies an id of hexadecimal digits. */
export function copyId(cursor: JsonCursor, out: WireWriter): boolean {
  const { bytes: b, position, end } = cursor;
  let p = position + 1;
  if (b[position] !== QUOTE || end - p < 2) return false;
  out.reserve(MAX_ID_BYTES + 1);
  const { bytes, length } = out;
  let at = length + 1;
  const limit = Math.min(end - 1, p + 2 * MAX_ID_BYTES);
  for (; p < limit && b[p] !== QUOTE; p += 2) {
    const first = HEX_DIGITS[b[p]!]!;
    const second = HEX_DIGITS[b[p + 1]!]!;
    if (first === NO_HEX || second === NO_HEX) return false;
    bytes[at++] = (first << 4) | second;
  }
  if (b[p] !== QUOTE || p >= end) return false;
  bytes[length] = at - length - 1;
  out.length = at;
  cursor.position = p + 1;
  return true;
}

const MAX_ID_BYTES = 32;

export function copyBoolean(cursor: JsonCursor, out: WireWriter): boolean {
  const first = cursor.bytes[cursor.position]!;
  if (first !== SMALL_T && first !== SMALL_F) return false;
  cursor.skipValue();
  out.byte(first === SMALL_T ? 1 : 0);
  return true;
}

const SMALL_F = 102;
const SMALL_T = 116;

export function copyDouble(cursor: JsonCursor, out: WireWriter): boolean {
  const { bytes, position, end } = cursor;
  const p = readDouble(bytes, position, end);
  if (p === NOT_PLAIN || p >= end || continuesNumber(bytes[p]!)) return false;
  out.double(double);
  cursor.position = p;
  return true;
}

/** Copies an integer, with or without quotes. */
export function copyInteger(cursor: JsonCursor, out: WireWriter, member: Member): boolean {
  const { bytes, position, end } = cursor;
  const isQuoted = bytes[position] === QUOTE;
  const p = readDecimal(bytes, isQuoted ? position + 1 : position, end);
  if (p === NOT_PLAIN || p >= end || (isQuoted ? bytes[p] !== QUOTE : continuesNumber(bytes[p]!))) return false;
  if (!putInteger(out, member)) return false;
  cursor.position = isQuoted ? p + 1 : p;
  return true;
}

/** Writes the result of `readDecimal`; returns false if the field cannot hold it or the general path must decide. */
function putInteger(out: WireWriter, { kind, isSigned }: Member): boolean {
  if (kind === VARINT64 || kind === FIXED64) {
    if (isSigned ? high >= 0x80000000 : isNegative) return false;
    const lowHalf = isNegative ? -low >>> 0 : low;
    const highHalf = isNegative ? (low === 0 ? -high : ~high) >>> 0 : high;
    if (kind === VARINT64) out.varintOfHalves(lowHalf, highHalf);
    else out.fixed64OfHalves(lowHalf, highHalf);
    return true;
  }
  if (isNegative || high !== 0 || low > 0x7fffffff) return false;
  if (kind === VARINT32) out.varint(low);
  else out.fixed32(low);
  return true;
}

/** Whether this byte continues a number. */
function continuesNumber(byte: number): boolean {
  return isDigit(byte) || byte === DOT || byte === CAPITAL_E || byte === SMALL_E;
}

const DOT = 46;
const CAPITAL_E = 69;
const SMALL_E = 101;
