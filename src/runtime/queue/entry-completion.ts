import type { Clock, Logger } from "#contract";
import type { AttemptError, Entry, ReplayEnd } from "#contract/operations";
import type { Batch } from "#otlp";
import type { RecentIds } from "./admit/keyed-entries.js";
import type { DeadLetterWriter, WriteOutcome } from "./dead-letters/dead-letter-writer.js";
import type { ForwardMarks } from "./dead-letters/forward-marks.js";
import type { EntryEnd, EntryOutcome } from "./entry/outcome.js";
import { deadLetteredRefusal, droppedRefusal, lostRefusal } from "./entry/queue-errors.js";
import type { DeadLetterCause, QueueItem } from "./entry/queue-item.js";
import type { QueueMetrics } from "./entry/queue-metrics.js";
import type { ReplayTracker } from "./records/replay-tracker.js";
import type { Backlog } from "./schedule/backlog.js";
import { partsOf, undeliveredShares } from "./send/bisect.js";
import { isEntryGone, type QueueStore } from "./store/store.js";

interface EntryCompletionServices {
  readonly clock: Clock;
  readonly store: QueueStore;
  readonly backlog: Backlog;
  readonly deadLetters: DeadLetterWriter;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly logStoreError: (error: unknown) => void;
  /** Notified of how replayed entries end. */
  readonly tracker?: Pick<ReplayTracker, "split" | "ended"> | undefined;
  /** Notified of how forwarded copies of other exporters' dead letters end. */
  readonly forwardMarks?: ForwardMarks | undefined;
  /** Remembers delivered entries of watched messages. */
  readonly delivered: RecentIds;
}

const PENDING: EntryEnd = { isPending: true };
const GONE: EntryEnd = { isPending: false, parts: [] };

type Completed = EntryEnd | Promise<EntryEnd>;

/**
 * Carries out outcomes: writes them to the store, answers the waiting client, counts, and puts entries that stay
 * pending back into the backlog. Returns the entry's end, synchronously unless the store must be awaited. The promise
 * never rejects.
 */
export class EntryCompletion {
  private readonly services: EntryCompletionServices;

  constructor(services: EntryCompletionServices) {
    this.services = services;
  }

  complete(item: QueueItem, outcome: EntryOutcome): Completed {
    switch (outcome.kind) {
      case "delivered":
        return this.delivered(item, outcome.sent);
      case "partly_delivered":
        return this.partlyDelivered(item, outcome);
      case "retry":
        return this.retry(item, outcome.delayMs);
      case "dead_letter":
      case "end_bisection":
        return this.deadLetter(item, outcome.cause);
      case "bisect":
        return this.bisect(item, outcome);
      case "divide":
        return this.divide(item, outcome);
      case "drop":
        return this.drop(item);
      case "unreadable":
        return this.unreadable(item, outcome.cause);
      case "cancelled":
        return PENDING;
    }
  }

  private delivered(item: QueueItem, sent: Batch): EntryEnd {
    const { metrics, clock } = this.services;
    metrics.sent[sent.signal].add(sent.count);
    if (item.entry.source.queue !== undefined) metrics.messages.delivered(item.entry, clock.now(), item.sentAt);
    this.services.store.ack(item.ref);
    this.noteEnd(item, "delivered");
    if (item.entry.source.message !== undefined) this.services.delivered.add(item.entry.id);
    report(item, { ...item.entry, calls: item.entry.calls + 1 });
    if (item.entry.forwardOf !== undefined) this.services.forwardMarks?.delivered(item.entry);
    item.delivery?.accept();
    return GONE;
  }

  private partlyDelivered(item: QueueItem, outcome: Extract<EntryOutcome, { kind: "partly_delivered" }>): Completed {
    const { sent, partial, rejected, cause } = outcome;
    this.services.metrics.sent[sent.signal].add(sent.count - rejected);
    // The source of a watched message learns only that a part of it is a dead letter.
    if (item.delivery?.origin.watch === undefined) item.delivery?.accept(partial);
    return this.deadLetter(item, cause);
  }

  private retry(item: QueueItem, delayMs: number): EntryEnd {
    this.services.store.update(item.ref, item.entry);
    this.services.metrics.messages.retried(item.entry);
    this.services.backlog.retryIn(item, delayMs);
    this.services.metrics.retryScheduled(delayMs);
    return PENDING;
  }

