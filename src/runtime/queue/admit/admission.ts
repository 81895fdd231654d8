import { createHash } from "node:crypto";
import {
  type Clock,
  Debt,
  Delivery,
  type Exporter,
  type Logger,
  limitedLog,
  type MessageWatch,
  type Origin,
  type Setback,
} from "#contract";
import { ERROR_CODES, Refusal } from "#contract/errors";
import type { Entry } from "#contract/operations";
import { type Batching, metadataFor, piecesOf } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import { Batch } from "#otlp";
import { readRecords } from "#otlp/views";
import { withReplay } from "../dead-letters/change/with-replay.js";
import type { DeadLetterFacts } from "../dead-letters/dead-letter-facts.js";
import type { DeadLetterFilter } from "../dead-letters/dead-letter-filter.js";
import type { DeadLetterWriter } from "../dead-letters/dead-letter-writer.js";
import { runExclusively } from "../dead-letters/run-exclusively.js";
import { createMetadataPicker, type PickMetadata, withAddress } from "../entry/client-metadata.js";
import { deadLetteredRefusal } from "../entry/queue-errors.js";
import type { BatchingOf, DeadLetterCause } from "../entry/queue-item.js";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import { keyedEntryId } from "../store/format/entry-id.js";
import { replacementOf } from "../store/format/entry-value.js";
import type { EntryRef, NewEntry, QueueStore, StoredEntry } from "../store/store.js";
import { ZERO_AMOUNT } from "../store/store.js";
import { Capacity, type Incoming, Overflow, type Size } from "./capacity.js";
import type { RecentIds } from "./recent-ids.js";
import { QUEUE_FULL, stoppingRefusal, writeFailedRefusal } from "./refusals.js";
import { TakenKeys } from "./taken-keys.js";

export interface AdmissionServices {
  readonly id: string;
  readonly settings: CompleteSettings;
  /** Batches larger than one request become several entries. */
  readonly batchingOf: BatchingOf;
  /** Identifies the config that the agent runs with. */
  readonly generation: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly store: QueueStore;
  readonly filter: DeadLetterFilter;
  readonly deadLetters: DeadLetterWriter;
  readonly queue: AdmittedEntries;
  /**
   * Selects the client headers that a journal keeps for its processors. If left out, only the headers to be sent are
   * kept.
   */
  readonly metadataOnDisk?: (metadata: Origin["metadata"]) => Origin["metadata"];
  /** The exporter may ask for client headers; these are kept with the entry. */
  readonly exporter?: Pick<Exporter, "metadataKeys">;
  /** Entries of watched messages that were delivered lately. Left out by journals, whose entries nobody watches. */
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

/** An entry that the queue has, or had, under the id of a new one; `known` is undefined if it was delivered. */
interface KnownEntry {
  readonly known: StoredEntry | undefined;
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
  private readonly pickMetadata: PickMetadata;
  private readonly takenKeys: TakenKeys;
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
    this.pickMetadata = createMetadataPicker(settings.dead_letter.keep_metadata);
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
    if (isTooLong(metadataFor(this.services.exporter ?? {}, delivery.origin.metadata)))
      return this.refuseAll([delivery], METADATA_TOO_LONG);
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
    const entries = pieces.map((piece) => this.newEntry(piece, pipeline, undefined));
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
    const entry = this.newEntry(delivery, pipeline, deadLetterCause);
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

  /**
   * Returns a known entry if the store already has it, because a sender that died before it could record the acceptance
   * has sent it again. A dead letter of a message that was replayed at its source goes back into the queue.
   */
  private store(entry: NewEntry, watch: MessageWatch | undefined): Promise<StoredEntry | KnownEntry> {
    const id = entry.fields?.id;
    return id === undefined ? this.services.store.put(entry) : this.storeOnce(id, entry, watch);
  }

  private async storeOnce(
    id: string,
    entry: NewEntry,
    watch: MessageWatch | undefined,
  ): Promise<StoredEntry | KnownEntry> {
    const { store, delivered } = this.services;
    const found = await store.find(id);
    if (found === undefined) return delivered?.has(id) ? { known: undefined } : store.put(entry);
    if (found.entry.state !== "failed" || watch?.replayedBy === undefined) return { known: found };
    return runExclusively(store, () => this.replayFailed(id, entry, watch.replayedBy!));
  }

