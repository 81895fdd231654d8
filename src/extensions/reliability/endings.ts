import {
  type AttemptError,
  type Batch,
  type Clock,
  type Logger,
  limitedLog,
  type PartialRejection,
} from "../../plugin.js";
import { withFailure } from "./attempt-record.js";
import type { Backlog } from "./backlog.js";
import { canBisect, halvesOf } from "./bisect.js";
import type { DeadLetterWriter } from "./dead-letter-writer.js";
import type { Item, Verdict } from "./item.js";
import type { QueueMetrics } from "./metrics.js";
import { categoryOf } from "./poison.js";
import { isGone, type QueueStore, type StoredEntry } from "./store/store.js";
import { droppedByConfig, gaveUp, lostToDamage, partialSuccess } from "./verdicts.js";

/** How long to wait before the store is asked again after it failed. */
export const STORE_RETRY_MS = 5000;

export interface EndingsParts {
  readonly store: QueueStore;
  readonly backlog: Backlog;
  readonly deadLetters: DeadLetterWriter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly logStoreTrouble: (error: unknown) => void;
  /** The item is being dealt with: it takes one of the places of calls. */
  readonly hold: () => void;
  /** It does not any more; it stays in the queue. */
  readonly onLeft: (item: Item) => void;
  /** It is not pending any more; what is in its place. */
  readonly onEnded: (item: Item, parts: readonly StoredEntry[]) => void;
}

/**
 * Sees entries to their end: delivered, given up as a dead letter, dropped, or replaced by their parts. The item of every
 * method holds a place, but that of `giveUpInPassing`; each lets go of it once, now or later. Nothing here rejects.
 */
export class Endings {
  private readonly parts: EndingsParts;
  private readonly logPartial: (partial: PartialRejection) => void;

  constructor(parts: EndingsParts) {
    this.parts = parts;
    this.logPartial = limitedLog(parts.clock, (partial, suppressed) =>
      parts.logger.warn({ ...partial, suppressed }, "the other side rejected some records"),
    );
  }

  taken(item: Item, sent: Batch, partial: PartialRejection | undefined): void {
    const { store, metrics, backlog, onEnded } = this.parts;
    backlog.families.delivered(item);
    const rejected = partial?.rejected ?? 0;
    metrics.sent[sent.signal].add(sent.count - rejected);
    if (partial !== undefined) this.logPartial(partial);
    if (partial !== undefined && rejected > 0) return this.partlyTaken(item, partial, rejected);
    store.ack(item.ref);
    item.delivery?.accept();
    onEnded(item, NO_PARTS);
  }

  /** Refused for good: only the bad records of it, if they can be found, and otherwise all of it. */
  refused(item: Item, batch: Batch, error: AttemptError): void {
    const { families } = this.parts.backlog;
    const verdict: Verdict = { reason: "permanent", category: categoryOf(error), error };
    if (item.entry.parent === undefined && !canBisect(item.entry, error)) return this.giveUp(item, verdict);
    if (families.refused(item)) {
      for (const part of families.takeRest(item)) this.giveUpInPassing(part, verdict);
      this.giveUp(item, verdict);
    } else if (canBisect(item.entry, error)) this.takeApart(item, batch, verdict);
    else this.giveUp(item, verdict);
  }

  giveUp(item: Item, verdict: Verdict, lost?: number): void {
    void this.giveUpWhenWritten(item, verdict, lost);
  }

  giveUpInPassing(item: Item, verdict: Verdict): Promise<void> {
    this.parts.hold();
    return this.giveUpWhenWritten(item, verdict);
  }

  drop(item: Item): void {
    const { store, metrics, logger, onEnded } = this.parts;
    const { id, items, signal, attempts } = item.entry;
    metrics.dropped.add(1);
    metrics.sendFailed[signal].add(items);
    logger.warn({ id, items, attempts }, "dropped: over the rate limit of retries (on_excess: drop)");
    store.ack(item.ref);
    item.delivery?.refuse(droppedByConfig(item));
    onEnded(item, NO_PARTS);
  }

  unreadable(item: Item, cause: unknown): void {
    const { deadLetters, onEnded } = this.parts;
    if (!isGone(cause)) return this.tryAgainLater(item, cause);
    deadLetters.unreadable(item.entry, cause);
    item.delivery?.refuse(lostToDamage());
    onEnded(item, NO_PARTS);
  }

  /** Which records were rejected is not known, so the whole batch is kept, marked as one that was mostly taken. */
  private partlyTaken(item: Item, partial: PartialRejection, rejected: number): void {
    const { metrics, clock } = this.parts;
    const error = partialSuccess(item.entry, partial, rejected);
    metrics.partialSuccess.add(1);
    item.entry = withFailure(item.entry, error, clock.now(), true);
    item.delivery?.accept({ rejected, message: partial.message });
    this.giveUp(item, { reason: "partial_success", category: "schema", error }, rejected);
  }

  private takeApart(item: Item, batch: Batch, verdict: Verdict): void {
    const { store, metrics, backlog, onEnded } = this.parts;
    const halves = halvesOf(item.entry, batch);
    if (halves.length < 2) return this.giveUp(item, verdict);
    store.replace(item.ref, halves).then(
      (stored) => {
        metrics.bisections.add(1);
        const parts = stored.map((part, i) => ({ stored: part, batch: halves[i]!.batch }));
        backlog.replaced(item, parts);
        onEnded(item, stored);
      },
      (error: unknown) => (isGone(error) ? this.takenApartBefore(item) : this.tryAgainLater(item, error)),
    );
  }

  /** By a write that was said to have failed: its parts are found when the store is read again. */
  private takenApartBefore(item: Item): void {
    item.delivery?.refuse(lostToDamage());
    this.parts.onEnded(item, NO_PARTS);
  }

  private async giveUpWhenWritten(item: Item, verdict: Verdict, lost?: number): Promise<void> {
    const { deadLetters, backlog, onLeft, onEnded } = this.parts;
    const written = await deadLetters.give(item, verdict, lost);
    if (written === "unwritten") {
      item.verdict = verdict;
      backlog.wait(item, STORE_RETRY_MS);
      return onLeft(item);
    }
    item.delivery?.refuse(written === "gone" ? lostToDamage() : gaveUp(item, verdict, written));
    onEnded(item, NO_PARTS);
  }

  private tryAgainLater(item: Item, error: unknown): void {
    const { backlog, logStoreTrouble, onLeft } = this.parts;
    logStoreTrouble(error);
    backlog.wait(item, STORE_RETRY_MS);
    onLeft(item);
  }
}

const NO_PARTS: readonly StoredEntry[] = [];
