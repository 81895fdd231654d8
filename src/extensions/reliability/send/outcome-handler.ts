import { type Batch, type Clock, type Logger, limitedLog } from "../../../plugin.js";
import type { AttemptError, CompleteSettings } from "../../../runtime/kit.js";
import { withDelay, withFailure, withRefusal } from "../entry/attempt-record.js";
import type { QueueItem } from "../entry/queue-item.js";
import type { QueueMetrics } from "../operate/queue-metrics.js";
import type { Backlog } from "../schedule/backlog.js";
import { type Backoff, createBackoff } from "../schedule/backoff.js";
import type { QueueStore } from "../store/store.js";
import type { AttemptOutcome } from "./attempt-sender.js";
import type { Breaker, Permit } from "./breaker.js";
import type { EntryCompletion } from "./entry-completion.js";
import { errorCategory, PoisonDetector } from "./poison-detector.js";
import type { RecentCalls } from "./recent-calls.js";

export interface OutcomeHandlerServices {
  readonly settings: CompleteSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly store: QueueStore;
  readonly metrics: QueueMetrics;
  readonly breaker: Breaker;
  readonly recent: RecentCalls;
  readonly backlog: Backlog;
  readonly completion: EntryCompletion;
  /** The item waits for a retry: it takes no place among the calls any more. */
  readonly onWaiting: (item: QueueItem) => void;
}

/**
 * Draws the conclusions from calls: tells the breaker, notes the attempt on the entry, and decides whether the entry is
 * at its end or is tried again, and when.
 */
export class OutcomeHandler {
  private readonly services: OutcomeHandlerServices;
  private readonly backoff: Backoff;
  private readonly poison: PoisonDetector;
  private readonly logRetry: (what: { readonly error: AttemptError; readonly delay: number }) => void;

  constructor(services: OutcomeHandlerServices) {
    this.services = services;
    this.logRetry = limitedLog(services.clock, ({ error, delay }, suppressed) => {
      const details = { error: error.class, message: error.message, retryInMs: Math.round(delay), suppressed };
      services.logger.warn(details, "sending failed; it stays in the queue and is tried again");
    });
    this.backoff = createBackoff(services.settings.retry_on_failure, services.random);
    this.poison = new PoisonDetector(services.clock);
  }

  handle(item: QueueItem, permit: Permit, outcome: AttemptOutcome): void {
    const { breaker, recent, completion, clock } = this.services;
    if (outcome.kind === "failed") return this.failed(item, outcome.batch, permit, outcome.error);
    if (outcome.kind === "taken") {
      breaker.report(permit, "success");
      this.poison.succeeded();
      recent.sent();
      return completion.delivered(item, outcome.sent, outcome.partial);
    }
    breaker.report(permit, "cancelled");
    if (outcome.kind === "unreadable") return completion.unreadable(item, outcome.cause);
    item.entry = withRefusal(item.entry, outcome.error, clock.now());
    completion.refused(item, outcome.batch, outcome.error);
  }

  private failed(item: QueueItem, batch: Batch, permit: Permit, error: AttemptError): void {
    const { breaker, recent, metrics, clock, completion } = this.services;
    recent.failed(error);
    if (error.kind === "permanent") {
      breaker.report(permit, "answered");
      metrics.permanent.add(1);
      item.entry = withFailure(item.entry, error, clock.now(), true);
      return completion.refused(item, batch, error);
    }
    const counts = breaker.report(permit, "failure");
    const isPoison = this.poison.failed(item, error) && counts;
    item.failingSince ??= clock.monotonic();
    item.entry = withFailure(item.entry, error, clock.now(), counts);
    const category = errorCategory(error);
    if (counts && this.isExhausted(item)) completion.deadLetter(item, { reason: "retry_exhausted", category, error });
    else if (isPoison) completion.deadLetter(item, { reason: "poison", category, error });
    else this.retryLater(item, error);
  }

  private isExhausted({ entry, failingSince }: QueueItem): boolean {
    const { enabled, max_retries, max_elapsed_time } = this.services.settings.retry_on_failure;
    if (!enabled || entry.attempts > max_retries) return true;
    return max_elapsed_time > 0 && this.services.clock.monotonic() - failingSince! >= max_elapsed_time;
  }

  private retryLater(item: QueueItem, error: AttemptError): void {
    const { store, backlog, breaker, onWaiting } = this.services;
    const delay = this.backoff(Math.max(1, item.entry.attempts), error.retryAfterMs);
    // Of a breaker that is open, or was opened by this, the log has been told.
    if (breaker.state === "closed") this.logRetry({ error, delay });
    item.entry = withDelay(item.entry, delay);
    store.update(item.ref, item.entry);
    backlog.retryIn(item, delay);
    onWaiting(item);
  }
}
