import type { Clock, Logger } from "../../../plugin.js";
import type { CompleteSettings } from "../../../runtime/kit.js";
import type { QueueMetrics } from "../operate/queue-metrics.js";
import { Breaker } from "./breaker.js";
import type { RecentCalls } from "./recent-calls.js";

export interface BreakerObservers {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  /** Knows why it opened. */
  readonly recent: RecentCalls;
  readonly onClosed: () => void;
}

/** A breaker whose changes are counted and logged. */
export function createWatchedBreaker(
  settings: CompleteSettings["circuit_breaker"],
  observers: BreakerObservers,
): Breaker {
  const { clock, logger, metrics, recent, onClosed } = observers;
  const breaker = new Breaker(settings, clock, (to, from) => {
    if (to === "open") metrics.opened.add(1);
    if (to === "closed") {
      metrics.closed.add(1);
      onClosed();
    }
    const error = recent.lastError?.error;
    const why = to === "open" && error !== undefined ? { error: error.class, message: error.message } : {};
    const level = to === "open" ? "warn" : "info";
    logger[level]({ from, to, forced: breaker.forced, ...why }, `circuit breaker: ${to.replace("_", " ")}`);
  });
  return breaker;
}
