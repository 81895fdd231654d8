import type { ExporterStatus } from "../../../runtime/kit.js";
import type { RecentCalls } from "../send/recent-calls.js";
import { ZERO_AMOUNT } from "../store/amounts.js";
import type { StoreStats } from "../store/store.js";

/** More dead letters than this, and the exporter is not quite well. */
const MANY_DEAD_LETTERS = 100;

export interface StatusInputs {
  readonly id: string;
  /** Undefined: there is no queue. */
  readonly stats: StoreStats | undefined;
  readonly paused: boolean;
  readonly inFlight: number;
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
 * DOWN while the breaker is open or everything is refused; DEGRADED while it probes, is paused or stuck, one signal is
 * refused, and with many dead letters.
 */
export function exporterStatus(inputs: StatusInputs): ExporterStatus {
  const { id, stats, paused, inFlight, breaker, replayRate, isStuck = false, isDown = false, refused } = inputs;
  const { lastSentAt, lastError, failureRate, failureTrend } = inputs.recent;
  const hasManyDeadLetters = (stats?.failed.entries ?? 0) > MANY_DEAD_LETTERS;
  const isDegraded = paused || isStuck || refused !== undefined || breaker.state === "half_open" || hasManyDeadLetters;
  return {
    id,
    state: breaker.state === "open" || isDown ? "DOWN" : isDegraded ? "DEGRADED" : "UP",
    paused,
    breaker,
    ...(refused !== undefined && { refused }),
    queue: {
      enabled: stats !== undefined,
      ...(stats?.pending ?? ZERO_AMOUNT),
      inFlight,
      oldestAt: stats?.oldestPendingAt,
    },
    deadLetters: { ...(stats?.failed ?? ZERO_AMOUNT), oldestAt: stats?.oldestFailedAt },
    lastSentAt,
    lastError: lastError && { at: lastError.at, class: lastError.error.class, message: lastError.error.message },
    failureRate,
    failureTrend,
    replayRate,
  };
}