  /** Keeps the id and the history of the dead letter; its payload is the one that came now. */
  private async replayFailed(id: string, { batch }: NewEntry, by: string): Promise<StoredEntry | KnownEntry> {
    const { store, clock, generation, logger } = this.services;
    const found = await store.find(id);
    if (found?.entry.state !== "failed") return { known: found };
    const { deletedAt: _, ...entry } = withReplay(found.entry, { at: clock.now(), by, generation });
    const [stored] = await store.replace(found.ref, [replacementOf(entry, batch)]);
    logger.info({ id, by, message: entry.source.message }, "a dead letter was replayed at its source");
    return stored!;
  }

  private acceptKnown(delivery: Delivery, { known }: KnownEntry, deadLetterCause: DeadLetterCause | undefined): void {
    const watched = known && this.watched(delivery, known.entry);
    if (watched !== undefined) void this.watchKnown(known!, watched);
    this.acceptDuplicate(delivery, deadLetterCause);
  }

  /** Settles `watched` with the end of an entry that the store had when it was looked up. */
  private async watchKnown(known: StoredEntry, watched: Delivery): Promise<void> {
    const { store, queue, logger } = this.services;
    if (known.entry.state === "failed") return endAsDeadLetter(known.entry, watched);
    if (queue.attach!(known.ref, watched)) return;
    // The entry waits in the store, or it has ended since it was looked up.
    try {
      const now = await store.find(known.entry.id);
      if (now === undefined) watched.accept();
      else if (now.entry.state === "failed") endAsDeadLetter(now.entry, watched);
    } catch (error) {
      logger.warn({ err: error, id: known.entry.id }, "the state of an entry could not be read");
    }
  }

  /** Lets a watch know how a pending entry ends that did not come through `accept`, such as a replayed one. */
  watch(stored: StoredEntry, watch: MessageWatch): void {
    const { receiver, transport } = stored.entry.source;
    void this.watchKnown(stored, watchedDelivery({ receiver, transport, watch }, watch, stored.entry));
  }

  private watchOf({ origin }: Pick<Delivery, "origin">): MessageWatch | undefined {
    return this.services.queue.attach === undefined ? undefined : origin.watch;
  }

  /** Returns a delivery that is settled with the end of this entry, if somebody wants to know. */
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

  private newEntry(
    { batch, origin }: Delivery,
    pipeline: string,
    deadLetterCause: DeadLetterCause | undefined,
  ): NewEntry {
    const { clock, generation, deadLetters, id } = this.services;
    const shown = this.pickMetadata(origin.metadata);
    const { receiver, transport } = origin;
    const watch = this.watchOf({ origin });
    const source = {
      ...(shown === undefined ? { receiver, transport } : { receiver, transport, metadata: shown }),
      ...(origin.queue !== undefined && { queue: origin.queue }),
      ...(origin.event !== undefined && { event: origin.event }),
      ...(watch !== undefined && { message: watch.message }),
    };
    const { metadataOnDisk, exporter = {} } = this.services;
    const sent = metadataFor(exporter, origin.metadata);
    const batchKey = batchKeyOf(this.services.batchingOf(pipeline), origin, exporter.metadataKeys);
    const metadata = metadataOnDisk === undefined ? sent : withAddress(metadataOnDisk(origin.metadata), origin.address);
    const fresh = { batch, pipeline, source, enqueuedAt: clock.now(), generation, isNew: origin.isNew ?? false };
    const orderKey = orderKeyOf(batch, this.services.settings.sending_queue.ordered_by);
    const kept = {
      ...(orderKey === undefined ? {} : { orderKey }),
      ...(batchKey === undefined ? {} : { batchKey }),
      ...(metadata === undefined ? {} : { metadata: Object.fromEntries(metadata) }),
      ...(origin.key === undefined ? {} : { id: keyedEntryId(id, pipeline, origin.key) }),
    };
    const hasFields = [orderKey, batchKey, metadata, origin.key].some((field) => field !== undefined);
    const fields = hasFields ? { fields: kept } : {};
    if (deadLetterCause === undefined) return { ...fresh, ...fields };
    const { failure } = deadLetters.failureOf(id, batch, deadLetterCause);
    return { ...fresh, fields: { ...fields.fields, state: "failed", failure } };
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
    delivery.accept();
  }

