/** How long to wait before the next try, in milliseconds, after so many failures in a row: at least 1. */
export type Delays = (failures: number) => number;

interface DelayLimits {
  /** The longest delay after one failure. It doubles with each further failure. */
  readonly first: number;
  /** No delay is longer. */
  readonly max: number;
}

/** The part of a component's context that delays need. */
export interface Jitter {
  readonly random: () => number;
}

/** Delays that double, with jitter. If `max` is `first`, they only vary. */
export function backoff({ first, max }: DelayLimits, jitter: Jitter): Delays {
  return (failures) => jittered(Math.min(max, first * 2 ** (failures - 1)), jitter);
}

/** Between half the delay and all of it at random, so that agents that failed together do not all return together. */
export function jittered(ms: number, { random }: Jitter): number {
  return ms * (0.5 + random() / 2);
}
