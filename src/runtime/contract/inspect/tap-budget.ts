import type { Clock } from "../clock.js";

/**
 * The time that all taps together, or all samples, may take from the pipelines: this share of each second. When it is
 * used up, passing records are not examined, and count as dropped. Work that took longer than its share is made up for
 * by a longer wait, up to `maxWaitMs` from its start.
 */
export class TapBudget {
  private readonly clock: Clock;
  private readonly share: number;
  private readonly maxWaitMs: number;
  private left: number;
  private filledAt: number;

  constructor(clock: Clock, share = WORK_SHARE, maxWaitMs = Number.POSITIVE_INFINITY) {
    this.clock = clock;
    this.share = share;
    this.maxWaitMs = maxWaitMs;
    this.left = share * 1000;
    this.filledAt = clock.monotonic();
  }

  /** Milliseconds until there is time again; 0 if there is time now. */
  get waitMs(): number {
    const now = this.clock.monotonic();
    this.left = Math.min(this.share * 1000, this.left + (now - this.filledAt) * this.share);
    this.filledAt = now;
    return this.left > 0 ? 0 : Math.ceil(1 - this.left / this.share);
  }

  /** Runs the work if there is time for it; otherwise returns undefined. */
  run<T>(work: () => T): T | undefined {
    if (this.waitMs > 0) return undefined;
    const start = this.filledAt;
    try {
      return work();
    } finally {
      this.left = Math.max(this.left - (this.clock.monotonic() - start), -this.share * this.maxWaitMs);
    }
  }
}

const WORK_SHARE = 0.01;
