import type { Clock } from "../../plugin.js";

/** Requests per second at the beginning and at the end of a ramp; after it there is no limit. */
export const RAMP_FROM = 10;
export const RAMP_TO = 1000;

/**
 * Lets the rate of requests rise slowly after an outage, so that a backend that has just come back is not run over by
 * all that waited. t seconds into a ramp of d seconds the rate is RAMP_FROM + (RAMP_TO - RAMP_FROM) * (t/d)^2.
 */
export class Ramp {
  private readonly ms: number;
  private readonly clock: Clock;
  private beganAt = Number.NEGATIVE_INFINITY;
  private sent = 0;

  constructor(ms: number, clock: Clock) {
    this.ms = ms;
    this.clock = clock;
  }

  /** An outage is over. */
  begin(): void {
    this.beganAt = this.clock.monotonic();
    this.sent = 0;
  }

  get isOn(): boolean {
    return this.clock.monotonic() - this.beganAt < this.ms;
  }

  /** Milliseconds until the next request may be made; 0: now. */
  waitMs(): number {
    if (this.ms === 0 || !this.isOn) return 0;
    const elapsed = this.clock.monotonic() - this.beganAt;
    const ahead = this.sent - allowed(elapsed, this.ms);
    return ahead <= 0 ? 0 : Math.max(1, (ahead / rate(elapsed, this.ms)) * 1000);
  }

  /** A request is made. */
  note(): void {
    this.sent += 1;
  }
}

/** Requests that may have been made `elapsed` milliseconds into a ramp, besides the first. */
export function allowed(elapsed: number, ms: number): number {
  const share = elapsed / ms;
  return (elapsed / 1000) * (RAMP_FROM + ((RAMP_TO - RAMP_FROM) * share * share) / 3);
}

function rate(elapsed: number, ms: number): number {
  return RAMP_FROM + (RAMP_TO - RAMP_FROM) * (elapsed / ms) ** 2;
}
