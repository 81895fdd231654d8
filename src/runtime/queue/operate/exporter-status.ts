import type { ExporterStatus } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import type { RecentCalls } from "../send/recent-calls.js";
import { ZERO_AMOUNT } from "../store/amounts.js";
import type { StoreStats } from "../store/store.js";

export interface StatusInputs {
  readonly id: string;
  readonly health: CompleteSettings["health"];
  readonly now: number;
  /** Undefined: there is no queue. */
  readonly stats: StoreStats | undefined;
  readonly paused: boolean;
  readonly inFlight: number;
  /** What waits for the time of its retry, if something does. */
  readonly retries?: ExporterStatus["queue"]["retries"];
  readonly recent: RecentCalls;
  readonly breaker: ExporterStatus["breaker"];
  readonly replayRate: number;
  /** The backend refuses some of what is sent, or all of it. */
  readonly refused?: ExporterStatus["refused"];
  readonly isDown?: boolean;
  /** Of what has no breaker: nothing has gone through lately. */
  readonly isStuck?: boolean;
}

/**
 * DOWN while the breaker is open, everything is refused or the queue cannot be written; DEGRADED while it probes, is
 * paused or stuck, one signal is refused, and beyond what `health` allows.
 */
export function exporterStatus(inputs: StatusInputs): ExporterStatus {
  const { id, stats, paused, inFlight, retries, breaker, replayRate, isStuck = false, refused } = inputs;
  const { lastSentAt, lastError, failureRate, failureTrend } = inputs.recent;
  const writeFailure = stats?.writeFailure;
  const isDown = breaker.state === "open" || writeFailure !== undefined || inputs.isDown === true;
  const isUnwell = isStuck || refused !== undefined || !isWithinLimits(inputs);
  const isDegraded = paused || isUnwell || breaker.state === "half_open";
  return {
    id,
    state: isDown ? "DOWN" : isDegraded ? "DEGRADED" : "UP",
    paused,
    breaker,
    ...(refused !== undefined && { refused }),
    queue: {
      enabled: stats !== undefined,
      ...(stats?.pending ?? ZERO_AMOUNT),
      inFlight,
      oldestAt: stats?.oldestPendingAt,
      ...(retries !== undefined && { retries }),
      writeError: writeFailure && { code: writeFailure.code, message: writeFailure.message },
    },
    deadLetters: { ...(stats?.failed ?? ZERO_AMOUNT), oldestAt: stats?.oldestFailedAt },
    lastSentAt,
    lastError: lastError && { at: lastError.at, class: lastError.error.class, message: lastError.error.message },
    failureRate,
    failureTrend,
    replayRate,
  };
}

function isWithinLimits({ health, now, stats, recent }: StatusInputs): boolean {
  const { max_dead_letters, max_failure_rate, max_queue_age } = health;
  const hasFewDeadLetters = max_dead_letters === 0 || (stats?.failed.entries ?? 0) <= max_dead_letters;
  const isYoung = max_queue_age === 0 || now - (stats?.oldestPendingAt ?? now) <= max_queue_age;
  return hasFewDeadLetters && isYoung && recent.failureRate <= max_failure_rate;
}
