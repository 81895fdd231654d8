import { CHARACTER_BITS } from "./characters.js";
import { matches } from "./matches.js";
import { work } from "./work.js";

/**
 * Where runs of characters of one kind end, and where the next of a kind is, remembered for the text that is being scanned:
 * candidates lie close together in hostile texts, and share what is behind them. Since a scan goes forward only, each byte
 * is looked at once for each kind, however many candidates there are.
 */
class Runs {
  private readonly scans = new Int32Array(KINDS);
  private readonly from = new Int32Array(KINDS);
  private readonly to = new Int32Array(KINDS);

  /** Position behind the bytes from `p` on that all are of these kinds (or, with `isEnd`, behind those that are not). */
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

/** The place of a kind, or of several small ones together. */
function kindOf(bits: number): number {
  return bits < 64 ? bits : 95 - Math.clz32(bits);
}

/** Ends of runs of these. */
export const runs = new Runs();
/** Positions of the next of these: runs of everything else. */
const gaps = new Runs();

/** Position of the next one of these from `p` on, or the end of the text. */
export function nextOf(b: Uint8Array, p: number, bits: number): number {
  return gaps.end(b, p, bits, true);
}

/** Is there one of these in [p, stop)? */
export function hasNext(b: Uint8Array, p: number, stop: number, bits: number): boolean {
  return gaps.end(b, p, bits, true) < stop;
}
