import {
  type Batch,
  type Clock,
  type FailureReason,
  type Logger,
  limitedLog,
  type PartialRejection,
} from "../../../plugin.js";
import type { AttemptError, CompleteSettings } from "../../../runtime/kit.js";
import type { DeadLetterOutcome, EntryOutcome } from "../entry/outcome.js";
import { BREAKER_OPEN, partialSuccessError } from "../entry/queue-errors.js";
import { type DeadLetterCause, type QueueItem, withDelay, withFailure, withRefusal } from "../entry/queue-item.js";
import type { QueueMetrics } from "../operate/queue-metrics.js";
import { type Backoff, createBackoff } from "../schedule/backoff.js";
import { Gate } from "../schedule/gate.js";
import { Ramp } from "../schedule/ramp.js";
import type { AttemptResult } from "./attempt-sender.js";
import { type Bisections, canBisect } from "./bisect.js";
import { Breaker, type BreakerState, type Permit } from "./breaker.js";
import { errorCategory } from "./classify.js";
import { PoisonDetector } from "./poison-detector.js";
import { RecentCalls } from "./recent-calls.js";

export interface AttemptPolicyServices {
  readonly settings: CompleteSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly bisections: Bisections;
  /** The exporter can be asked how it is, so no entry is needed for a probe. */
  readonly canCheckHealth: boolean;
}

/** Why no call may be made at the moment. */
export interface Hold {
  /** Milliseconds until it is worth asking again; undefined when a result, or an operator, decides that. */
  readonly waitMs: number | undefined;
  /** Entries do not wait for the breaker to close: they become dead letters, with `rejection`. */
  readonly rejects: boolean;
}

/**
 * Where ramp, breaker, retry limit, backoff, poison detection and bisection meet. They answer three questions: may a call
 * be made now (`acquire`), may this entry be sent now (`gate`), and what follows from the result of its call (`decide`).
 * Nothing is carried out here: the answers are values.
 */
export class AttemptPolicy {
  readonly breaker: Breaker;
  readonly gate: Gate;
  readonly recent: RecentCalls;
  private readonly services: AttemptPolicyServices;
  private readonly ramp: Ramp;
  private readonly backoff: Backoff;
  private readonly poison: PoisonDetector;
  private readonly logRetry: (what: { readonly error: AttemptError; readonly delayMs: number }) => void;

  constructor(services: AttemptPolicyServices) {
    this.services = services;
    const { settings, clock, random, logger, metrics } = services;
    this.recent = new RecentCalls(clock);
    this.ramp = new Ramp(settings.replay.ramp, clock);
    this.breaker = new Breaker(settings.circuit_breaker, clock, (to, from) => this.onBreakerChange(to, from));
    this.gate = new Gate(settings, clock, metrics);
    this.backoff = createBackoff(settings.retry_on_failure, random);
    this.poison = new PoisonDetector(clock);
    this.logRetry = limitedLog(clock, ({ error, delayMs }, suppressed) => {
      const details = { error: error.class, message: error.message, retryInMs: Math.round(delayMs), suppressed };
      logger.warn(details, "sending failed; it stays in the queue and is tried again");
    });
  }

  /** The queue has been opened; so many entries are left from before. */
  onOpened(entries: number): void {
    this.ramp.startWithBacklog(entries);
  }

  /** The right to make one call now, which ends with `decide`, `reportHealth` or `giveBack`. */
  acquire(): Permit | Hold {
    const rampMs = this.ramp.waitMs();
    if (rampMs > 0) return { waitMs: rampMs, rejects: false };
    const permit = this.breaker.acquire();
    if (permit !== undefined) return permit;
    const rejects = this.services.settings.circuit_breaker.on_open === "dead_letter" && this.breaker.state === "open";
    return { waitMs: this.breaker.waitMs, rejects };
  }

  /** No call was made. */
  giveBack(permit: Permit): void {
    this.breaker.report(permit, "cancelled");
  }

  /** A probe with this permit asks the exporter how it is, instead of sending an entry. */
  isHealthCheck({ probe }: Permit): boolean {
    return probe && this.services.canCheckHealth;
  }

  /** The exporter is to be asked how it is, also when there is nothing to send. */
  get wantsHealthCheck(): boolean {
    return this.services.canCheckHealth && this.breaker.state !== "closed" && !this.breaker.forced;
  }

  reportHealth(permit: Permit, isHealthy: boolean, isCancelled: boolean): void {
    this.services.metrics.healthChecked(isHealthy);
    this.breaker.report(permit, isCancelled ? "cancelled" : isHealthy ? "success" : "failure");
  }

  /** An entry comes into the queue. */
  countArrival(): void {
    if (this.breaker.state === "open") this.services.metrics.rejected.add(1);
  }

