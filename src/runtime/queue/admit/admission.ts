import { type Delivery, type Logger, limitedLog, type MessageWatch, type Setback } from "#contract";
import { keyedEntryId } from "#contract/calls";
import { ERROR_CODES, Refusal } from "#contract/errors";
import type { Entry } from "#contract/operations";
import { piecesOf } from "#contract/operators";
import type { Batch } from "#otlp";
import type { DeadLetterFacts, DeadLetterFilter } from "../dead-letters/dead-letter-filter.js";
import type { DeadLetterCause } from "../entry/queue-item.js";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import { type EntryRef, type NewEntry, type QueueStore, type StoredEntry, ZERO_AMOUNT } from "../store/store.js";
import { endAsDeadLetter, KeyedEntries, type KnownEntry, type RecentIds, watchedDelivery } from "./keyed-entries.js";
import { Capacity, type Incoming, NewEntries, type NewEntryServices, Overflow, type Size } from "./new-entries.js";
import { QUEUE_FULL, stoppingRefusal, writeFailedRefusal } from "./refusals.js";
import { TakenKeys } from "./taken-keys.js";

interface AdmissionServices extends NewEntryServices {
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly store: QueueStore;
  readonly filter: DeadLetterFilter;
  readonly queue: AdmittedEntries;
  /** Entries of watched messages that were delivered lately. Undefined in journals, whose entries are not watched. */
  readonly delivered?: RecentIds;
}

/** Takes entries that have been stored. */
export interface AdmittedEntries {
  /** Whether no entry is known to be pending. */
  readonly isEmpty: boolean;
  add(stored: StoredEntry, batch: Batch, delivery: Delivery | undefined): void;
  /**
   * Dead-letters the oldest entry that is not being sent, or reads more entries. Returns false if there is none or it
   * must stay.
   */
  dropOldest(cause: DeadLetterCause): Promise<boolean>;
  /** Settles this delivery with the end of a pending entry. Returns false if the entry is not in memory. */
  attach?(ref: EntryRef, delivery: Delivery): boolean;
}

/**
 * Admits deliveries to the queue: makes room or refuses when the queue is full, and accepts a delivery when it is
 * stored. Records that a processor dead-lettered, and batches that found no room, go into the same store as dead
 * letters.
 */
export class Admission {
  private readonly services: AdmissionServices;
  private readonly capacity: Capacity;
  private readonly overflow: Overflow;
  private readonly newEntries: NewEntries;
  private readonly takenKeys: TakenKeys;
  private readonly keyedEntries: KeyedEntries;
  private readonly logWriteFailure: (error: unknown) => void;
  private readonly logFull: (refusal: Refusal) => void;
  /**
   * Deliveries that are being stored. `pendingQueuePuts` has only those that become pending entries, not dead letters.
   */
  private readonly pendingPuts = new Set<Delivery>();
  private readonly pendingQueuePuts = new Set<Delivery>();
  private onAllPut: (() => void) | undefined;
  private onPut: (() => void) | undefined;
  private isAborted = false;

  constructor(services: AdmissionServices) {
    this.services = services;
    const { settings, clock, logger } = services;
    this.capacity = new Capacity(settings.sending_queue);
    this.takenKeys = new TakenKeys(services.store);
    const { queue } = services;
    this.keyedEntries = new KeyedEntries({ ...services, attach: queue.attach?.bind(queue) });
    this.newEntries = new NewEntries(services);
    this.overflow = new Overflow({
      settings: settings.sending_queue,
      fits: (incoming) => this.fits(incoming),
      put: (incoming) => this.putAll(incoming),
      refuse: ({ pieces }, refusal) => this.refuseWhenFull(pieces, refusal),
      deadLetter: ({ pieces, pipeline }) => {
        for (const piece of pieces) this.deadLetterNewest(piece, pipeline);
      },
      dropOldest: () => this.dropOldest(),
    });
    this.logWriteFailure = limitedLog(clock, (error, suppressed) =>
      logger.error({ err: error, suppressed }, "cannot write to the queue; refusing new data"),
    );
    this.logFull = limitedLog(clock, ({ message }, suppressed) => {
      const { entries, bytes } = services.store.stats.pending;
      logger.warn({ reason: message, entries, bytes, suppressed }, "the queue is full; refusing new data");
    });
  }

