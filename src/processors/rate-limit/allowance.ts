import type { Lease } from "./lease.js";

/** So many in any window of this length, and `burst` more after a quiet time. */
export interface Limit {
  readonly limit: number;
  readonly windowMs: number;
  readonly burst: number;
}

/** Takes are remembered one by one up to this many; beyond it, those of a 64th of the window together. */
const MAX_EXACT_TAKES = 32;
const COARSE_PARTS = 64;
/** What sums of fractions may be off by. */
const TOLERANCE = 1e-6;

/**
 * What one key, or everyone together, may still pass.
 *
 * Invariants:
 * - No half-open window of `windowMs`, wherever it begins, sees more than `limit + burst` taken.
 * - In the long run no more than `limit` are taken in a window: what is taken fills a leaky bucket of `limit + burst`,
 *   which empties at that rate. With no burst this follows from the first and never decides.
 * - Takes that are remembered together count as made at the latest of their times. So they are forgotten too late, by
 *   at most a 64th of the window, and never too early; memory is bounded by some hundred numbers.
 * - Times are monotonic; one that lies before the last counts as the last.
 */
export class Allowance {
  readonly limit: Limit;
  /** Whether several keys share it. */
  readonly isShared: boolean;
  /** The limiter's notes while it judges a batch: which batch `room`, `asked` and `taken` belong to. */
  batchSerial = -1;
  room = 0;
  asked = 0;
  taken = 0;
  /** What is here of the permits that all agents share; undefined when none are shared. */
  lease: Lease | undefined;
  /** Whether something was ever taken from it, and not only inherited. */
  wasTakenFrom = false;

  /** When something was taken, oldest first, and how much. */
  private readonly times: number[] = [];
  private readonly counts: number[] = [];
  /** Time of the first of the takes that are remembered together as the newest. */
  private newestSince = 0;
  private inWindow = 0;
  private bucketLevel = 0;
  private lastAt = Number.NEGATIVE_INFINITY;

  constructor(limit: Limit, isShared = false) {
    this.limit = limit;
    this.isShared = isShared;
  }

  /** The most that can ever pass at once. */
  get capacity(): number {
    return this.limit.limit + this.limit.burst;
  }

  /** How many may pass now. */
  available(now: number): number {
    this.advanceTo(now);
    return Math.max(
      0,
      Math.min(this.capacity - this.inWindow, Math.floor(this.capacity - this.bucketLevel + TOLERANCE)),
    );
  }

  /** `count` pass now; must not be more than are available. */
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

  /** Milliseconds until `count` are available, if nothing else is taken; infinite when they never are. */
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

  /** Whether it is as good as new: nothing of what was taken counts any more. */
  isIdle(now: number): boolean {
    this.advanceTo(now);
    return this.inWindow === 0 && this.bucketLevel === 0;
  }

  /** Begins with all that was taken from another one. */
  inherit(other: Allowance): void {
    this.times.push(...other.times);
    this.counts.push(...other.counts);
    this.newestSince = other.newestSince;
    this.inWindow = other.inWindow;
    this.bucketLevel = other.bucketLevel;
    this.lastAt = other.lastAt;
  }

  /** How many takes are remembered. */
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
