import { PERCENT } from "../text/ascii.js";
import { HEX, isAt, isBefore, URL_PART } from "../text/characters.js";
import { API_KEY } from "../text/detectors.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { runs } from "../text/runs.js";
import { TEXT_COST, work } from "../text/work.js";
import type { ScanWrapped } from "./wrapped.js";

const MAX_LOOKBACK = 512;

/**
 * Decodes the part of a URL around the `%` at `p` and searches it. Each match gets its position in the encoded URL.
 * Returns the position after that part, where the scan continues.
 */
export function findEncoded(b: Uint8Array, p: number, scan: ScanWrapped): number {
  const { end } = matches;
  if (!isAt(b, p + 1, end, HEX) || !isAt(b, p + 2, end, HEX)) return NOT_FOUND;
  const stop = runs.end(b, p, URL_PART);
  const floor = Math.max(matches.lastEnd, p - MAX_LOOKBACK);
  let start = p;
  while (start > floor && isBefore(b, start, floor, URL_PART)) start--;
  work.spent += 2 * TEXT_COST + 4 * (stop - start);
  const text = new Uint8Array(stop - start);
  const places = new Uint32Array(stop - start + 1);
  let size = 0;
  for (let at = start; at < stop; size++) {
    places[size] = at;
    const isEscape = b[at] === PERCENT && at + 2 < stop && isAt(b, at + 1, stop, HEX) && isAt(b, at + 2, stop, HEX);
    text[size] = isEscape ? hexValue(b[at + 1]!) * 16 + hexValue(b[at + 2]!) : b[at]!;
    at += isEscape ? 3 : 1;
  }
  places[size] = stop;
  addFindings(text.subarray(0, size), places, scan);
  return stop;
}

/** Searches a decoded text. `places` has the position of each of its bytes in the text around it. */
export function addFindings(text: Uint8Array, places: Uint32Array, scan: ScanWrapped): void {
  const around = matches.leave();
  const count = scan(text);
  const { starts, ends, detectors } = matches;
  matches.enter(around);
  if (count < 0) matches.add(API_KEY, places[0]!, places[text.length]!); // too costly to search: treat all of it
  for (let i = 0; i < count; i++) matches.add(detectors[i]!, places[starts[i]!]!, places[ends[i]!]!);
}

function hexValue(c: number): number {
  return c <= 57 ? c - 48 : (c | 32) - 87;
}
