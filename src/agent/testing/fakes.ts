import type { Clock } from "#contract";

/** A clock that stands still until a test advances it. */
export class FakeClock implements Clock {
  private time = 1_700_000_000_000;
  /** Offset of the wall clock. */
  private offset = 0;
  /** In the order in which they are due. */
  private readonly timers: { readonly at: number; readonly run: () => void }[] = [];

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
    const before = this.timers.findLastIndex(({ at }) => at <= timer.at);
    this.timers.splice(before + 1, 0, timer);
    return () => {
      const index = this.timers.indexOf(timer);
      if (index >= 0) this.timers.splice(index, 1);
    };
  }

  /** Advances the clock and runs due timers, in order. */
  advance(ms: number): void {
    const end = this.time + ms;
    while (this.timers.length > 0 && this.timers[0]!.at <= end) {
      const next = this.timers.shift()!;
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

/** A reproducible random generator: the same seed gives the same numbers. */
export class Random {
  readonly seed: number;
  private state: number;

  constructor(seed: number = newSeed()) {
    this.seed = seed;
    this.state = seed >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    this.state = (this.state + 0x9e3779b9) >>> 0;
    let x = this.state;
    x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
    return ((x ^ (x >>> 15)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 to `below` - 1. */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }
}

export function newSeed(): number {
  return Math.floor(Math.random() * 2 ** 32);
}
