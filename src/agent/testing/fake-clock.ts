import type { Clock } from "#contract";

/** Time that stands still until it is told to move. */
export class FakeClock implements Clock {
  private time = 1_700_000_000_000;
  /** What the wall clock is off by. */
  private offset = 0;
  private timers: { at: number; run: () => void }[] = [];

  now(): number {
    return this.time + this.offset;
  }

  /** Sets the wall clock; timers and the monotonic time do not notice. */
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

  /** Moves on, running what falls due, in order. */
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

  /** Moves on in steps, and lets everything happen that can before and after each: promises, immediates, timers. */
  async pass(ms: number, step: number = ms): Promise<void> {
    await flushPromises();
    for (let gone = 0; gone < ms; gone += step) {
      this.advance(Math.min(step, ms - gone));
      await flushPromises();
    }
  }

  /** Timers that wait. */
  get pending(): number {
    return this.timers.length;
  }
}

/** Lets everything happen that can without time passing. */
export async function flushPromises(): Promise<void> {
  for (let i = 0; i < TURNS; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** A chain of that many promises and immediates is followed to its end. */
const TURNS = 20;
