import type { Clock } from "../../plugin.js";

/** Admits `perSecond` on average and `burst` at once. Time is monotonic. */
export class TokenBucket {
  private readonly perSecond: number;
  private readonly burst: number;
  private readonly clock: Clock;
  private tokens: number;
  private at: number;

  constructor(perSecond: number, burst: number, clock: Clock) {
    this.perSecond = perSecond;
    this.burst = burst;
    this.clock = clock;
    this.tokens = burst;
    this.at = clock.monotonic();
  }

  /** All of it or nothing. */
  take(amount: number): boolean {
    const now = this.clock.monotonic();
    this.tokens = Math.min(this.burst, this.tokens + ((now - this.at) * this.perSecond) / 1000);
    this.at = now;
    if (amount > this.tokens) return false;
    this.tokens -= amount;
    return true;
  }
}
