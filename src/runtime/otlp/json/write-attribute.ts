import { INT_VALUE_TAG, KEY_TAG, STRING_VALUE_TAG, VALUE_TAG } from "../bytes/tags.generated.js";
import { fixedText, putFixedText } from "../bytes/texts.js";
import type { WireWriter } from "../bytes/writer.js";
import { ENDS_PLAIN_TEXT, endsPlainText } from "./json-cursor.js";
import { putDecimal } from "./write-text.js";

/**
 * Writes the KeyValue [start, end) as JSON if it is a short key with a short text or a small integer and nothing needs
 * escaping, as nearly all are. Otherwise writes nothing and returns false.
 */
export function writeAttribute(b: Uint8Array, from: DataView, start: number, end: number, out: WireWriter): boolean {
  const keySize = b[start + 1]!;
  const valueAt = start + 2 + keySize;
  // A read after the end would belong to another field, so then the lengths do not fit.
  if (b[start] !== KEY_TAG || keySize > MAX_SHORT || valueAt + 4 > end || b[valueAt] !== VALUE_TAG) return false;
  if (b[valueAt + 1]! !== end - valueAt - 2 || end - valueAt - 2 > MAX_SHORT) return false;
  out.reserve(end - start + ROOM);
  const { view: to, length } = out;
  let at = putFixedText(to, length, BEFORE_KEY);
  if (!copyPlainText(b, from, start + 2, valueAt, to, at)) return false;
  at += keySize;
  if (b[valueAt + 2] === STRING_VALUE_TAG && b[valueAt + 3] === end - valueAt - 4) {
    at = putFixedText(to, at, BEFORE_TEXT);
    if (!copyPlainText(b, from, valueAt + 4, end, to, at)) return false;
    at += end - valueAt - 4;
  } else if (b[valueAt + 2] === INT_VALUE_TAG && end - valueAt - 3 <= MAX_SMALL) {
    at = putDecimal(to, putFixedText(to, at, BEFORE_INTEGER), smallInteger(b, valueAt + 3, end));
  } else return false;
  out.length = putFixedText(to, at, BEHIND);
  return true;
}

/** The largest length that takes one byte. */
const MAX_SHORT = 127;
/** A varint of this many bytes is always a positive 32-bit number. */
const MAX_SMALL = 4;

const BEFORE_KEY = fixedText('{"key":"');
const BEFORE_TEXT = fixedText('","value":{"stringValue":"');
const BEFORE_INTEGER = fixedText('","value":{"intValue":"');
const BEHIND = fixedText('"}}');
/** Room for the syntax around a key and a text, and for the digits of an integer, with some to spare. */
const ROOM = 64;

/** Copies a text that needs no escaping; returns false for any other. */
function copyPlainText(b: Uint8Array, from: DataView, p: number, end: number, to: DataView, at: number): boolean {
  const last = end - 4;
  if (p > last) {
    for (; p < end; p++, at++) {
      const byte = b[p]!;
      if (ENDS_PLAIN_TEXT[byte] !== 0) return false;
      to.setUint8(at, byte);
    }
    return true;
  }
  for (; p < last; p += 4, at += 4) {
    const word = from.getInt32(p, true);
    if (endsPlainText(word)) return false;
    to.setInt32(at, word, true);
  }
  // The last four bytes; some of them may be copied again.
  const word = from.getInt32(last, true);
  to.setInt32(at + last - p, word, true);
  return !endsPlainText(word);
}

function smallInteger(b: Uint8Array, p: number, end: number): number {
  let value = 0;
  for (let shift = 0; p < end; shift += 7) value |= (b[p++]! & 127) << shift;
  return value;
}
