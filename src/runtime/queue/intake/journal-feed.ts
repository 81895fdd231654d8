import {
  type Clock,
  Debt,
  Delivery,
  type Logger,
  limitedLog,
  type Outcome,
  type PartialRejection,
  possiblyRejected,
} from "#contract";
import { isKeyedEntryId } from "#contract/calls";
import type { Refusal } from "#contract/errors";
import type { AttemptError, Entry } from "#contract/operations";
import type { ConfigNow, EntrySettlement } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import { SliceTimer } from "#work";
import type { AdmittedEntries } from "../admit/admission.js";
import type { DeadLetterWriter } from "../dead-letters/dead-letter-writer.js";
import type { PrepareReplayed } from "../dead-letters/exporter-control.js";
import { clientOfEntry } from "../entry/client-metadata.js";
import { errorCategory, partialSuccessError } from "../entry/queue-errors.js";
import { type DeadLetterCause, type QueueItem, withDelay, withFailure } from "../entry/queue-item.js";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import type { DamageReporter } from "../operate/damage-reporter.js";
import { DelayQueue } from "../schedule/delay-queue.js";
import { QueueHead } from "../schedule/queue-head.js";
import { type Backoff, createBackoff, maxDelay } from "../send/backoff.js";
import { createClassifier } from "../send/classify.js";
import { RecentCalls } from "../send/recent-calls.js";
import type { Suspects } from "../send/suspects.js";
import { type EntryRef, isEntryGone, type QueueStore, STORE_RETRY_MS, type StoredEntry } from "../store/store.js";
import { ComponentFailures } from "./component-failures.js";
import { Window } from "./window.js";

interface JournalFeedServices {
  /** The journal's name for operators. */
  readonly id: string;
  readonly store: QueueStore;
  readonly settings: CompleteSettings;
  /** Finds the entry that kills the worker. */
  readonly suspects?: Suspects | undefined;
  /** Maximum number of bytes inside the pipeline. */
  readonly windowBytes: number;
  readonly releasesPayloads?: boolean;
  /** The signal of incoming data. Entries of another signal were made from it by a connector. */
  readonly signal: Signal;
  readonly consumer: (delivery: Delivery) => void;
  /** Identifies the config that the agent runs with. */
  readonly running: ConfigNow;
  /** Prepares entries that came under another config. */
  readonly prepare: PrepareReplayed;
  readonly deadLetters: DeadLetterWriter;
  /** Knows which records of an entry processors have settled. */
  readonly settlement: EntrySettlement;
  readonly metrics: Pick<QueueMetrics, "sent">;
  readonly damageReporter: DamageReporter;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Called when an entry has left the journal. */
  readonly onRemoved: (entry: Entry) => void;
  /** Called when damaged entries were found while reading others. */
  readonly onDamaged: () => void;
}

/** Maximum number of payload bytes kept in memory for entries that are not inside the pipeline yet. */
const AHEAD_BYTES = 8 * 1024 * 1024;
/** Entries that wait for a retry keep their place in the window, and the window limits their number. */
const MAX_WAITING = 1_000_000;
/** The journal is unhealthy if a full pipeline has settled nothing for this long. */
const STUCK_AFTER_MS = 60_000;

/** How long an entry is the only suspect if it is not settled. */
const ALONE_MS = 1000;

/**
 * Hands the entries of a journal to its pipeline in order, as many at a time as fit into the window, and completes each
 * according to its outcome.
 *
 * Invariants:
 * - An entry is in the store until it was accepted or became a dead letter. It is inside the pipeline at most once.
 * - If processors know that a part of an entry was taken, its dead letter has only the rest.
 * - An entry that the pipeline refuses temporarily keeps its place in the window until its retry. So a pipeline that
 *   refuses everything does not get the whole journal to refuse.
 */
export class JournalFeed implements AdmittedEntries {
  readonly recent: RecentCalls;
  /** The last entry that was handed on. */
  lastRef: EntryRef = 0;
  private readonly services: JournalFeedServices;
  private readonly head: QueueHead;
  private readonly waiting = new DelayQueue();
  private readonly backoff: Backoff;
  private readonly classify = createClassifier({ retry_on: [], permanent_on: [] });
  private readonly window: Window;
  private readonly componentFailures = new ComponentFailures();
  private isStarted = false;
  private isPaused = false;
  private isPumping = false;
  private cancelWake = () => {};
  private readonly logRefusal: (what: { readonly error: AttemptError; readonly delayMs: number }) => void;
  private readonly logStoreError: (error: unknown) => void;
  private readonly logPartial: (message: string) => void;