  private async deadLetter(item: QueueItem, cause: DeadLetterCause): Promise<EntryEnd> {
    const { deadLetters, backlog } = this.services;
    const written = await (item.entry.forwardOf === undefined
      ? deadLetters.write(item, cause)
      : this.endCopy(item, cause));
    if (written === "unwritten") {
      item.deadLetterCause = cause;
      backlog.delayForStore(item);
      return PENDING;
    }
    this.noteEnd(item, written === "saved" ? "failed_again" : "dropped", cause.error);
    report(item, item.entry, cause.error);
    item.delivery?.refuse(written === "gone" ? lostRefusal() : deadLetteredRefusal(item, cause, written));
    return GONE;
  }

  /**
   * A forwarded copy of another exporter's dead letter becomes no dead letter itself, unless the original is not known.
   */
  private async endCopy(item: QueueItem, cause: DeadLetterCause): Promise<WriteOutcome> {
    const { forwardMarks, store, metrics, logger, deadLetters } = this.services;
    const { id, forwardOf, items, signal } = item.entry;
    try {
      if (!(await forwardMarks?.failed(item.entry, cause.error))) return await deadLetters.write(item, cause);
      store.ack(item.ref);
      metrics.forwardFailed.add(1);
      metrics.sendFailed[signal].add(cause.lost ?? items);
      const details = { id, deadLetter: forwardOf!.id, of: forwardOf!.exporter, error: cause.error.class };
      logger.warn(
        { ...details, message: cause.error.message },
        "a dead letter could not be forwarded; it is still kept",
      );
      return "discarded";
    } catch (error) {
      this.services.logStoreError(error);
      return "unwritten";
    }
  }

  private bisect(item: QueueItem, { batch, sizes, cause }: Extract<EntryOutcome, { kind: "bisect" }>): Completed {
    const { store, metrics, backlog } = this.services;
    const made = partsOf(item.entry, batch, sizes);
    if (made.length < 2) return this.deadLetter(item, cause);
    return store.replace(item.ref, made).then(
      (parts) => {
        metrics.bisections.add(1);
        if (item.entry.replays > 0) this.services.tracker?.split(item.entry, parts.length);
        backlog.replaceWithParts(
          item,
          parts.map((stored, i) => ({ stored, batch: made[i]!.batch })),
        );
        return { isPending: false, parts };
      },
      // A write reported as failed may still have happened. Then the parts are found when the store is read again.
      (error: unknown) => (isEntryGone(error) ? this.lost(item) : this.retryStore(item, error)),
    );
  }

  private divide(item: QueueItem, { batch, marks, delayMs }: Extract<EntryOutcome, { kind: "divide" }>): Completed {
    const { store, metrics, backlog } = this.services;
    const { entry } = item;
    const shares = undeliveredShares(entry, batch, marks);
    return store.replace(item.ref, shares).then(
      (parts) => {
        const left = shares.reduce((sum, share) => sum + share.batch.count, 0);
        metrics.sent[batch.signal].add(batch.count - left);
        if (entry.replays > 0) this.services.tracker?.split(entry, parts.length);
        const placed = parts.map((stored, i) => ({ stored, batch: shares[i]!.batch }));
        backlog.replaceWithShares(item, placed, delayMs);
        metrics.retryScheduled(delayMs);
        return { isPending: false, parts };
      },
      (error: unknown) => (isEntryGone(error) ? this.lost(item) : this.retryStore(item, error)),
    );
  }

  private drop(item: QueueItem): EntryEnd {
    const { store, metrics, logger } = this.services;
    const { id, items, signal, attempts } = item.entry;
    metrics.dropped.add(1);
    metrics.sendFailed[signal].add(items);
    logger.warn({ id, items, attempts }, "dropped: over the rate limit of retries (on_excess: drop)");
    store.ack(item.ref);
    this.noteEnd(item, "dropped");
    report(item, item.entry, item.entry.lastError);
    item.delivery?.refuse(droppedRefusal(item));
    return GONE;
  }

  private unreadable(item: QueueItem, cause: unknown): EntryEnd {
    if (!isEntryGone(cause)) return this.retryStore(item, cause);
    this.services.deadLetters.reportUnreadable(item.entry, cause);
    return this.lost(item);
  }

  private noteEnd({ entry }: QueueItem, end: ReplayEnd, error?: AttemptError): void {
    if (entry.replays > 0) this.services.tracker?.ended(entry, end, error);
  }

  private lost(item: QueueItem): EntryEnd {
    this.noteEnd(item, "dropped");
    item.delivery?.refuse(lostRefusal());
    return GONE;
  }

  private retryStore(item: QueueItem, error: unknown): EntryEnd {
    this.services.logStoreError(error);
    this.services.backlog.delayForStore(item);
    return PENDING;
  }
}

/** Tells who watches the message of an entry about its end, before the outcome. */
function report({ delivery }: QueueItem, entry: Entry, error?: AttemptError): void {
  delivery?.origin.watch?.report(entry, error);
}
