import type { CompleteSettings } from "../../../runtime/kit.js";

type RetrySettings = CompleteSettings["retry_on_failure"];
export type BackoffSettings = Pick<
  RetrySettings,
  "initial_interval" | "multiplier" | "max_interval" | "max_retry_after" | "jitter" | "randomization_factor"
>;

/**
 * Milliseconds to wait after the n-th failure (counted from 1). Grows by `multiplier` up to `max_interval`, spread by
 * the jitter and never above it; what the other side asks for wins when it is longer, up to `max_retry_after`.
 */
export type Backoff = (failures: number, retryAfterMs?: number) => number;

export function createBackoff(settings: BackoffSettings, random: () => number): Backoff {
  const { max_retry_after } = settings;
  return (failures, retryAfterMs = 0) =>
    Math.max(withJitter(delayOf(settings, failures), settings, random), Math.min(retryAfterMs, max_retry_after));
}

/** No entry waits longer for its retry, whoever asked for it. */
export function maxDelay({ max_interval, max_retry_after }: BackoffSettings): number {
  return Math.max(max_interval, max_retry_after);
}

function delayOf({ initial_interval, multiplier, max_interval }: BackoffSettings, failures: number): number {
  if (initial_interval === 0) return 0;
  return Math.min(max_interval, initial_interval * multiplier ** Math.max(0, failures - 1));
}

function withJitter(delay: number, settings: BackoffSettings, random: () => number): number {
  if (settings.jitter === "none") return delay;
  if (settings.jitter === "full") return delay * random();
  const factor = 1 - settings.randomization_factor + 2 * settings.randomization_factor * random();
  return Math.min(settings.max_interval, delay * factor);
}