  constructor(services: JournalFeedServices) {
    this.services = services;
    const { store, clock, settings, windowBytes, random, logger } = services;
    this.recent = new RecentCalls(clock);
    this.window = new Window(windowBytes, clock);
    this.backoff = createBackoff(settings.retry_on_failure, random);
    const heldBytes = services.releasesPayloads === true ? 0 : windowBytes;
    const limits = { entries: 2048, waiting: MAX_WAITING, bytes: heldBytes + AHEAD_BYTES };
    const maxWaitMs = maxDelay(settings.retry_on_failure);
    this.head = new QueueHead(store, clock, { ...limits, maxWaitMs }, this.waiting, (error) => this.onLoaded(error));
    this.logRefusal = limitedLog(clock, ({ error, delayMs }, suppressed) => {
      const details = { error: error.class, message: error.message, retryInMs: Math.round(delayMs), suppressed };
      logger.warn(details, "the pipeline refused a delivery; it stays in the journal and is handed in again");
    });
    this.logStoreError = limitedLog(clock, (error, suppressed) =>
      logger.error({ err: error, suppressed }, "the journal cannot be read; will try again"),
    );
    this.logPartial = limitedLog(clock, (message, suppressed) =>
      logger.warn({ message, suppressed }, "an exporter rejected some records"),
    );
  }

  get isEmpty(): boolean {
    return this.head.isEmpty;
  }

  /** Number of entries that are inside the pipeline or wait for a retry. */
  get inFlight(): number {
    return this.window.size;
  }

  /** Whether no entry is inside the pipeline. Entries that wait for a retry are not. */
  get isSettled(): boolean {
    return this.window.size <= this.waiting.size;
  }

  /** Whether nothing gets through: the pipeline refuses everything, or it is full and has settled nothing for long. */
  get isStuck(): boolean {
    return this.recent.failureRate === 1 || this.window.stuckMs > STUCK_AFTER_MS;
  }

  get paused(): boolean {
    return this.isPaused;
  }

  /** Retries everything at once, because a restart may have fixed the problem. */
  start(): void {
    this.isStarted = true;
    this.head.retryNow();
    this.pump();
  }

  /** Hands on nothing more. Deliveries inside the pipeline may still be settled. */
  stop(): void {
    this.isStarted = false;
    this.cancelWake();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.pump();
  }

  add(stored: StoredEntry, batch: Batch): void {
    this.head.add(stored, batch, undefined);
    this.pump();
  }

  /**
   * Adds entries that replaced others, as already handed on. Entries that were read from the store meanwhile are
   * skipped, because they are handed on anyway.
   */
  addMade(made: readonly { readonly stored: StoredEntry; readonly batch: Batch }[]): Delivery[] {
    return made.flatMap(({ stored, batch }) => {
      if (this.head.has(stored)) return [];
      const item = this.head.addPart(stored, batch, undefined);
      this.lastRef = Math.max(this.lastRef, item.ref);
      this.window.add(item.ref, item.entry.bytes);
      return [this.deliveryOf(item, batch)];
    });
  }

  /** Always false: a full journal refuses new data and drops nothing. */
  async dropOldest(): Promise<boolean> {
    return false;
  }

  /** To be called when the store has pending entries that did not come through `add`. */
  rescan(): void {
    this.head.rescan();
    this.pump();
  }

  retryNow(): void {
    this.head.retryNow();
    this.pump();
  }

  /**
   * Hands on the entries that fit and sets the timer for the others. To be called when room, time or state has changed.
   * If the pipeline takes long for them, other work gets its turn in between.
   */
  private pump(): void {
    if (this.isPumping || !this.isStarted) return;
    this.isPumping = true;
    const slice = new SliceTimer();
    for (let item = this.next(); item !== undefined; item = this.next()) {
      this.handOn(item);
      if (slice.isOver)
        return void slice.nextSlice().then(() => {
          this.isPumping = false;
          this.pump();
        });
    }
    this.isPumping = false;
    if (!this.isStarted) return;
    this.setTimer();
    this.head.refill();
  }

  private next(): QueueItem | undefined {
    if (this.isPaused || !this.isStarted) return undefined;
    const retry = this.waiting.take(this.services.clock.monotonic());
    return retry ?? (this.window.isFull ? undefined : this.head.takeFirst());
  }

  private handOn(item: QueueItem): void {
    this.lastRef = Math.max(this.lastRef, item.ref);
    this.window.add(item.ref, item.entry.bytes);
    if (item.deadLetterCause !== undefined) void this.deadLetter(item, item.deadLetterCause);
    else if (item.batch !== undefined) this.deliver(item, item.batch);
    else {
      this.services.store.payload(item.ref).then(
        (batch) => this.deliver(item, batch),
        (cause: unknown) => this.onUnreadable(item, cause),
      );
    }
  }

  private deliver(item: QueueItem, stored: Batch): void {
    if (!this.isStarted) return;
    const { running, prepare } = this.services;
    const isCurrent = item.entry.generation === running.config.generation || this.isMade(item);
    const { batch, error } = isCurrent ? { batch: stored } : prepare(item.entry, stored);
    if (error !== undefined)
      return void this.deadLetter(item, { reason: "permanent", category: errorCategory(error), error });
    const delivery = this.deliveryOf(item, batch);
    if (this.services.releasesPayloads) this.head.releasePayload(item);
    const { suspects, id, consumer } = this.services;
    if (suspects?.isWatching(id)) suspects.run(id, item.entry.id, (done) => this.handOnAlone(delivery, done));
    else consumer(delivery);
  }