  /** Whether other deliveries are being stored. */
  get isStoring(): boolean {
    return this.pendingPuts.size > 0;
  }

  accept(delivery: Delivery, pipeline: string): void {
    if (delivery.setback !== undefined) this.deadLetterSetback(delivery, pipeline, delivery.setback);
    else this.enqueue(delivery, pipeline);
  }

  /** To be called when entries were added to the queue without `accept`. */
  entriesAdded(entries: readonly Entry[]): void {
    for (const entry of entries) this.capacity.add(entry);
  }

  /** To be called when an entry is no longer pending. `replacements` took its place. */
  entryRemoved(entry: Entry, replacements: readonly StoredEntry[]): void {
    this.capacity.remove(entry);
    for (const replacement of replacements) this.capacity.add(replacement.entry);
    // After damage the counts are estimates. An empty queue makes them exact again.
    if (this.pendingPuts.size === 0 && this.services.queue.isEmpty) this.capacity.reset(ZERO_AMOUNT);
    this.overflow.putWaiting();
  }

  /** Counts the pending entries of the store and those being stored. */
  recount(): void {
    this.capacity.reset(this.services.store.stats.pending);
    for (const delivery of this.pendingQueuePuts) this.capacity.add(sizeOf(delivery));
  }

  /** To be called when no more deliveries come. Resolves when all deliveries are stored or refused. */
  async drain(): Promise<void> {
    this.overflow.stop(stoppingRefusal(this.services.id));
    if (this.pendingPuts.size === 0 || this.isAborted) return;
    await new Promise<void>((resolve) => {
      this.onAllPut = resolve;
    });
  }

  abort(): void {
    this.isAborted = true;
    const refusal = stoppingRefusal(this.services.id);
    this.overflow.stop(refusal);
    for (const delivery of this.pendingPuts) delivery.refuse(refusal);
    this.onAllPut?.();
  }

  private enqueue(delivery: Delivery, pipeline: string): void {
    const batching = this.services.batchingOf(pipeline);
    const batches = batching === undefined ? [delivery.batch] : piecesOf(delivery.batch, batching);
    if (batches instanceof Refusal) return this.refuseAll([delivery], batches);
    const refusal = this.newEntries.checkMetadata(delivery);
    if (refusal !== undefined) return this.refuseAll([delivery], refusal);
    const { key, isOnce } = delivery.origin;
    const onceKey = isOnce === true && key !== undefined ? JSON.stringify([pipeline, key]) : undefined;
    const incoming: Incoming = { pieces: delivery.split(batches), pipeline, onceKey };
    if (this.overflow.isEmpty && this.fits(incoming)) this.putAll(incoming);
    else this.overflow.add(incoming);
  }

  private fits({ pieces }: Incoming): boolean {
    return this.capacity.fits(pieces.map(sizeOf));
  }

  private putAll({ pieces, pipeline, onceKey }: Incoming): void {
    if (onceKey !== undefined) return this.putOnce(pieces, pipeline, onceKey);
    for (const piece of pieces) this.put(piece, pipeline);
  }

  /** Stores all pieces in one write, unless the queue has already taken this key. */
  private putOnce(pieces: readonly Delivery[], pipeline: string, key: string): void {
    for (const piece of pieces) this.beginPut(piece);
    const entries = pieces.map((piece) => this.newEntries.create(piece, pipeline, this.watchOf(piece), undefined));
    this.takenKeys.put(key, entries).then(
      (stored) => {
        for (const [i, piece] of pieces.entries()) {
          this.putDone(piece);
          if (stored === undefined) this.acceptDuplicate(piece, undefined);
          else this.queued(stored[i]!, piece);
        }
      },
      (error: unknown) => {
        for (const piece of pieces) this.putFailed(piece, error);
      },
    );
  }

