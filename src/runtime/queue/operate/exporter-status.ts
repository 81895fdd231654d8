import type { ExporterStatus } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import type { RecentCalls } from "../send/recent-calls.js";
import type { StoreStats } from "../store/store.js";
import { ZERO_AMOUNT } from "../store/store.js";

interface StatusInputs {
  readonly id: string;
  readonly health: CompleteSettings["health"];
  readonly now: number;
  /** Undefined if there is no queue. */
  readonly stats: StoreStats | undefined;
  readonly paused: boolean;
  readonly inFlight: number;
  /** Entries that wait for a retry, if there are any. */
  readonly retries?: ExporterStatus["queue"]["retries"];
  readonly recent: RecentCalls;
  readonly breaker: ExporterStatus["breaker"];
  readonly replayRate: number;
  /** Set if the backend refuses some or all of the data. */
  readonly refused?: ExporterStatus["refused"];
  readonly isDown?: boolean;
  /** Whether nothing has gone through lately. For journals, which have no breaker. */
  readonly isStuck?: boolean;
}

/**
 * DOWN if the breaker is open, everything is refused, or the queue cannot be written. DEGRADED if the breaker is
 * probing, the exporter is paused or stuck, one signal is refused, or a limit of `health` is exceeded.
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
    recentCalls: inputs.recent.count,
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
