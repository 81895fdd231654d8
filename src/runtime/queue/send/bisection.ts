/** Of what was refused alone and nothing taken, so many are enough to know that the other side refuses everything. */
export const MAX_BAD_ALONE = 16;

/** Parts that one is cut into at once: all of them are written to the store together. */
const MAX_PARTS = 512;
/** So many must have been seen, good or bad, before their share says something. */
const MIN_SEEN = 8;
/** What was seen longer ago than so many counts less and less: bad ones often lie together. */
const MAX_SEEN = 64;
/** After so many bad ones in a row, and nothing taken, it is looked elsewhere. */
const STUCK_AFTER = 2;
/** Single ones that are tried of a part while nothing has been taken. */
const PROBES = 4;

/**
 * The search for what is bad in something that was refused: for the bad records of an entry, or for the bad entries of a
 * request. Both follow this rule.
 *
 * - A refused part is cut in halves; the first is sent next. One bad one among n is found with about 2 log2 n calls.
 * - When enough has been seen to know the share of bad ones, a refused part is cut into parts of the size of which half are
 *   likely to be all good: where many are bad that is one, so that a thousand with 500 bad ones take little more than a
 *   thousand calls.
 * - While nothing has been taken, and two bad ones have been found, the largest part is next, and of each that is refused a few
 *   single ones from all over it: so a good one is found wherever it lies, and whoever refuses everything is known after
 *   MAX_BAD_ALONE single ones, however many there are.
 */
export class Bisection {
  private hasTaken = false;
  private badAlone = 0;
  private good = 0;
  private bad = 0;

  /** One of its parts was taken: the other side does not refuse everything. */
  get hasSuccess(): boolean {
    return this.hasTaken;
  }

  /** The other side refuses everything: what has not been sent yet need not be. */
  get isFutile(): boolean {
    return !this.hasTaken && this.badAlone >= MAX_BAD_ALONE;
  }

  taken(count: number): void {
    this.hasTaken = true;
    this.see(count, 0);
  }

  refused(count: number): void {
    if (count > 1) return;
    this.badAlone += 1;
    this.see(0, 1);
  }

  /** The sizes, in order, of the parts into which a refused part of this size is cut. */
  partSizes(count: number): readonly number[] {
    return this.isStuck ? probesOf(count) : equalParts(count, this.partSize(count));
  }

  /** Which of the parts that wait, the last added last, is sent next; -1 when none waits. */
  next(sizes: readonly number[]): number {
    if (!this.isStuck) return sizes.length - 1;
    const single = sizes.lastIndexOf(1);
    return single === -1 ? sizes.indexOf(sizes.reduce((a, b) => Math.max(a, b), 0)) : single;
  }

  private get isStuck(): boolean {
    return !this.hasTaken && this.badAlone >= STUCK_AFTER;
  }

  private partSize(count: number): number {
    const half = Math.ceil(count / 2);
    const seen = this.good + this.bad;
    if (seen < MIN_SEEN) return half;
    const likelyGood = Math.floor(Math.LN2 / -Math.log1p(-this.bad / seen));
    return Math.max(Math.min(half, Math.max(1, likelyGood)), Math.ceil(count / MAX_PARTS));
  }

  private see(good: number, bad: number): void {
    const weight = Math.min(1, MAX_SEEN / (this.good + this.bad + good + bad));
    this.good = (this.good + good) * weight;
    this.bad = (this.bad + bad) * weight;
  }
}

function equalParts(count: number, size: number): number[] {
  const sizes: number[] = [];
  for (let left = count; left > 0; left -= size) sizes.push(Math.min(size, left));
  return sizes;
}

/** A single one at the beginning of each of a few equal parts, and the rest of that part. */
function probesOf(count: number): number[] {
  const parts = equalParts(count, Math.ceil(count / Math.min(PROBES, Math.ceil(count / 2))));
  return parts.flatMap((size) => (size > 1 ? [1, size - 1] : [1]));
}