  private put(delivery: Delivery, pipeline: string, deadLetterCause?: DeadLetterCause): void {
    if (deadLetterCause === undefined) this.beginPut(delivery);
    else this.pendingPuts.add(delivery);
    const entry = this.newEntries.create(delivery, pipeline, this.watchOf(delivery), deadLetterCause);
    this.store(entry, deadLetterCause === undefined ? this.watchOf(delivery) : undefined).then(
      (stored) => {
        this.putDone(delivery);
        if ("known" in stored) this.acceptKnown(delivery, stored, deadLetterCause);
        else if (deadLetterCause === undefined) this.queued(stored, delivery);
        else this.savedAsDeadLetter(delivery, stored.entry, deadLetterCause);
      },
      (error: unknown) => this.putFailed(delivery, error, deadLetterCause),
    );
  }

  private beginPut(delivery: Delivery): void {
    this.pendingPuts.add(delivery);
    this.pendingQueuePuts.add(delivery);
    this.capacity.add(sizeOf(delivery));
  }

  private putFailed(delivery: Delivery, error: unknown, deadLetterCause?: DeadLetterCause): void {
    this.putDone(delivery);
    if (deadLetterCause === undefined) this.capacity.remove(sizeOf(delivery));
    this.onPut?.();
    this.logWriteFailure(error);
    this.refuseAll([delivery], writeFailedRefusal(error));
    this.overflow.putWaiting();
  }

  private store(entry: NewEntry, watch: MessageWatch | undefined): Promise<StoredEntry | KnownEntry> {
    const id = entry.fields?.id;
    return id === undefined ? this.services.store.put(entry) : this.keyedEntries.store(id, entry, watch);
  }

  private acceptKnown(delivery: Delivery, { known }: KnownEntry, deadLetterCause: DeadLetterCause | undefined): void {
    const watched = known && this.watched(delivery, known.entry);
    if (watched !== undefined) void this.keyedEntries.watchKnown(known!, watched);
    this.acceptDuplicate(delivery, deadLetterCause);
  }

  /** Lets a watch know how a pending entry ends that did not come through `accept`, such as a replayed one. */
  watch(stored: StoredEntry, watch: MessageWatch): void {
    this.keyedEntries.watch(stored, watch);
  }

  private watchOf({ origin }: Pick<Delivery, "origin">): MessageWatch | undefined {
    return this.services.queue.attach === undefined ? undefined : origin.watch;
  }

  /** Returns a delivery that is settled when this entry ends, if a watcher needs the outcome. */
  private watched(delivery: Delivery, entry: Entry): Delivery | undefined {
    const watch = this.watchOf(delivery);
    return watch && watchedDelivery(delivery.origin, watch, entry);
  }

  private acceptDuplicate(delivery: Delivery, deadLetterCause: DeadLetterCause | undefined): void {
    if (deadLetterCause === undefined) this.capacity.remove(sizeOf(delivery));
    delivery.accept();
    this.onPut?.();
    this.overflow.putWaiting();
  }

  private queued(stored: StoredEntry, delivery: Delivery): void {
    const watched = this.watched(delivery, stored.entry);
    const waitsForResult = watched === undefined && this.services.settings.sending_queue.wait_for_result;
    if (!waitsForResult) delivery.accept();
    this.services.queue.add(stored, delivery.batch, waitsForResult ? delivery : watched);
    this.onPut?.();
  }

  private putDone(delivery: Delivery): void {
    this.pendingPuts.delete(delivery);
    this.pendingQueuePuts.delete(delivery);
    if (this.pendingPuts.size === 0) this.onAllPut?.();
  }