  /** A processor may hold the delivery for long, so others have their turn meanwhile. */
  private handOnAlone(delivery: Delivery, done: () => void): void {
    const { consumer, clock } = this.services;
    if (!this.isStarted) return done();
    const cancel = clock.after(ALONE_MS, done);
    consumer(
      delivery.observe(() => {
        cancel();
        done();
      }),
    );
  }

  /** Entries made from others carry a key, so that a queue can recognise duplicates. */
  private deliveryOf(item: QueueItem, batch: Batch): Delivery {
    const { id, source, enqueuedAt } = item.entry;
    const origin = {
      receiver: source.receiver,
      transport: source.transport,
      position: item.ref,
      ...(isKeyedEntryId(id) && { key: id }),
      ...(this.isMade(item) && { key: `${id}/${enqueuedAt}`, isOnce: true }),
      ...clientOfEntry(item.entry),
    };
    return new Delivery(batch, origin, new Debt((outcome) => this.settled(item, outcome)));
  }

  private isMade({ entry }: QueueItem): boolean {
    return entry.signal !== this.services.signal;
  }

  private settled(item: QueueItem, outcome: Outcome): void {
    if (outcome.ok) {
      this.recent.sent();
      if (outcome.message !== "") this.logPartial(outcome.message);
      const rejected = possiblyRejected(outcome);
      const { signal, items } = item.entry;
      this.services.metrics.sent[signal].add(Math.max(0, items - rejected));
      if (rejected > 0) return void this.deadLetter(item, partialCause(item, { ...outcome, rejected }));
      this.services.store.ack(item.ref);
      this.componentFailures.ended(item.ref, true);
      return this.end(item);
    }
    const error = this.classify(outcome.refusal);
    if (!this.isStarted && error.kind !== "permanent") return; // the next run hands it on again
    this.recent.failed(error);
    item.entry = withFailure(item.entry, error, this.services.clock.now(), true);
    if (error.kind === "permanent")
      return void this.deadLetter(item, { reason: "permanent", category: errorCategory(error), error });
    if (!this.isAlwaysFailing(item, outcome.refusal)) return this.retry(item, error);
    void this.deadLetter(item, { reason: "poison", category: "component_failure", error });
  }

  private isAlwaysFailing({ ref }: QueueItem, { failedIn }: Refusal): boolean {
    if (failedIn !== undefined) return this.componentFailures.failed(ref);
    this.componentFailures.refused(ref);
    return false;
  }

  private retry(item: QueueItem, error: AttemptError): void {
    const delayMs = this.backoff(item.entry.attempts, error.retryAfterMs);
    this.logRefusal({ error, delayMs });
    item.entry = withDelay(item.entry, delayMs);
    this.services.store.update(item.ref, item.entry);
    this.delay(item, delayMs);
  }

  private delay(item: QueueItem, ms: number): void {
    item.dueAt = this.services.clock.monotonic() + ms;
    this.head.delayOrPark(item);
    this.setTimer();
  }

  private async deadLetter(item: QueueItem, cause: DeadLetterCause): Promise<void> {
    const { deadLetters, settlement } = this.services;
    const remaining = (batch: Batch) => settlement.remaining(item.ref, batch);
    const written = await deadLetters.write(item, cause, cause.lost === undefined ? remaining : undefined);
    if (written !== "unwritten") return this.end(item);
    item.deadLetterCause = cause;
    this.delay(item, STORE_RETRY_MS);
  }

  private onUnreadable(item: QueueItem, cause: unknown): void {
    if (isEntryGone(cause)) {
      this.services.deadLetters.reportUnreadable(item.entry, cause);
      return this.end(item);
    }
    if (this.isStarted) this.logStoreError(cause);
    this.delay(item, STORE_RETRY_MS);
  }

  private end(item: QueueItem): void {
    this.window.remove(item.ref);
    this.componentFailures.ended(item.ref, false);
    this.services.settlement.ended(item.ref);
    this.head.remove(item);
    this.services.onRemoved(item.entry);
    this.pump();
  }

  private onLoaded(error: unknown): void {
    if (error === undefined) {
      if (this.services.damageReporter.reportNewCorrupt()) this.services.onDamaged();
      return this.pump();
    }
    if (!this.isStarted) return;
    this.logStoreError(error);
    this.wakeIn(STORE_RETRY_MS);
  }

  private setTimer(): void {
    const due = this.waiting.nextDue;
    if (due !== undefined) this.wakeIn(due - this.services.clock.monotonic());
  }

  private wakeIn(ms: number): void {
    this.cancelWake();
    if (this.isStarted) this.cancelWake = this.services.clock.after(Math.max(1, ms), () => this.pump());
  }
}

/** It is not known which records were rejected, so the whole delivery is kept, with the number of rejected records. */
function partialCause(item: QueueItem, outcome: PartialRejection): DeadLetterCause {
  const error = partialSuccessError([item], outcome);
  return { reason: "partial_success", category: "schema", error, lost: Math.min(outcome.rejected, item.entry.items) };
}