  /** What becomes of an entry that met an open breaker and must not wait for it. */
  rejection(): DeadLetterOutcome {
    this.services.metrics.rejected.add(1);
    const error = this.recent.lastError?.error ?? BREAKER_OPEN;
    return deadLetter("circuit_open", error);
  }

  /** A call is made for the item. */
  countAttempt(item: QueueItem): void {
    item.hasRetryTurn = false;
    this.ramp.countRequest(item.entry.enqueuedAt);
    if (item.entry.calls > 0) this.services.metrics.retried(item.entry.calls);
  }

  /** What follows from the result of a call; the breaker is told, and the attempt is noted on the item's entry. */
  decide(item: QueueItem, permit: Permit, result: AttemptResult): EntryOutcome {
    if (result.kind === "delivered") {
      this.breaker.report(permit, "success");
      this.poison.succeeded();
      this.recent.sent();
      this.services.bisections.delivered(item);
      const rejected = result.partial?.rejected ?? 0;
      return rejected > 0 ? this.partlyDelivered(item, result.sent, result.partial!, rejected) : result;
    }
    if (result.kind === "failed") return this.failed(item, permit, result.batch, result.error);
    this.breaker.report(permit, "cancelled");
    if (result.kind !== "unfit") return result;
    item.entry = withRefusal(item.entry, result.error, this.services.clock.now());
    return this.refused(item, result.batch, result.error);
  }

  /** Which records were rejected is not known, so the whole batch is kept, marked as one that was mostly taken. */
  private partlyDelivered(item: QueueItem, sent: Batch, partial: PartialRejection, rejected: number): EntryOutcome {
    const error = partialSuccessError(item.entry, partial, rejected);
    item.entry = withFailure(item.entry, error, this.services.clock.now(), true);
    const cause: DeadLetterCause = { reason: "partial_success", category: "schema", error, lost: rejected };
    return { kind: "partly_delivered", sent, partial, rejected, cause };
  }

  private failed(item: QueueItem, permit: Permit, batch: Batch, error: AttemptError): EntryOutcome {
    const { metrics, clock } = this.services;
    this.recent.failed(error);
    if (error.kind === "permanent") {
      this.breaker.report(permit, "answered");
      metrics.permanent.add(1);
      item.entry = withFailure(item.entry, error, clock.now(), true);
      return this.refused(item, batch, error);
    }
    const counts = this.breaker.report(permit, "failure");
    const isPoison = this.poison.failed(item, error) && counts;
    item.failingSince ??= clock.monotonic();
    item.entry = withFailure(item.entry, error, clock.now(), counts);
    if (counts && this.isExhausted(item)) return deadLetter("retry_exhausted", error);
    return isPoison ? deadLetter("poison", error) : this.retry(item, error);
  }

  /** Refused for good: only the bad records of it, if they can be found, and otherwise all of it. */
  private refused(item: QueueItem, batch: Batch, error: AttemptError): EntryOutcome {
    const isDivisible = canBisect(item.entry, error);
    const outcome = deadLetter("permanent", error);
    if (item.entry.parent === undefined && !isDivisible) return outcome;
    if (this.services.bisections.refused(item)) return { kind: "end_bisection", cause: outcome.cause };
    return isDivisible ? { kind: "bisect", batch, cause: outcome.cause } : outcome;
  }

  private isExhausted({ entry, failingSince }: QueueItem): boolean {
    const { enabled, max_retries, max_elapsed_time } = this.services.settings.retry_on_failure;
    if (!enabled || entry.attempts > max_retries) return true;
    return max_elapsed_time > 0 && this.services.clock.monotonic() - failingSince! >= max_elapsed_time;
  }

  private retry(item: QueueItem, error: AttemptError): EntryOutcome {
    const delayMs = this.backoff(Math.max(1, item.entry.attempts), error.retryAfterMs);
    // Of a breaker that is open, or was opened by this, the log has been told.
    if (this.breaker.state === "closed") this.logRetry({ error, delayMs });
    item.entry = withDelay(item.entry, delayMs);
    return { kind: "retry", delayMs };
  }

  private onBreakerChange(to: BreakerState, from: BreakerState): void {
    const { metrics, logger } = this.services;
    if (to === "open") metrics.opened.add(1);
    if (to === "closed") {
      metrics.closed.add(1);
      this.ramp.start();
    }
    const error = this.recent.lastError?.error;
    const why = to === "open" && error !== undefined ? { error: error.class, message: error.message } : {};
    const level = to === "open" ? "warn" : "info";
    logger[level]({ from, to, forced: this.breaker.forced, ...why }, `circuit breaker: ${to.replace("_", " ")}`);
  }
}

function deadLetter(reason: FailureReason, error: AttemptError): DeadLetterOutcome {
  return { kind: "dead_letter", cause: { reason, category: errorCategory(error), error } };
}
