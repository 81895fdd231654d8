import { AMPERSAND, BACKSLASH, HASH } from "../text/ascii.js";
import { latin1 } from "../text/characters.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { addFindings } from "./encoded.js";
import type { ScanWrapped } from "./wrapped.js";

/** Quotes and letters as HTML, JSON and web servers escape them: `&quot;`, `&#34;`, `\u0022`, `\x22`. */
const ESCAPE = /&(?:(quot|apos|amp|lt|gt)|#(\d{2,5})|#x([\da-f]{2,4}));|\\{1,8}(?:u([\da-f]{4})|x([\da-f]{2}))/gi;
/** The escapes at which the text is decoded. The others mean little by themselves, such as those of colours. */
const TRIGGER = /^(?:&(?:quot|apos|lt|gt|#\d{2,5}|#x[\da-f]{2,4});|\\(?:u(?!00[01])[\da-f]{4}|x[2-9a-f][\da-f]))/i;
const MAX_ESCAPE = 8;
const NAMES: Readonly<Record<string, string>> = { quot: '"', apos: "'", amp: "&", lt: "<", gt: ">" };

const MAX_LOOKBACK = 512;

/** Whether the digit at `p` may belong to an escape, by the two bytes before it. */
export function mayBeInEscape(b: Uint8Array, p: number): boolean {
  const sign = b[p - 2];
  if (b[p - 1] === HASH) return sign === AMPERSAND;
  return (b[p - 1] === 117 && sign === BACKSLASH) || (b[p - 1] === 120 && (sign === BACKSLASH || sign === HASH));
}

/** The same for a digit at `p`; returns where the escape begins. */
export function escapeStart(b: Uint8Array, p: number): number {
  return b[p - 1] === 120 && b[p - 2] === HASH ? p - 3 : p - 2;
}

/**
 * Decodes the text from the escape at `p` on, with some text before it, and searches it. Each match gets its position in
 * the escaped text. Returns the end of the text.
 */
export function findEscaped(b: Uint8Array, p: number, scan: ScanWrapped): number {
  const { end, floor, lastEnd } = matches;
  if (p < floor || !TRIGGER.test(latin1(b, p, Math.min(end, p + MAX_ESCAPE)))) return NOT_FOUND;
  const from = Math.max(lastEnd, p - MAX_LOOKBACK);
  const escaped = latin1(b, from, end);
  work.spent += 2 * TEXT_COST + 4 * escaped.length;
  const text = new Uint8Array(escaped.length);
  const places = new Uint32Array(escaped.length + 1);
  let size = 0;
  let at = 0;
  const copyTo = (stop: number) => {
    for (; at < stop; at++) {
      places[size] = from + at;
      text[size++] = b[from + at]!;
    }
  };
  for (const match of escaped.matchAll(ESCAPE)) {
    copyTo(match.index);
    for (const byte of bytesOf(match)) {
      places[size] = from + at;
      text[size++] = byte;
    }
    at += match[0].length;
  }
  copyTo(escaped.length);
  places[size] = end;
  addFindings(text.subarray(0, size), places, scan);
  return end;
}

/** A `\x` stands for a byte, and the others for a character. */
function bytesOf([, name, decimal, hex, unicode, byte]: RegExpMatchArray): Uint8Array {
  if (byte !== undefined) return Uint8Array.of(Number.parseInt(byte, 16));
  const code = decimal === undefined ? Number.parseInt(hex ?? unicode ?? "", 16) : Number(decimal);
  return Buffer.from(name === undefined ? String.fromCharCode(code) : NAMES[name.toLowerCase()]!);
}
