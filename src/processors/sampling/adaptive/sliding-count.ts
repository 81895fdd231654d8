import type { Clock } from "../../../plugin.js";

const BUCKETS_PER_WINDOW = 12;

/**
 * Counts events in the last window and in the one before it. Time is monotonic, so setting the system clock has no
 * effect.
 */
export class SlidingCount {
  private readonly clock: Clock;
  private readonly bucketMs: number;
  private readonly buckets = new Float64Array(2 * BUCKETS_PER_WINDOW);
  private bucket: number;

  constructor(windowMs: number, clock: Clock) {
    this.clock = clock;
    this.bucketMs = windowMs / BUCKETS_PER_WINDOW;
    this.bucket = Math.floor(clock.monotonic() / this.bucketMs);
  }

  add(count: number): void {
    this.advance();
    this.buckets[this.bucket % this.buckets.length]! += count;
  }

  /** The count of the present window: the last twelve buckets, including the incomplete one. */
  get current(): number {
    return this.sum(0);
  }

  get previous(): number {
    return this.sum(BUCKETS_PER_WINDOW);
  }

  private sum(back: number): number {
    this.advance();
    let total = 0;
    for (let i = 0; i < BUCKETS_PER_WINDOW; i++)
      total += this.buckets[(this.bucket - back - i + 4 * BUCKETS_PER_WINDOW) % this.buckets.length]!;
    return total;
  }

  private advance(): void {
    const now = Math.floor(this.clock.monotonic() / this.bucketMs);
    const steps = Math.min(now - this.bucket, this.buckets.length);
    for (let i = 1; i <= steps; i++) this.buckets[(now - steps + i) % this.buckets.length] = 0;
    this.bucket = Math.max(now, this.bucket);
  }
}
