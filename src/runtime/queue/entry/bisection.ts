/** If this many single ones were refused and nothing was taken, the backend refuses everything. */
export const MAX_BAD_ALONE = 16;

/** The maximum number of parts from one cut, because all of them are written to the store together. */
const MAX_PARTS = 512;
/** The minimum number of good and bad ones that must have been seen to estimate the share of bad ones. */
const MIN_SEEN = 8;
/** Older results count less and less beyond this number, because bad ones often lie together. */
const MAX_SEEN = 64;
/** After this many bad ones in a row, with nothing taken, the search continues elsewhere. */
const STUCK_AFTER = 2;
/** The number of single ones that are tried of each part while nothing has been taken. */
const PROBES = 4;

/**
 * The search for bad parts of a refused request: for the bad records of an entry, or for the bad entries of a request.
 * "Ones" below are records or entries.
 *
 * - A refused part is cut into halves, and the first half is sent next. One bad one among n is found with about 2 log2
 *   n calls.
 * - Once the share of bad ones can be estimated, a refused part is cut into parts of such a size that half of them are
 *   likely to be all good. Where many are bad this size is one, so a thousand with 500 bad ones take little more than a
 *   thousand calls.
 * - While nothing has been taken and two bad ones have been found, the largest part is sent next. Of each refused part
 *   a few single ones from all over it are tried. So a good one is found wherever it lies, and a backend that refuses
 *   everything is recognised after MAX_BAD_ALONE single ones, whatever the size.
 */
export class Bisection {
  private hasTaken = false;
  private badAlone = 0;
  private good = 0;
  private bad = 0;

  /** Whether any part was taken, which means that the backend does not refuse everything. */
  get hasSuccess(): boolean {
    return this.hasTaken;
  }

  /** Whether the backend refuses everything, so that unsent parts need not be sent. */
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

  /** The sizes, in order, of the parts that a refused part of this size is cut into. */
  partSizes(count: number): readonly number[] {
    return this.isStuck ? probesOf(count) : equalParts(count, this.partSize(count));
  }

  /** The index of the waiting part that is sent next (the last part was added last); -1 if none waits. */
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

/** Cuts into a few equal parts, each with its first one on its own. */
function probesOf(count: number): number[] {
  const parts = equalParts(count, Math.ceil(count / Math.min(PROBES, Math.ceil(count / 2))));
  return parts.flatMap((size) => (size > 1 ? [1, size - 1] : [1]));
}
