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
  /** Of what has no breaker: nothing has gone through lately. */
  readonly isStuck?: boolean;
}

/** DOWN while the breaker is open; DEGRADED while it probes, is paused or stuck, and with many dead letters. */
export function exporterStatus(inputs: StatusInputs): ExporterStatus {
  const { id, stats, paused, inFlight, breaker, replayRate, isStuck = false } = inputs;
  const { lastSentAt, lastError, failureRate, failureTrend } = inputs.recent;
  const hasManyDeadLetters = (stats?.failed.entries ?? 0) > MANY_DEAD_LETTERS;
  const isDegraded = paused || isStuck || breaker.state === "half_open" || hasManyDeadLetters;
  return {
    id,
    state: breaker.state === "open" ? "DOWN" : isDegraded ? "DEGRADED" : "UP",
    paused,
    breaker,
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
