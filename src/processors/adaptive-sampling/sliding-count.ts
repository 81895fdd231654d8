import type { Clock } from "../../plugin.js";

const BUCKETS = 12;

/** How much came in the last window, and in the one before it. Time is monotonic: setting the clock changes nothing. */
export class SlidingCount {
  private readonly clock: Clock;
  private readonly bucketMs: number;
  private readonly buckets = new Float64Array(2 * BUCKETS);
  private bucket: number;

  constructor(windowMs: number, clock: Clock) {
    this.clock = clock;
    this.bucketMs = windowMs / BUCKETS;
    this.bucket = Math.floor(clock.monotonic() / this.bucketMs);
  }

  add(count: number): void {
    this.move();
    this.buckets[this.bucket % this.buckets.length]! += count;
  }

  /** The present window: the last twelve buckets, the one under way included. */
  get current(): number {
    return this.sum(0);
  }

  get previous(): number {
    return this.sum(BUCKETS);
  }

  private sum(back: number): number {
    this.move();
    let total = 0;
    for (let i = 0; i < BUCKETS; i++)
      total += this.buckets[(this.bucket - back - i + 4 * BUCKETS) % this.buckets.length]!;
    return total;
  }

  private move(): void {
    const now = Math.floor(this.clock.monotonic() / this.bucketMs);
    const steps = Math.min(now - this.bucket, this.buckets.length);
    for (let i = 1; i <= steps; i++) this.buckets[(now - steps + i) % this.buckets.length] = 0;
    this.bucket = Math.max(now, this.bucket);
  }
}
