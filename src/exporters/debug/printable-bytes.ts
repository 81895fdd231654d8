import type { WireWriter } from "#otlp/bytes";

/**
 * Copies the text [p, end) of `b`, whose view is `from`, if it consists of ASCII characters that a terminal shows.
 * Otherwise returns false, and may have copied some of it.
 */
export function copyPrintable(b: Uint8Array, from: DataView, p: number, end: number, out: WireWriter): boolean {
  out.reserve(end - p);
  const { bytes, view: to } = out;
  let at = out.length;
  for (; p <= end - 4; p += 4, at += 4) {
    const word = from.getInt32(p, true);
    if (hasUnprintable(word)) return false;
    to.setInt32(at, word, true);
  }
  for (; p < end; p++, at++) {
    const byte = b[p]!;
    if (byte < FIRST_PRINTABLE || byte > LAST_PRINTABLE) return false;
    bytes[at] = byte;
  }
  out.length = at;
  return true;
}

/** The same for texts in quotes that have neither quotes nor backslashes. */
export function copyQuotable(b: Uint8Array, from: DataView, p: number, end: number, out: WireWriter): boolean {
  out.reserve(end - p + 2);
  const { bytes, view: to } = out;
  let at = out.length;
  bytes[at++] = QUOTE;
  for (; p <= end - 4; p += 4, at += 4) {
    const word = from.getInt32(p, true);
    if (hasUnprintable(word) || has(word, 0x22222222) || has(word, 0x5c5c5c5c)) return false;
    to.setInt32(at, word, true);
  }
  for (; p < end; p++, at++) {
    const byte = b[p]!;
    if (byte < FIRST_PRINTABLE || byte > LAST_PRINTABLE || byte === QUOTE || byte === BACKSLASH) return false;
    bytes[at] = byte;
  }
  bytes[at] = QUOTE;
  out.length = at + 1;
  return true;
}

/** Whether one of four bytes is a control character or no ASCII. */
function hasUnprintable(word: number): boolean {
  return ((word | (word - 0x20202020)) & HIGH_BITS) !== 0 || has(word, 0x7f7f7f7f);
}

/** Whether one of four ASCII bytes is the one that `four` repeats. */
function has(word: number, four: number): boolean {
  return (((word ^ four) - 0x01010101) & HIGH_BITS) !== 0;
}

const HIGH_BITS = 0x80808080;
const FIRST_PRINTABLE = 32;
const LAST_PRINTABLE = 126;
const QUOTE = 34;
const BACKSLASH = 92;
