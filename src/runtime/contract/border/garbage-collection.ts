import type { Clock } from "../clock.js";

const MIN_INTERVAL_MS = 2000;
const MAX_INTERVAL_MS = 60_000;

/**
 * Full garbage collections on request, for all plugins of an agent. A collection stops everything for some
 * milliseconds, so there is a minimum interval between two, which doubles with each one that finds nothing.
 */
export class GarbageCollection {
  private readonly clock: Clock;
  private readonly collect: () => void;
  private intervalMs = MIN_INTERVAL_MS;
  private notBefore = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, collect: () => void) {
    this.clock = clock;
    this.collect = collect;
  }

  /** Runs a collection, unless it is too early. */
  request(): void {
    const now = this.clock.monotonic();
    if (now < this.notBefore) return;
    this.notBefore = now + this.intervalMs;
    this.intervalMs = Math.min(2 * this.intervalMs, MAX_INTERVAL_MS);
    this.collect();
  }

  /** To be called when a collection, requested or not, found a lost delivery. */
  found(): void {
    this.intervalMs = MIN_INTERVAL_MS;
    this.notBefore = Math.min(this.notBefore, this.clock.monotonic() + MIN_INTERVAL_MS);
  }
}
