/** Time in milliseconds, passed in so that tests can control it. Its timers do not keep the process alive. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that never jump; only differences mean anything. */
  monotonic(): number;
  /** Runs once after `ms`. The returned function cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    let timer: NodeJS.Timeout;
    const wait = (left: number) => {
      const step = Math.min(left, MAX_TIMER_MS);
      timer = setTimeout(() => (left > step ? wait(left - step) : run()), step).unref();
    };
    wait(ms);
    return () => clearTimeout(timer);
  },
};

/** Node.js fires timers with a longer delay immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * If the wall clock is this far ahead of the expected time, it was set. Smaller differences are drift or corrections.
 */
export const MAX_CLOCK_STEP_MS = 60_000;
/** A wall clock that was set forward is trusted after it has run on for this long. */
const CLOCK_CONFIRMED_AFTER_MS = 3_600_000;

/**
 * A time of day for removing old data: a wall clock that jumps forward does not make everything old at once. After a
 * jump, the time continues by the monotonic clock until the wall clock has run for an hour without another jump. Then
 * the wall clock is trusted, so that a machine that was asleep or off does not stay behind forever. If the wall clock
 * is set back, this time follows at once, unless backward jumps are to be treated like forward ones.
 */
export class SteadyTime {
  private readonly clock: Clock;
  private readonly followsBack: boolean;
  private time: number;
  private readAt: number;
  private jump: { readonly offset: number; readonly since: number } | undefined;

  constructor(clock: Clock, { followsBack = true } = {}) {
    this.clock = clock;
    this.followsBack = followsBack;
    this.time = clock.now();
    this.readAt = clock.monotonic();
  }

  /** Sets the last time of day that is known to have been correct, from before this object was created. */
  startFrom(lastKnown: number): void {
    if (this.time - lastKnown > MAX_CLOCK_STEP_MS) this.time = lastKnown;
  }

  /** Whether the wall clock is ahead and not trusted yet. */
  get isAhead(): boolean {
    return this.jump !== undefined;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    const monotonic = this.clock.monotonic();
    this.time += monotonic - this.readAt;
    this.readAt = monotonic;
    const offset = this.clock.now() - this.time;
    if (this.isSmall(offset) || this.isConfirmed(offset, monotonic)) {
      this.time += offset;
      this.jump = undefined;
    }
    return this.time;
  }

  private isSmall(offset: number): boolean {
    return (this.followsBack ? offset : Math.abs(offset)) <= MAX_CLOCK_STEP_MS;
  }

  private isConfirmed(offset: number, monotonic: number): boolean {
    if (this.jump === undefined || Math.abs(offset - this.jump.offset) > MAX_CLOCK_STEP_MS)
      this.jump = { offset, since: monotonic };
    return monotonic - this.jump.since >= CLOCK_CONFIRMED_AFTER_MS;
  }
}
