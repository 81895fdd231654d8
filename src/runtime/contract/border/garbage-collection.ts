import process from "node:process";
import type { Clock } from "../clock.js";

const MIN_INTERVAL_MS = 2000;
const MAX_INTERVAL_MS = 60_000;

/**
 * Full garbage collections on request, for all plugins of an agent. One stops everything for some milliseconds, so there is
 * some time between two of them, and twice as much with each that finds nothing.
 */
export class GarbageCollection {
  private readonly clock: Clock;
  private readonly collect: () => void;
  private intervalMs = MIN_INTERVAL_MS;
  private notBefore = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, collect: () => void = collectGarbage) {
    this.clock = clock;
    this.collect = collect;
  }

  /** Collects, unless it is too early for that. */
  request(): void {
    const now = this.clock.monotonic();
    if (now < this.notBefore) return;
    this.notBefore = now + this.intervalMs;
    this.intervalMs = Math.min(2 * this.intervalMs, MAX_INTERVAL_MS);
    this.collect();
  }

  /** A collection, of ours or not, found something. */
  found(): void {
    this.intervalMs = MIN_INTERVAL_MS;
    this.notBefore = Math.min(this.notBefore, this.clock.monotonic() + MIN_INTERVAL_MS);
  }
}

let exposedGc: (() => void) | undefined;

/** V8 gives `gc` to contexts that are made while the flag is set. Without it, what is lost waits for a collection of Node's. */
export function collectGarbage(): void {
  exposedGc ??= globalThis.gc ?? exposeGc();
  exposedGc();
}

function exposeGc(): () => void {
  // Loaded here, since only agents with plugins that hold deliveries need them.
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  const { runInNewContext } = process.getBuiltinModule("node:vm");
  try {
    setFlagsFromString("--expose-gc");
    const gc: unknown = runInNewContext("gc");
    setFlagsFromString("--no-expose-gc");
    return typeof gc === "function" ? () => void gc() : () => {};
  } catch {
    return () => {};
  }
}