  /** An entry that is being stored cannot be dropped yet. In that case this waits until it is stored. */
  private async dropOldest(): Promise<boolean> {
    const hadPendingPuts = this.pendingPuts.size > 0;
    if (await this.services.queue.dropOldest(QUEUE_FULL)) return true;
    if (this.pendingPuts.size > 0) {
      await new Promise<void>((resolve) => {
        this.onPut = resolve;
      });
    }
    return hadPendingPuts;
  }

  /** The queue is full, so the new delivery becomes a dead letter, or is discarded if the filter says so. */
  private deadLetterNewest(delivery: Delivery, pipeline: string): void {
    const { batch } = delivery;
    this.services.metrics.enqueueFailed[batch.signal].add(batch.count);
    this.saveAsDeadLetter(delivery, pipeline, QUEUE_FULL);
  }

  /** A processor took these records out of its pipeline as dead letters. */
  private deadLetterSetback(delivery: Delivery, pipeline: string, setback: Setback): void {
    const { filter, metrics } = this.services;
    const { batch } = delivery;
    const cause = causeOf(setback);
    const facts = this.factsOf(cause);
    const saved = setback.onlyIfAlwaysSaved ? filter.savedByRule(batch, facts) : savedBy(filter, batch, facts);
    const savedItems = saved?.count ?? 0;
    metrics.setBack(setback.reason, savedItems, batch.count - savedItems);
    if (saved !== undefined) return this.put(delivery.with(saved), pipeline, cause);
    if (!setback.onlyIfAlwaysSaved) metrics.filteredOut.add(1);
    this.acceptDiscarded(delivery, pipeline, cause);
  }

  private saveAsDeadLetter(delivery: Delivery, pipeline: string, cause: DeadLetterCause): void {
    if (this.services.filter.decide(delivery.batch, this.factsOf(cause)) === "save")
      return this.put(delivery, pipeline, cause);
    this.services.metrics.filteredOut.add(1);
    this.acceptDiscarded(delivery, pipeline, cause);
  }

  /** The filter says that the delivery is not kept. The source of a watched message learns that it was not delivered. */
  private acceptDiscarded(delivery: Delivery, pipeline: string, { error }: DeadLetterCause): void {
    const { key = "" } = delivery.origin;
    const refusal = new Refusal("permanent", error.message);
    this.watchOf(delivery)?.begin(keyedEntryId(this.services.id, pipeline, key))({ ok: false, refusal });
    delivery.accept();
  }

  private factsOf(cause: DeadLetterCause): DeadLetterFacts {
    return { exporter: this.services.id, cause, attempts: 0 };
  }

  private savedAsDeadLetter(delivery: Delivery, entry: Entry, cause: DeadLetterCause): void {
    this.services.deadLetters.countAndLog(entry, cause);
    const watched = this.watched(delivery, entry);
    if (watched !== undefined) endAsDeadLetter(entry, watched);
    delivery.accept();
  }

  private refuseWhenFull(deliveries: readonly Delivery[], refusal: Refusal): void {
    if (refusal.code === ERROR_CODES.SLUICE_QUEUE_FULL) this.logFull(refusal);
    this.refuseAll(deliveries, refusal);
  }

  private refuseAll(deliveries: readonly Delivery[], refusal: Refusal): void {
    for (const delivery of deliveries) {
      this.services.metrics.enqueueFailed[delivery.batch.signal].add(delivery.batch.count);
      delivery.refuse(refusal);
    }
  }
}

function savedBy(filter: DeadLetterFilter, batch: Batch, facts: DeadLetterFacts): Batch | undefined {
  return filter.decide(batch, facts) === "save" ? batch : undefined;
}

function causeOf({ reason, category, code, message }: Setback): DeadLetterCause {
  return { reason, category, error: { kind: "permanent", class: code, code, message } };
}

function sizeOf({ batch }: Delivery): Size {
  return { items: batch.count, bytes: batch.byteLength };
}
