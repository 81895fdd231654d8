import type { Clock } from "#contract";

const BUCKETS = 12;

/** Counts recent calls and how many of them failed, in constant memory. */
export class FailureRateWindow {
  private readonly clock: Clock;
  private readonly bucketMs: number;
  private readonly calls = new Array<number>(BUCKETS).fill(0);
  private readonly failures = new Array<number>(BUCKETS).fill(0);
  /** Number of the bucket that is being filled, counted from time 0 of the monotonic clock. */
  private currentBucket: number;

  constructor(windowMs: number, clock: Clock) {
    this.clock = clock;
    this.bucketMs = Math.max(1, windowMs / BUCKETS);
    this.currentBucket = this.bucketNow();
  }

  add(failed: boolean): void {
    this.advance();
    const bucket = this.currentBucket % BUCKETS;
    this.calls[bucket]! += 1;
    if (failed) this.failures[bucket]! += 1;
  }

  /** The number of calls in the window, and the share of failed ones, from 0 to 1. */
  read(): { readonly calls: number; readonly rate: number } {
    this.advance();
    const calls = sum(this.calls);
    return { calls, rate: calls === 0 ? 0 : sum(this.failures) / calls };
  }

  clear(): void {
    this.calls.fill(0);
    this.failures.fill(0);
  }

  private advance(): void {
    const now = this.bucketNow();
    const steps = Math.min(BUCKETS, now - this.currentBucket);
    for (let i = 1; i <= steps; i++) {
      this.calls[(this.currentBucket + i) % BUCKETS] = 0;
      this.failures[(this.currentBucket + i) % BUCKETS] = 0;
    }
    this.currentBucket = Math.max(this.currentBucket, now);
    if (steps === BUCKETS) this.clear();
  }

  private bucketNow(): number {
    return Math.floor(this.clock.monotonic() / this.bucketMs);
  }
}

function sum(numbers: readonly number[]): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
