import { CHARACTER_BITS, DIGIT, SEPARATOR } from "./characters.js";
import { matches } from "./match.js";

/** Blanks, quotes, commas and angle brackets: no detector looks across them but for digits. */
const ISOLATING = new Uint8Array(256);
for (const c of " \t\r\n\"',;<>") ISOLATING[c.charCodeAt(0)] = 1;

/**
 * Does every match stand by itself, so that nothing else can be found once it is gone? Nothing but blanks or the like is
 * beside it, and no digits beyond them, which could be taken for one number with others then.
 */
export function areIsolated(b: Uint8Array): boolean {
  const { count, starts, ends, floor, end } = matches;
  for (let i = 0; i < count; i++) {
    if (!isIsolatedSide(b, starts[i]! - 1, -1, floor, end) || !isIsolatedSide(b, ends[i]!, 1, floor, end)) return false;
  }
  return true;
}

function isIsolatedSide(b: Uint8Array, p: number, step: number, floor: number, end: number): boolean {
  if (p < floor || p >= end) return true;
  if (ISOLATING[b[p]!] === 0) return false;
  for (let n = 0; n < 4 && p >= floor && p < end; n++, p += step) {
    const bits = CHARACTER_BITS[b[p]!]!;
    if ((bits & DIGIT) !== 0) return false;
    if ((bits & SEPARATOR) === 0) return true;
  }
  return true;
}
