import { putVarint } from "../bytes/wire.js";
import type { WireWriter } from "../bytes/writer.js";
import { expectedText, isAt } from "./expected-text.js";
import { CLOSE_OBJECT, ENDS_PLAIN_TEXT, endsPlainText, isDigit, type JsonCursor, QUOTE } from "./json-cursor.js";

/** The number of messages in an attribute: a KeyValue and its AnyValue. */
export const ATTRIBUTE_MESSAGES = 2;

/**
 * Writes the attribute at the cursor with this tag if it has the most common form:
 * `{"key":"...","value":{"stringValue":"..."}}`, or with an `intValue`, without white space and escapes, and with
 * one-byte lengths. Otherwise reads and writes nothing and returns false.
 */
export function copyAttribute(cursor: JsonCursor, out: WireWriter, tag: number): boolean {
  const { bytes: b, view: from, position, end } = cursor;
  if (end - position < MIN_LENGTH || !isAt(from, position, BEFORE_KEY)) return false;
  // The omitted names and quotes take more room than the added tags and lengths.
  out.reserve(end - position);
  const { bytes, view: to, length } = out;
  const keyFrom = position + BEFORE_KEY.length;
  const keyTo = copyPlainText(b, from, keyFrom, end, to, length + KEY_AT);
  if (keyTo === NOT_PLAIN || end - keyTo < BEFORE_TEXT.length) return false;
  const keySize = keyTo - keyFrom;
  const valueAt = length + KEY_AT + keySize;
  let behind: number;
  let at: number;
  if (isAt(from, keyTo, BEFORE_TEXT)) {
    const textFrom = keyTo + BEFORE_TEXT.length;
    const textTo = copyPlainText(b, from, textFrom, end, to, valueAt + TEXT_AT);
    if (textTo === NOT_PLAIN) return false;
    bytes[valueAt + 2] = STRING_VALUE;
    bytes[valueAt + 3] = textTo - textFrom;
    at = valueAt + TEXT_AT + textTo - textFrom;
    behind = textTo + 1;
  } else {
    if (!isAt(from, keyTo, BEFORE_INTEGER)) return false;
    behind = readShortInteger(b, keyTo + BEFORE_INTEGER.length, end);
    if (behind === NOT_PLAIN) return false;
    bytes[valueAt + 2] = INT_VALUE;
    at = putVarint(bytes, valueAt + 3, integer);
  }
  const size = at - length - 2;
  if (behind + 2 > end || b[behind] !== CLOSE_OBJECT || b[behind + 1] !== CLOSE_OBJECT || size > MAX_SHORT)
    return false;
  bytes[length] = tag;
  bytes[length + 1] = size;
  bytes[length + 2] = KEY;
  bytes[length + 3] = keySize;
  bytes[valueAt] = VALUE;
  bytes[valueAt + 1] = at - valueAt - 2;
  out.length = at;
  cursor.position = behind + 2;
  return true;
}

/**
 * Tags and lengths of the attribute and its key come before the key; those of the value and its text before the text.
 */
const KEY_AT = 4;
const TEXT_AT = 4;
/** The tags in a KeyValue and in an AnyValue. */
const KEY = 0x0a;
const VALUE = 0x12;
const STRING_VALUE = 0x0a;
const INT_VALUE = 0x18;
/** The largest length that takes one byte. */
const MAX_SHORT = 127;
/** This many digits always fit into a positive 32-bit number. */
const MAX_DIGITS = 9;
const DIGIT_0 = 48;
const NOT_PLAIN = -1;

const BEFORE_KEY = expectedText(Buffer.from('{"key":"'));
const BEFORE_TEXT = expectedText(Buffer.from('","value":{"stringValue":"'));
const BEFORE_INTEGER = expectedText(Buffer.from('","value":{"intValue":'));
const MIN_LENGTH = '{"key":"","value":{"intValue":0}}'.length;

/**
 * Copies a string up to its closing quote and returns the quote's position, or NOT_PLAIN if the string is not short and
 * plain.
 */
function copyPlainText(b: Uint8Array, from: DataView, p: number, end: number, to: DataView, at: number): number {
  const limit = Math.min(end, p + MAX_SHORT + 1);
  for (; p <= limit - 4; p += 4, at += 4) {
    const word = from.getInt32(p, true);
    if (endsPlainText(word)) break;
    to.setInt32(at, word, true);
  }
  for (; p < limit; p++, at++) {
    const byte = b[p]!;
    if (ENDS_PLAIN_TEXT[byte] !== 0) return byte === QUOTE ? p : NOT_PLAIN;
    to.setUint8(at, byte);
  }
  return NOT_PLAIN;
}

/** The result of `readShortInteger`. */
let integer = 0;

/** Reads a small integer, with or without quotes, and returns the position after it. */
function readShortInteger(b: Uint8Array, p: number, end: number): number {
  const isQuoted = b[p] === QUOTE;
  if (isQuoted) p++;
  const from = p;
  const limit = Math.min(end, p + MAX_DIGITS);
  integer = 0;
  while (p < limit && isDigit(b[p]!)) integer = integer * 10 + b[p++]! - DIGIT_0;
  if (p === from || (b[from] === DIGIT_0 && p > from + 1)) return NOT_PLAIN;
  if (!isQuoted) return p;
  return b[p] === QUOTE ? p + 1 : NOT_PLAIN;
}
