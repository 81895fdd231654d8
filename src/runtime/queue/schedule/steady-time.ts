import type { Clock } from "#contract";

/** A clock that is so far ahead of what was expected has been set; less is drift, or a correction. */
export const MAX_CLOCK_STEP_MS = 60_000;
/** A clock that was set forward and has run on for so long is right. */
export const CLOCK_CONFIRMED_AFTER_MS = 3_600_000;

/**
 * The time of day for those who remove what is old: a clock that jumps forward, for seconds or for good, makes nothing old at
 * once. After a jump it goes on as if there had been none, by the monotonic clock, until the wall clock has run on for an hour
 * without another one: then that is right, and a machine that was asleep or off does not stay behind for ever. A clock that
 * is set back is followed at once.
 */
export class SteadyTime {
  private readonly clock: Clock;
  private time: number;
  private readAt: number;
  private jump: { readonly offset: number; readonly since: number } | undefined;

  constructor(clock: Clock) {
    this.clock = clock;
    this.time = clock.now();
    this.readAt = clock.monotonic();
  }

  /** The last time of day that is known to have been right, from before this began. */
  startFrom(lastKnown: number): void {
    if (this.time - lastKnown > MAX_CLOCK_STEP_MS) this.time = lastKnown;
  }

  /** The wall clock is ahead, and it is not known yet whether that is right. */
  get isAhead(): boolean {
    return this.jump !== undefined;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    const monotonic = this.clock.monotonic();
    this.time += monotonic - this.readAt;
    this.readAt = monotonic;
    const offset = this.clock.now() - this.time;
    if (offset <= MAX_CLOCK_STEP_MS || this.isConfirmed(offset, monotonic)) {
      this.time += offset;
      this.jump = undefined;
    }
    return this.time;
  }

  private isConfirmed(offset: number, monotonic: number): boolean {
    if (this.jump === undefined || Math.abs(offset - this.jump.offset) > MAX_CLOCK_STEP_MS)
      this.jump = { offset, since: monotonic };
    return monotonic - this.jump.since >= CLOCK_CONFIRMED_AFTER_MS;
  }
}
