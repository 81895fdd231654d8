import type { Lease } from "./lease.js";

/** `limit` records may pass in any window of this length, and `burst` more after a quiet time. */
export interface Limit {
  readonly limit: number;
  readonly windowMs: number;
  readonly burst: number;
}

/**
 * Up to this many takes are remembered one by one. Beyond that, the takes of each 64th of the window are added
 * together.
 */
const MAX_EXACT_TAKES = 32;
const COARSE_PARTS = 64;
/** Rounding error of sums of fractions. */
const TOLERANCE = 1e-6;

/**
 * Tracks how much one key, or all keys together, may still pass.
 *
 * Invariants:
 * - No half-open window of `windowMs`, wherever it begins, contains more than `limit + burst` taken.
 * - In the long run no more than `limit` are taken per window: each take fills a leaky bucket of size `limit +
 *   burst`, which drains at that rate. Without a burst, the first invariant implies this one.
 * - Takes that are remembered together count as made at the latest of their times. So they are forgotten late, by at
 *   most a 64th of the window, and never early; memory is bounded by some hundred numbers.
 * - Times are monotonic; a time before the last one counts as the last one.
 */
export class Allowance {
  readonly limit: Limit;
  /** Whether several keys share this allowance. */
  readonly isShared: boolean;
  /** The batch that `room`, `asked` and `taken` belong to. The limiter writes them while it judges a batch. */
  batchSerial = -1;
  room = 0;
  asked = 0;
  taken = 0;
  /** Permits fetched from the pool that all agents share; undefined if the limits are not shared. */
  lease: Lease | undefined;
  /** Whether anything was ever taken directly, not only inherited. */
  wasTakenFrom = false;

  /** The time of each take, oldest first, and its size in `counts`. */
  private readonly times: number[] = [];
  private readonly counts: number[] = [];
  /** Time of the first take that was added to the newest entry. */
  private newestSince = 0;
  private inWindow = 0;
  private bucketLevel = 0;
  private lastAt = Number.NEGATIVE_INFINITY;

  constructor(limit: Limit, isShared = false) {
    this.limit = limit;
    this.isShared = isShared;
  }

  /** The maximum that can ever pass at once. */
  get capacity(): number {
    return this.limit.limit + this.limit.burst;
  }

  /** Returns how many may pass now. */
  available(now: number): number {
    this.advanceTo(now);
    return Math.max(
      0,
      Math.min(this.capacity - this.inWindow, Math.floor(this.capacity - this.bucketLevel + TOLERANCE)),
    );
  }

  /** Records that `count` pass now. `count` must not exceed what is available. */
  take(count: number, now: number): void {
    this.advanceTo(now);
    const at = this.lastAt;
    const newest = this.times.length - 1;
    const joins = this.times[newest] === at || (newest >= MAX_EXACT_TAKES && at - this.newestSince < this.coarseMs);
    if (joins) {
      this.times[newest] = at;
      this.counts[newest]! += count;
    } else {
      this.times.push(at);
      this.counts.push(count);
      this.newestSince = at;
    }
    this.inWindow += count;
    this.bucketLevel += count;
    this.wasTakenFrom = true;
  }

  /** Returns the milliseconds until `count` are available if nothing else is taken; infinite if they never will be. */
  waitFor(count: number, now: number): number {
    this.advanceTo(now);
    if (count > this.capacity) return Number.POSITIVE_INFINITY;
    const { windowMs, limit } = this.limit;
    const untilBucketEmpties = ((this.bucketLevel + count - this.capacity) * windowMs) / limit;
    let wait = Math.max(0, untilBucketEmpties);
    let excess = this.inWindow + count - this.capacity;
    for (let i = 0; excess > 0; i++) {
      excess -= this.counts[i]!;
      wait = Math.max(wait, this.times[i]! + windowMs - this.lastAt);
    }
    return wait;
  }

  /** Whether the allowance equals a new one: no past take counts any more. */
  isIdle(now: number): boolean {
    this.advanceTo(now);
    return this.inWindow === 0 && this.bucketLevel === 0;
  }

  /** Starts with everything that was taken from the other allowance. */
  inherit(other: Allowance): void {
    this.times.push(...other.times);
    this.counts.push(...other.counts);
    this.newestSince = other.newestSince;
    this.inWindow = other.inWindow;
    this.bucketLevel = other.bucketLevel;
    this.lastAt = other.lastAt;
  }

  /** Number of remembered takes. */
  get remembered(): number {
    return this.times.length;
  }

  private get coarseMs(): number {
    return this.limit.windowMs / COARSE_PARTS;
  }

  private advanceTo(now: number): void {
    if (!(now > this.lastAt)) return;
    const { limit, windowMs } = this.limit;
    if (this.bucketLevel > 0)
      this.bucketLevel = Math.max(0, this.bucketLevel - ((now - this.lastAt) * limit) / windowMs);
    this.lastAt = now;
    let expired = 0;
    while (expired < this.times.length && this.times[expired]! <= now - windowMs)
      this.inWindow -= this.counts[expired++]!;
    if (expired === 0) return;
    this.times.splice(0, expired);
    this.counts.splice(0, expired);
  }
}
