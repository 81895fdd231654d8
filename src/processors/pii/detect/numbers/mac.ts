import { DASH, DOT } from "../text/ascii.js";
import { ALNUM, CHARACTER_BITS, HEX, isAt, LETTER, runEnd, WORD } from "../text/characters.js";
import { MAC } from "../text/detectors.js";
import { UNIQUE_FORM } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { work } from "../text/work.js";

/**
 * Finds a hardware address whose first separator is at `p`: six pairs of digits separated by `:` or `-`, or three
 * groups of four separated by dots.
 */
export function findMac(b: Uint8Array, p: number): number {
  const sign = b[p]!;
  const size = sign === DOT ? 4 : 2;
  const start = p - size;
  const stop = p + (sign === DOT ? 10 : 15);
  if (start < matches.lastEnd || stop > matches.end || b[p + size + 1] !== sign) return NOT_FOUND;
  for (let at = start; at < stop; at++) {
    work.spent++;
    const isSign = (at - start) % (size + 1) === size;
    if (isSign ? b[at] !== sign : (CHARACTER_BITS[b[at]!]! & HEX) === 0) return NOT_FOUND;
  }
  if (
    isMore(b, start - 1, start - 2, sign) ||
    isMore(b, stop, stop + 1, sign) ||
    (sign === DOT && !holdsLetter(b, start, stop))
  )
    return NOT_FOUND;
  return isEmpty(b, start, stop) ? NOT_FOUND : matches.propose(MAC, start, stop, UNIQUE_FORM);
}

/**
 * Whether the address continues at `p` with more digits at `next`. With more pairs it is a fingerprint or another kind
 * of address.
 */
function isMore(b: Uint8Array, p: number, next: number, sign: number): boolean {
  const { floor, end } = matches;
  if (p < floor || p >= end) return false;
  if ((CHARACTER_BITS[b[p]!]! & WORD) !== 0) return true;
  return b[p] === sign && next >= floor && isAt(b, next, end, ALNUM);
}

/** An address with dots must contain a letter; otherwise it could be a version. */
function holdsLetter(b: Uint8Array, start: number, stop: number): boolean {
  for (let p = start; p < stop; p++) if ((CHARACTER_BITS[b[p]!]! & LETTER) !== 0) return true;
  return false;
}

/** 00:00:00:00:00:00 and ff:ff:ff:ff:ff:ff belong to no device. */
function isEmpty(b: Uint8Array, start: number, stop: number): boolean {
  const first = b[start]! | 32;
  if (first !== 48 && first !== 102) return false;
  for (let p = start; p < stop; p++) if (isAt(b, p, stop, ALNUM) && (b[p]! | 32) !== first) return false;
  return runEnd(b, start, stop, HEX) > start;
}

/** Whether the `-` or `.` at `p` could be the first separator of an address. */
export function beginsMac(b: Uint8Array, p: number): boolean {
  return b[p] === DASH ? b[p + 3] === DASH && b[p + 6] === DASH : b[p + 5] === DOT && b[p] === DOT;
}
