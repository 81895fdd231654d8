import type { AttemptError } from "#contract/operations";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import type { Breaker } from "./breaker.js";
import type { FailurePolicy } from "./failure-policy.js";
import type { Permit } from "./policy.js";
import type { RecentCalls } from "./recent-calls.js";

interface HealthChecksServices {
  readonly metrics: QueueMetrics;
  /** Whether the exporter has a health check, so that a probe needs no entry. */
  readonly canCheckHealth: boolean;
  /** Whether no entry is pending. Then only a health check can tell whether the backend works again. */
  readonly isEmpty: () => boolean;
  readonly breaker: Breaker;
  readonly recent: RecentCalls;
  readonly failures: FailurePolicy;
}

/**
 * Decides when the breaker probes with the exporter's health check, and what its result means. A healthy exporter may
 * still refuse data. So while entries wait, they decide the breaker's state, and the health check decides only if there
 * are none. A check answered with an error such as 500 does not stop entries from being tried.
 */
export class HealthChecks {
  private readonly services: HealthChecksServices;
  /** The breaker's epoch in which a health check succeeded. In this epoch, the next probes send entries. */
  private healthyEpoch: number | undefined;

  constructor(services: HealthChecksServices) {
    this.services = services;
  }

  /** Whether a probe in this epoch of the breaker calls the exporter's health check instead of sending an entry. */
  probesIn(epoch: number): boolean {
    return this.services.canCheckHealth && (epoch !== this.healthyEpoch || this.services.isEmpty());
  }

  /** Whether a health check is needed, even if there is nothing to send. */
  get isWanted(): boolean {
    const { state, forced, currentEpoch } = this.services.breaker;
    return state !== "closed" && !forced && this.probesIn(currentEpoch);
  }

  /** To be called with the result of a health check that was a probe. */
  ended(permit: Permit, error: AttemptError | undefined, isCancelled: boolean): void {
    const { breaker, recent, isEmpty } = this.services;
    const isHealthy = error === undefined;
    this.count(isHealthy);
    if (!isHealthy && !isCancelled) recent.setLastError(error);
    const hasAnswered = isHealthy || (error.status !== undefined && error.blame === "entry");
    if (hasAnswered) this.healthyEpoch = permit.epoch;
    const isConclusive = !hasAnswered || isEmpty();
    const result = isHealthy ? "success" : "failure";
    breaker.report(permit, isCancelled || !isConclusive ? "cancelled" : result);
  }

  /** Counts a health check. The breaker does not depend on one that was made beside the calls. */
  count(isHealthy: boolean): void {
    this.services.metrics.healthChecked(isHealthy);
    if (isHealthy) this.services.failures.checkSucceeded();
  }
}
