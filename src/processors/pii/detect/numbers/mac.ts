import { DASH, DOT } from "../text/ascii.js";
import { ALNUM, CHARACTER_BITS, HEX, isAt, LETTER, runEnd, WORD } from "../text/characters.js";
import { MAC } from "../text/detectors.js";
import { UNIQUE_FORM } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { work } from "../text/work.js";

/**
 * Hardware addresses: the detector to copy for a new kind of value. These are the steps:
 *
 * 1. Name it in `DETECTORS` (text/detectors.ts), and give it the number of its place there: MAC.
 * 2. Let the scan look closer (scan.ts): choose a byte that the value contains and most texts do not (`anchorTable`),
 *    rule most of its places out by a second byte (`isPromising`), and call the detector (`detectAt`). Digits are one
 *    anchor for all: a detector that begins at a digit is called from numbers.ts, as `findPairs` does.
 * 3. Write `find...(b, p)`, as `findMac`. It reads a bounded number of bytes, none before `matches.lastEnd` or behind
 *    `matches.end`, and counts them in `work.spent`. It proposes what it finds, with the evidence for it: text/evidence.ts
 *    decides whether that is enough. It returns the end of the match, or NOT_FOUND. Return RULED_OUT only where no other
 *    digits could make a match: it saves time, and NOT_FOUND is always safe.
 * 4. If people write one value in several forms, bring them to one (normalise.ts), so that they have one pseudonym.
 * 5. Add what it finds and what it leaves to detectors.test.ts, and lines to bench/pii-corpus/planted.js.
 * 6. Describe it in the table of docs/how-to/pii.md. `node scripts/pages/component-pages.js` adds its config keys.
 */

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
