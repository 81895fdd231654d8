import type { CompleteSettings } from "#contract/schema";

type RetrySettings = CompleteSettings["retry_on_failure"];
type BackoffSettings = Pick<
  RetrySettings,
  | "backoff"
  | "initial_interval"
  | "multiplier"
  | "increment"
  | "max_interval"
  | "max_retry_after"
  | "jitter"
  | "randomization_factor"
>;

/**
 * Returns the milliseconds to wait after the n-th failure (counted from 1). The delay grows by the factor `multiplier`,
 * or by `increment`, or not at all, up to `max_interval`. Jitter spreads it, but never above that. A longer Retry-After
 * of the backend takes precedence, up to `max_retry_after`.
 */
export type Backoff = (failures: number, retryAfterMs?: number) => number;

export function createBackoff(settings: BackoffSettings, random: () => number): Backoff {
  const { max_retry_after } = settings;
  return (failures, retryAfterMs = 0) =>
    Math.max(withJitter(delayOf(settings, failures), settings, random), Math.min(retryAfterMs, max_retry_after));
}

/** The longest possible delay before a retry. */
export function maxDelay({ max_interval, max_retry_after }: BackoffSettings): number {
  return Math.max(max_interval, max_retry_after);
}

function delayOf(settings: BackoffSettings, failures: number): number {
  const { backoff, initial_interval, multiplier, increment, max_interval } = settings;
  const earlier = Math.max(0, failures - 1);
  if (backoff === "fixed") return Math.min(max_interval, initial_interval);
  if (backoff === "linear") return Math.min(max_interval, initial_interval + increment * earlier);
  return initial_interval === 0 ? 0 : Math.min(max_interval, initial_interval * multiplier ** earlier);
}

function withJitter(delay: number, settings: BackoffSettings, random: () => number): number {
  if (settings.jitter === "none") return delay;
  if (settings.jitter === "full") return delay * random();
  const factor = 1 - settings.randomization_factor + 2 * settings.randomization_factor * random();
  return Math.min(settings.max_interval, delay * factor);
}
