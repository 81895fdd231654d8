import type { Clock } from "../../plugin.js";

/** Timers cannot wait longer than some weeks; nothing here needs to sleep longer than this without looking. */
const LONGEST_MS = 3_600_000;

/** One timer for everything that waits: rings at the earliest time it was set to, then forgets. */
export class Alarm {
  private readonly clock: Clock;
  private readonly ring: () => void;
  private at = Number.POSITIVE_INFINITY;
  private cancelTimer = () => {};

  constructor(clock: Clock, ring: () => void) {
    this.clock = clock;
    this.ring = ring;
  }

  /** Rings `ms` from now at the latest. */
  within(ms: number): void {
    const now = this.clock.monotonic();
    const at = now + Math.min(Math.max(0, ms), LONGEST_MS);
    if (at >= this.at) return;
    this.cancelTimer();
    this.at = at;
    this.cancelTimer = this.clock.after(at - now, () => {
      this.at = Number.POSITIVE_INFINITY;
      this.ring();
    });
  }

  cancel(): void {
    this.cancelTimer();
    this.at = Number.POSITIVE_INFINITY;
  }
}
