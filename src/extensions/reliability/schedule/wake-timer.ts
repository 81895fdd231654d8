import type { Clock } from "../../../plugin.js";

/** Timers cannot wait longer than some weeks; nothing here needs to sleep longer than this without looking. */
const MAX_DELAY_MS = 3_600_000;

/** One timer for everything that waits: rings at the earliest time it was set to, then forgets. */
export class WakeTimer {
  private readonly clock: Clock;
  private readonly onWake: () => void;
  private at = Number.POSITIVE_INFINITY;
  private cancelTimer = () => {};

  constructor(clock: Clock, onWake: () => void) {
    this.clock = clock;
    this.onWake = onWake;
  }

  /** Rings `ms` from now at the latest. */
  wakeWithin(ms: number): void {
    const now = this.clock.monotonic();
    const at = now + Math.min(Math.max(0, ms), MAX_DELAY_MS);
    if (at >= this.at) return;
    this.cancelTimer();
    this.at = at;
    this.cancelTimer = this.clock.after(at - now, () => {
      this.at = Number.POSITIVE_INFINITY;
      this.onWake();
    });
  }

  cancel(): void {
    this.cancelTimer();
    this.at = Number.POSITIVE_INFINITY;
  }
}
