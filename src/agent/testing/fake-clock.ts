import type { Clock } from "#contract";

/** A clock that stands still until a test advances it. */
export class FakeClock implements Clock {
  private time = 1_700_000_000_000;
  /** Offset of the wall clock. */
  private offset = 0;
  private timers: { at: number; run: () => void }[] = [];

  now(): number {
    return this.time + this.offset;
  }

  /** Sets the wall clock; timers and the monotonic time do not change. */
  set(now: number): void {
    this.offset = now - this.time;
  }

  monotonic(): number {
    return this.time;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.time + ms, run };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }

  /** Advances the clock and runs due timers, in order. */
  advance(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.timers = this.timers.filter((timer) => timer !== next);
      this.time = next.at;
      next.run();
    }
    this.time = end;
  }

  /** Advances in steps. Before and after each step, lets pending promises, immediates and timers run. */
  async pass(ms: number, step: number = ms): Promise<void> {
    await flushPromises();
    for (let gone = 0; gone < ms; gone += step) {
      this.advance(Math.min(step, ms - gone));
      await flushPromises();
    }
  }

  /** Number of waiting timers. */
  get pending(): number {
    return this.timers.length;
  }
}

/** Lets everything run that can run without the clock advancing. */
export async function flushPromises(): Promise<void> {
  for (let i = 0; i < TURNS; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Turns of the event loop to wait: chains of up to this many promises and immediates are run to their end. */
const TURNS = 20;
