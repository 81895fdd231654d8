import type { WireWriter } from "../bytes/writer.js";
import {
  BACKSLASH,
  ENDS_PLAIN_TEXT,
  ESCAPED,
  endsPlainText,
  HEX_DIGITS,
  type JsonCursor,
  QUOTE,
} from "./json-cursor.js";

/**
 * Writes the JSON string at the cursor as a length and its unescaped text. A text is never longer than its JSON form,
 * so room for the rest of the input is always enough.
 */
export function copyText(cursor: JsonCursor, out: WireWriter): void {
  const { bytes: b, view: from, end } = cursor;
  let p = cursor.position + 1;
  out.reserve(end - p + 1);
  const { bytes, view: to } = out;
  const start = out.length + 1;
  let at = start;
  for (; p <= end - 4; p += 4, at += 4) {
    const word = from.getInt32(p, true);
    if (endsPlainText(word)) break;
    to.setInt32(at, word, true);
  }
  while (p < end) {
    const byte = b[p]!;
    if (ENDS_PLAIN_TEXT[byte] === 0) {
      bytes[at++] = byte;
      p++;
    } else if (byte === QUOTE) {
      cursor.position = p + 1;
      out.length = at;
      if (at - start < 128) bytes[start - 1] = at - start;
      else out.fixLength(start, 1);
      return;
    } else if (byte === BACKSLASH) {
      const size = cursor.escapeLength(p);
      if (size === 2) bytes[at++] = ESCAPED[b[p + 1]!]!;
      else {
        const unit = codeUnit(b, p + 2);
        const isPair = isHighSurrogate(unit) && b[p + 6] === BACKSLASH && cursor.escapeLength(p + 6) === 6;
        const low = isPair ? codeUnit(b, p + 8) : 0;
        if (isLowSurrogate(low)) {
          at = putCodePoint(bytes, at, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
          p += 6;
        } else at = putCodePoint(bytes, at, isHighSurrogate(unit) || isLowSurrogate(unit) ? REPLACEMENT : unit);
      }
      p += size;
    } else throw cursor.unexpectedAt(p);
  }
  throw cursor.unexpectedAt(end);
}

/** Replaces a lone surrogate, which UTF-8 cannot encode. */
const REPLACEMENT = 0xfffd;

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}

/** Reads the four hexadecimal digits at `p`. */
function codeUnit(b: Uint8Array, p: number): number {
  return (
    (HEX_DIGITS[b[p]!]! << 12) | (HEX_DIGITS[b[p + 1]!]! << 8) | (HEX_DIGITS[b[p + 2]!]! << 4) | HEX_DIGITS[b[p + 3]!]!
  );
}

function putCodePoint(bytes: Uint8Array, at: number, code: number): number {
  if (code < 0x80) {
    bytes[at++] = code;
    return at;
  }
  const continued = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  bytes[at++] = FIRST_BYTES[continued]! | (code >> (6 * continued));
  for (let shift = 6 * (continued - 1); shift >= 0; shift -= 6) bytes[at++] = 0x80 | ((code >> shift) & 63);
  return at;
}

/** The marker bits of a character's first byte, by the number of bytes that follow. */
const FIRST_BYTES = [0, 0xc0, 0xe0, 0xf0];
