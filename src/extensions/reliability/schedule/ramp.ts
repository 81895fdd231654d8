import type { Clock } from "../../../plugin.js";

/** Requests per second at the beginning and at the end of a ramp; after it there is no limit. */
const RAMP_START_RATE = 10;
const RAMP_END_RATE = 1000;

/**
 * Lets the rate of requests rise slowly after an outage, so that a backend that has just come back is not run over by
 * all that waited. t seconds into a ramp of d seconds the rate is START + (END - START) * (t/d)^2 of the rates above.
 *
 * After a restart it is the same for what was left in the queue, and ends with that: nothing tells that the backend was
 * down, so what has come since the restart is not slowed for longer than those before it take.
 */
export class Ramp {
  private readonly ms: number;
  private readonly clock: Clock;
  private startedAt = Number.NEGATIVE_INFINITY;
  private requests = 0;
  /** The ramp ends with the first entry that came later than this, a time of day. */
  private backlogUntil = Number.POSITIVE_INFINITY;

  constructor(ms: number, clock: Clock) {
    this.ms = ms;
    this.clock = clock;
  }

  /** An outage is over. */
  start(): void {
    this.startedAt = this.clock.monotonic();
    this.requests = 0;
    this.backlogUntil = Number.POSITIVE_INFINITY;
  }

  /** The queue was opened with so many entries. As few as the ramp's first second lets through anyway need none. */
  startWithBacklog(entries: number): void {
    if (this.ms === 0 || entries <= 1 + allowedRequests(Math.min(1000, this.ms), this.ms)) return;
    this.start();
    this.backlogUntil = this.clock.now();
  }

  get isActive(): boolean {
    return this.clock.monotonic() - this.startedAt < this.ms;
  }

  /** Milliseconds until the next request may be made; 0: now. */
  waitMs(): number {
    if (this.ms === 0 || !this.isActive) return 0;
    const elapsed = this.clock.monotonic() - this.startedAt;
    const ahead = this.requests - allowedRequests(elapsed, this.ms);
    return ahead <= 0 ? 0 : Math.max(1, (ahead / rampRate(elapsed, this.ms)) * 1000);
  }

  /** A request is made, for entries of which the last came at this time of day. */
  countRequest(enqueuedAt: number): void {
    this.requests += 1;
    if (enqueuedAt > this.backlogUntil) this.startedAt = Number.NEGATIVE_INFINITY;
  }
}

/** Requests that may have been made `elapsed` milliseconds into a ramp, besides the first. */
export function allowedRequests(elapsed: number, ms: number): number {
  const share = elapsed / ms;
  return (elapsed / 1000) * (RAMP_START_RATE + ((RAMP_END_RATE - RAMP_START_RATE) * share * share) / 3);
}

function rampRate(elapsed: number, ms: number): number {
  return RAMP_START_RATE + (RAMP_END_RATE - RAMP_START_RATE) * (elapsed / ms) ** 2;
}
