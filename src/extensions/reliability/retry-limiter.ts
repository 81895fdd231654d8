import type { Clock } from "../../plugin.js";

export interface RetryLimiterSettings {
  readonly per_second: number;
  readonly burst: number;
}

/**
 * A token bucket for retries: in any span of t seconds at most per_second * t + burst turns fall. Kept as the time of
 * the next turn, so it needs no timer. Time is monotonic: a clock that is set back or forward changes nothing.
 */
export class RetryLimiter {
  private readonly clock: Clock;
  private readonly interval: number;
  private readonly tolerance: number;
  private nextTurn = Number.NEGATIVE_INFINITY;

  constructor({ per_second, burst }: RetryLimiterSettings, clock: Clock) {
    this.clock = clock;
    this.interval = 1000 / per_second;
    this.tolerance = (burst - 1) * this.interval;
  }

  /** Takes the next turn, whenever it is; gives the milliseconds until then. */
  reserve(): number {
    const now = this.clock.monotonic();
    const turn = Math.max(this.nextTurn, now - this.tolerance);
    this.nextTurn = turn + this.interval;
    return Math.max(0, turn - now);
  }

  /** Takes a turn only if there is one now. */
  tryTake(): boolean {
    if (this.nextTurn > this.clock.monotonic()) return false;
    this.reserve();
    return true;
  }
}
