import {
  type AttemptError,
  type Batch,
  type Clock,
  type CompleteSettings,
  type Logger,
  limitedLog,
} from "../../plugin.js";
import { withDelay, withFailure, withRefusal } from "./attempt-record.js";
import type { Backlog } from "./backlog.js";
import { type Backoff, createBackoff } from "./backoff.js";
import type { Breaker, Permit } from "./breaker.js";
import type { CallOutcome } from "./caller.js";
import type { Endings } from "./endings.js";
import type { Item } from "./item.js";
import type { QueueMetrics } from "./metrics.js";
import { categoryOf, PoisonWatch } from "./poison.js";
import type { RecentCalls } from "./recent-calls.js";
import type { QueueStore } from "./store/store.js";

export interface ResultsParts {
  readonly settings: CompleteSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly store: QueueStore;
  readonly metrics: QueueMetrics;
  readonly breaker: Breaker;
  readonly recent: RecentCalls;
  readonly backlog: Backlog;
  readonly endings: Endings;
  /** The item waits for a retry: it takes no place among the calls any more. */
  readonly onLeft: (item: Item) => void;
}

/**
 * Draws the conclusions from calls: tells the breaker, notes the attempt on the entry, and decides whether the entry is
 * at its end or is tried again, and when.
 */
export class Results {
  private readonly parts: ResultsParts;
  private readonly backoff: Backoff;
  private readonly poison: PoisonWatch;
  private readonly logRetry: (what: { readonly error: AttemptError; readonly delay: number }) => void;

  constructor(parts: ResultsParts) {
    this.parts = parts;
    this.logRetry = limitedLog(parts.clock, ({ error, delay }, suppressed) => {
      const told = { error: error.class, message: error.message, retryInMs: Math.round(delay), suppressed };
      parts.logger.warn(told, "sending failed; it stays in the queue and is tried again");
    });
    this.backoff = createBackoff(parts.settings.retry_on_failure, parts.random);
    this.poison = new PoisonWatch(parts.clock);
  }

  called(item: Item, permit: Permit, outcome: CallOutcome): void {
    const { breaker, recent, endings, clock } = this.parts;
    if (outcome.kind === "failed") return this.failed(item, outcome.batch, permit, outcome.error);
    if (outcome.kind === "taken") {
      breaker.settle(permit, "success");
      this.poison.succeeded();
      recent.sent();
      return endings.taken(item, outcome.sent, outcome.partial);
    }
    breaker.settle(permit, "cancelled");
    if (outcome.kind === "unreadable") return endings.unreadable(item, outcome.cause);
    item.entry = withRefusal(item.entry, outcome.error, clock.now());
    endings.refused(item, outcome.batch, outcome.error);
  }

  private failed(item: Item, batch: Batch, permit: Permit, error: AttemptError): void {
    const { breaker, recent, metrics, clock, endings } = this.parts;
    recent.failed(error);
    if (error.kind === "permanent") {
      breaker.settle(permit, "answered");
      metrics.permanent.add(1);
      item.entry = withFailure(item.entry, error, clock.now(), true);
      return endings.refused(item, batch, error);
    }
    const counts = breaker.settle(permit, "failure");
    const isPoison = this.poison.failed(item, error) && counts;
    item.failingSince ??= clock.monotonic();
    item.entry = withFailure(item.entry, error, clock.now(), counts);
    const category = categoryOf(error);
    if (counts && this.isExhausted(item)) endings.giveUp(item, { reason: "retry_exhausted", category, error });
    else if (isPoison) endings.giveUp(item, { reason: "poison", category, error });
    else this.retryLater(item, error);
  }

  private isExhausted({ entry, failingSince }: Item): boolean {
    const { enabled, max_retries, max_elapsed_time } = this.parts.settings.retry_on_failure;
    if (!enabled || entry.attempts > max_retries) return true;
    return max_elapsed_time > 0 && this.parts.clock.monotonic() - failingSince! >= max_elapsed_time;
  }

  private retryLater(item: Item, error: AttemptError): void {
    const { store, backlog, breaker, onLeft } = this.parts;
    const delay = this.backoff(Math.max(1, item.entry.attempts), error.retryAfterMs);
    // Of a breaker that is open, or was opened by this, the log has been told.
    if (breaker.state === "closed") this.logRetry({ error, delay });
    item.entry = withDelay(item.entry, delay);
    store.update(item.ref, item.entry);
    backlog.retryIn(item, delay);
    onLeft(item);
  }
}
