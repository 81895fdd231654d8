import { EQUALS } from "../text/ascii.js";
import { BASE64, isBefore, latin1 } from "../text/characters.js";
import { API_KEY } from "../text/detectors.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { runs } from "../text/runs.js";
import { TEXT_COST, work } from "../text/work.js";

/** Shorter texts are not decoded. */
const MIN_LENGTH = 24;
const MAX_LENGTH = 1 << 16;
const MAX_LOOKBACK = 256;
/** This many characters are decoded first to see whether they contain text: random bytes do not. */
const SAMPLE_LENGTH = 16;

/** Scans a decoded text, and returns the number of matches. */
export type ScanWrapped = (text: Uint8Array) => number;

let triedScan = -1;
let triedEnd = -1;

/**
 * Finds base64 around the word at `p` that decodes to a text with a match. All of the base64 becomes one match of the
 * detector that matched first. Each run is tried once.
 */
export function findWrapped(b: Uint8Array, p: number, scan: ScanWrapped): number {
  const { lastEnd, end } = matches;
  const stop = runs.end(b, p, BASE64);
  if (triedScan === matches.scan && triedEnd === stop) return NOT_FOUND;
  const floor = Math.max(lastEnd, p - MAX_LOOKBACK);
  let start = p;
  while (start > floor && isBefore(b, start, floor, BASE64)) start--;
  work.spent += p - start;
  triedScan = matches.scan;
  triedEnd = stop;
  const size = stop - start;
  if (size < MIN_LENGTH || size > MAX_LENGTH || !holdsText(b, start)) return NOT_FOUND;
  work.spent += TEXT_COST + size;
  const found = scanInside(Buffer.from(latin1(b, start, stop), "base64"), scan);
  triedScan = matches.scan;
  triedEnd = stop;
  if (found < 0) return NOT_FOUND;
  let last = stop;
  while (last < end && last < stop + 2 && b[last] === EQUALS) last++;
  return matches.add(found, start, last);
}

/**
 * Whether the first characters decode to text. Most runs fail within the first three bytes, and nothing is allocated
 * for the test.
 */
function holdsText(b: Uint8Array, start: number): boolean {
  work.spent += SAMPLE_LENGTH;
  for (let p = start; p < start + SAMPLE_LENGTH; p += 4) {
    const bits =
      (SEXTETS[b[p]!]! << 18) | (SEXTETS[b[p + 1]!]! << 12) | (SEXTETS[b[p + 2]!]! << 6) | SEXTETS[b[p + 3]!]!;
    if (!isText(bits >> 16) || !isText((bits >> 8) & 255) || !isText(bits & 255)) return false;
  }
  return true;
}

function isText(c: number): boolean {
  return (c >= 32 && c < 127) || c === 10 || c === 13 || c === 9;
}

/** The values of the characters in both base64 alphabets. */
const SEXTETS = new Uint8Array(256);
for (const [i, c] of [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].entries())
  SEXTETS[c.charCodeAt(0)] = i;
SEXTETS[45] = 62;
SEXTETS[95] = 63;

/** Returns the detector of the first match in the text, and keeps the matches of the outer text. */
function scanInside(text: Uint8Array, scan: ScanWrapped): number {
  const around = matches.leave();
  const count = scan(text);
  const found = count === 0 ? NOT_FOUND : count < 0 ? API_KEY : matches.detectors[0]!;
  matches.enter(around);
  return found;
}
