import { CHARACTER_BITS } from "./characters.js";
import { matches } from "./matches.js";
import { work } from "./work.js";

/**
 * Remembers, for the text being scanned, where runs of one kind of character end and where the next character of a kind
 * is. In hostile texts, many candidates lie close together and share the text after them. Because a scan only goes
 * forward, each byte is read once per kind, however many candidates there are.
 */
class Runs {
  private readonly scans = new Int32Array(KINDS);
  private readonly from = new Int32Array(KINDS);
  private readonly to = new Int32Array(KINDS);

  /**
   * Returns the position after the bytes from `p` on that all have one of these bits or, with `isEnd`, none of them.
   */
  end(b: Uint8Array, p: number, bits: number, isEnd = false): number {
    const kind = kindOf(bits);
    if (this.scans[kind] === matches.scan && p >= this.from[kind]! && p <= this.to[kind]!) return this.to[kind]!;
    const { end } = matches;
    let q = p;
    if (isEnd) while (q < end && (CHARACTER_BITS[b[q]!]! & bits) === 0) q++;
    else while (q < end && (CHARACTER_BITS[b[q]!]! & bits) !== 0) q++;
    work.spent += q - p;
    this.scans[kind] = matches.scan;
    this.from[kind] = p;
    this.to[kind] = q;
    return q;
  }
}

const KINDS = 96;

/** Returns the index for a kind, or for several small kinds together. */
function kindOf(bits: number): number {
  return bits < 64 ? bits : 95 - Math.clz32(bits);
}

/** Remembers the ends of runs. */
export const runs = new Runs();
/** Remembers the next character of each kind: the end of a run of all others. */
const gaps = new Runs();

/** Returns the position of the next such character from `p` on, or the end of the text. */
export function nextOf(b: Uint8Array, p: number, bits: number): number {
  return gaps.end(b, p, bits, true);
}

/** Whether there is such a character in [p, stop). */
export function hasNext(b: Uint8Array, p: number, stop: number, bits: number): boolean {
  return gaps.end(b, p, bits, true) < stop;
}