  private saveAsDeadLetter(delivery: Delivery, pipeline: string, cause: DeadLetterCause): void {
    if (this.services.filter.decide(delivery.batch, this.factsOf(cause)) === "save")
      return this.put(delivery, pipeline, cause);
    this.services.metrics.filteredOut.add(1);
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

/** The delivery keeps no payload in memory. */
function watchedDelivery(origin: Origin, watch: MessageWatch, { id, signal }: Entry): Delivery {
  return new Delivery(Batch.empty(signal), origin, new Debt(watch.begin(id)));
}

function endAsDeadLetter(entry: Entry, watched: Delivery): void {
  const { reason, error } = entry.failure!;
  watched.origin.watch!.report(entry, error);
  watched.refuse(deadLetteredRefusal({ entry }, { reason, error }, "saved"));
}

function savedBy(filter: DeadLetterFilter, batch: Batch, facts: DeadLetterFacts): Batch | undefined {
  return filter.decide(batch, facts) === "save" ? batch : undefined;
}

/** Returns a hash, because the values may be secret and entries are shown to people. Undefined if there are no keys. */
function batchKeyOf(
  batching: Batching | undefined,
  { metadata }: Origin,
  sentKeys: readonly string[] = [],
): string | undefined {
  const keys = batching?.metadataKeys ?? [];
  if (keys.length + sentKeys.length === 0) return undefined;
  // The names of sent headers are hashed too, because with other keys in the config the same values mean something
  // else.
  const sent = sentKeys.map((key) => ({ [key]: metadata?.get(key) ?? null }));
  const values = [...keys.map((key) => metadata?.get(key) ?? null), ...sent];
  return createHash("sha256").update(JSON.stringify(values)).digest("hex").slice(0, BATCH_KEY_LENGTH);
}

const BATCH_KEY_LENGTH = 16;

/** Attributes that hold the key of a message, by which its source keeps messages in order. */
const KEY_ATTRIBUTES = ["messaging.kafka.message.key", "outbox.key", "messaging.sqs.message_group_id"];

/** The order key of a batch: a hash of the value that its first record has. */
function orderKeyOf(batch: Batch, orderedBy: string): string | undefined {
  if (orderedBy === "") return undefined;
  const names = orderedBy === "key" ? KEY_ATTRIBUTES : [orderedBy];
  let key: string | undefined;
  let isFirst = true;
  readRecords(batch, ({ attributes }) => {
    if (!isFirst) return;
    isFirst = false;
    const value = names.map((name) => attributes.get(name)).find((found) => found !== undefined);
    if (value !== undefined && value !== null) key = value instanceof Uint8Array ? hexText(value) : String(value);
  });
  if (key === undefined) return undefined;
  return createHash("sha256").update(key).digest("hex").slice(0, ORDER_KEY_LENGTH);
}

const ORDER_KEY_LENGTH = 32;

function hexText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** Sent headers are kept with every entry and do not count towards its size. */
const MAX_SENT_METADATA = 8 * 1024;

const METADATA_TOO_LONG = new Refusal(
  "permanent",
  `the headers to be sent have more than ${MAX_SENT_METADATA} characters`,
);

function isTooLong(metadata: Origin["metadata"]): boolean {
  if (metadata === undefined) return false;
  let length = 0;
  for (const values of metadata.values()) for (const value of values) length += value.length;
  return length > MAX_SENT_METADATA;
}

function causeOf({ reason, category, code, message }: Setback): DeadLetterCause {
  return { reason, category, error: { kind: "permanent", class: code, code, message } };
}

function sizeOf({ batch }: Delivery): Size {
  return { items: batch.count, bytes: batch.byteLength };
}
