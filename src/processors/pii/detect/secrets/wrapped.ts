import { EQUALS } from "../text/ascii.js";
import { BASE64, isBefore, latin1 } from "../text/characters.js";
import { API_KEY } from "../text/detectors.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { runs } from "../text/runs.js";
import { TEXT_COST, work } from "../text/work.js";

/** Shorter ones hold nothing. */
const MIN_LENGTH = 24;
const MAX_LENGTH = 1 << 16;
const MAX_LOOKBACK = 256;
/** So many characters are decoded to see whether there is text in them: random bytes are no text. */
const SAMPLE_LENGTH = 16;

/** Scans the text that is in base64; gives the number of findings. */
export type ScanWrapped = (text: Uint8Array) => number;

let triedScan = -1;
let triedEnd = -1;

/**
 * Base64 around the word at `p` that holds text in which something is found: all of it goes, as the detector's that found
 * something first. Each run is tried once.
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
  if (found === NOT_FOUND) return NOT_FOUND;
  let last = stop;
  while (last < end && last < stop + 2 && b[last] === EQUALS) last++;
  return matches.add(found, start, last);
}

/** Is text in the first characters? Most runs end with the first three bytes, and nothing is made for that. */
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

/** The values of the characters of both alphabets. */
const SEXTETS = new Uint8Array(256);
for (const [i, c] of [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].entries())
  SEXTETS[c.charCodeAt(0)] = i;
SEXTETS[45] = 62;
SEXTETS[95] = 63;

/** The detector of the first finding in the text; the findings of the text around it stay as they are. */
function scanInside(text: Uint8Array, scan: ScanWrapped): number {
  const around = matches.leave();
  const count = scan(text);
  const found = count === 0 ? NOT_FOUND : count < 0 ? API_KEY : matches.detectors[0]!;
  matches.enter(around);
  return found;
}
