import { type Batch, type Clock, type Logger, limitedLog, type PartialRejection } from "../../../plugin.js";
import type { AttemptError } from "../../../runtime/kit.js";
import type { DeadLetterWriter } from "../dead-letters/dead-letter-writer.js";
import { withFailure } from "../entry/attempt-record.js";
import { deadLetteredRefusal, droppedRefusal, lostRefusal, partialSuccessError } from "../entry/queue-errors.js";
import type { DeadLetterCause, QueueItem } from "../entry/queue-item.js";
import type { QueueMetrics } from "../operate/queue-metrics.js";
import type { Backlog } from "../schedule/backlog.js";
import { isEntryGone, type QueueStore, type StoredEntry } from "../store/store.js";
import { canBisect, halvesOf } from "./bisect.js";
import { errorCategory } from "./poison-detector.js";

/** How long to wait before the store is asked again after it failed. */
export const STORE_RETRY_MS = 5000;

export interface EntryCompletionServices {
  readonly store: QueueStore;
  readonly backlog: Backlog;
  readonly deadLetters: DeadLetterWriter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly logStoreError: (error: unknown) => void;
  /** The item is being dealt with: it takes one of the slots for calls. */
  readonly acquireSlot: () => void;
  /** The item waits in the queue: it takes no slot any more. */
  readonly onWaiting: (item: QueueItem) => void;
  /** The item is not pending any more; `parts` are in its place. */
  readonly onEnded: (item: QueueItem, parts: readonly StoredEntry[]) => void;
}

/**
 * Sees entries to their end: delivered, dead-lettered, dropped, or replaced by their parts. The item of every
 * method holds a slot, but that of `deadLetterWithoutSending`; each releases it once, now or later. Nothing rejects.
 */
export class EntryCompletion {
  private readonly services: EntryCompletionServices;
  private readonly logPartial: (partial: PartialRejection) => void;

  constructor(services: EntryCompletionServices) {
    this.services = services;
    this.logPartial = limitedLog(services.clock, (partial, suppressed) =>
      services.logger.warn({ ...partial, suppressed }, "the other side rejected some records"),
    );
  }

  delivered(item: QueueItem, sent: Batch, partial: PartialRejection | undefined): void {
    const { store, metrics, backlog, onEnded } = this.services;
    backlog.bisections.delivered(item);
    const rejected = partial?.rejected ?? 0;
    metrics.sent[sent.signal].add(sent.count - rejected);
    if (partial !== undefined) this.logPartial(partial);
    if (partial !== undefined && rejected > 0) return this.partiallyDelivered(item, partial, rejected);
    store.ack(item.ref);
    item.delivery?.accept();
    onEnded(item, NO_PARTS);
  }

  /** Refused for good: only the bad records of it, if they can be found, and otherwise all of it. */
  refused(item: QueueItem, batch: Batch, error: AttemptError): void {
    const { bisections } = this.services.backlog;
    const cause: DeadLetterCause = { reason: "permanent", category: errorCategory(error), error };
    if (item.entry.parent === undefined && !canBisect(item.entry, error)) return this.deadLetter(item, cause);
    if (bisections.refused(item)) {
      for (const part of bisections.takeRemaining(item)) this.deadLetterWithoutSending(part, cause);
      this.deadLetter(item, cause);
    } else if (canBisect(item.entry, error)) this.bisect(item, batch, cause);
    else this.deadLetter(item, cause);
  }

  deadLetter(item: QueueItem, cause: DeadLetterCause, lost?: number): void {
    void this.writeDeadLetter(item, cause, lost);
  }

  deadLetterWithoutSending(item: QueueItem, cause: DeadLetterCause): Promise<void> {
    this.services.acquireSlot();
    return this.writeDeadLetter(item, cause);
  }

  drop(item: QueueItem): void {
    const { store, metrics, logger, onEnded } = this.services;
    const { id, items, signal, attempts } = item.entry;
    metrics.dropped.add(1);
    metrics.sendFailed[signal].add(items);
    logger.warn({ id, items, attempts }, "dropped: over the rate limit of retries (on_excess: drop)");
    store.ack(item.ref);
    item.delivery?.refuse(droppedRefusal(item));
    onEnded(item, NO_PARTS);
  }

  unreadable(item: QueueItem, cause: unknown): void {
    const { deadLetters, onEnded } = this.services;
    if (!isEntryGone(cause)) return this.retryAfterStoreError(item, cause);
    deadLetters.reportUnreadable(item.entry, cause);
    item.delivery?.refuse(lostRefusal());
    onEnded(item, NO_PARTS);
  }

  /** Which records were rejected is not known, so the whole batch is kept, marked as one that was mostly taken. */
  private partiallyDelivered(item: QueueItem, partial: PartialRejection, rejected: number): void {
    const { metrics, clock } = this.services;
    const error = partialSuccessError(item.entry, partial, rejected);
    metrics.partialSuccess.add(1);
    item.entry = withFailure(item.entry, error, clock.now(), true);
    item.delivery?.accept({ rejected, message: partial.message });
    this.deadLetter(item, { reason: "partial_success", category: "schema", error }, rejected);
  }

  private bisect(item: QueueItem, batch: Batch, cause: DeadLetterCause): void {
    const { store, metrics, backlog, onEnded } = this.services;
    const halves = halvesOf(item.entry, batch);
    if (halves.length < 2) return this.deadLetter(item, cause);
    store.replace(item.ref, halves).then(
      (stored) => {
        metrics.bisections.add(1);
        const parts = stored.map((part, i) => ({ stored: part, batch: halves[i]!.batch }));
        backlog.replaceWithParts(item, parts);
        onEnded(item, stored);
      },
      (error: unknown) => (isEntryGone(error) ? this.alreadyBisected(item) : this.retryAfterStoreError(item, error)),
    );
  }

  /** A write that was said to have failed did bisect the entry: its parts are found when the store is read again. */
  private alreadyBisected(item: QueueItem): void {
    item.delivery?.refuse(lostRefusal());
    this.services.onEnded(item, NO_PARTS);
  }

  private async writeDeadLetter(item: QueueItem, cause: DeadLetterCause, lost?: number): Promise<void> {
    const { deadLetters, backlog, onWaiting, onEnded } = this.services;
    const written = await deadLetters.write(item, cause, lost);
    if (written === "unwritten") {
      item.deadLetterCause = cause;
      backlog.delay(item, STORE_RETRY_MS);
      return onWaiting(item);
    }
    item.delivery?.refuse(written === "gone" ? lostRefusal() : deadLetteredRefusal(item, cause, written));
    onEnded(item, NO_PARTS);
  }

  private retryAfterStoreError(item: QueueItem, error: unknown): void {
    const { backlog, logStoreError, onWaiting } = this.services;
    logStoreError(error);
    backlog.delay(item, STORE_RETRY_MS);
    onWaiting(item);
  }
}

const NO_PARTS: readonly StoredEntry[] = [];
