import type { Clock, Delivery } from "#contract";
import type { Batch } from "#otlp";
import { type BatchingOf, createQueueItem, type QueueItem, SteadyTime } from "../entry/queue-item.js";
import type { EntryRef, StoredEntry } from "../store/store.js";

/**
 * The entries in memory, each at most once, with as many of their payloads as fit. Also holds the deliveries of clients
 * that wait for the result of an entry, whether the entry is in memory or not.
 */
export class LoadedItems {
  private readonly clock: Clock;
  private readonly time: SteadyTime;
  private readonly maxBytes: number;
  private readonly maxWaitMs: number;
  private readonly batchingOf: BatchingOf | undefined;
  private readonly items = new Map<EntryRef, QueueItem>();
  /** Deliveries whose entries are not in memory. */
  private readonly deliveries = new Map<EntryRef, Delivery>();
  private bytes = 0;
  /** Entries last tried before this monotonic time do not wait for their retry. */
  private retryNowAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, maxBytes: number, maxWaitMs = Number.POSITIVE_INFINITY, batchingOf?: BatchingOf) {
    this.clock = clock;
    this.time = new SteadyTime(clock);
    this.maxBytes = maxBytes;
    this.maxWaitMs = maxWaitMs;
    this.batchingOf = batchingOf;
  }

  get isEmpty(): boolean {
    return this.items.size === 0;
  }

  has(ref: EntryRef): boolean {
    return this.items.has(ref);
  }

  add(stored: StoredEntry, batch?: Batch, delivery?: Delivery): QueueItem {
    const monotonic = this.clock.monotonic();
    const item = createQueueItem(stored, this.time.now(), monotonic, this.maxWaitMs, this.batchingOf);
    if (item.lastTriedAt < this.retryNowAt) item.dueAt = Math.min(item.dueAt, monotonic);
    item.delivery = delivery ?? this.deliveries.get(item.ref);
    this.deliveries.delete(item.ref);
    if (batch !== undefined && this.bytes + batch.byteLength <= this.maxBytes) {
      item.batch = batch;
      this.bytes += batch.byteLength;
    }
    this.items.set(item.ref, item);
    return item;
  }

  /** Makes every retry in the store due as soon as it is loaded. */
  retryNow(): void {
    this.retryNowAt = this.clock.monotonic();
  }

  /** Removes an entry from memory. Does not settle its delivery. */
  remove(item: QueueItem): void {
    this.forgetPayload(item);
    this.items.delete(item.ref);
  }

  /** Removes an entry that will be read again. Its delivery is kept until then. */
  unload(item: QueueItem): void {
    this.remove(item);
    if (item.delivery !== undefined) this.deliveries.set(item.ref, item.delivery);
  }

  /** Releases the payload if memory is short. It can be read again. */
  trimPayload(item: QueueItem): void {
    if (this.bytes > this.maxBytes / 2) this.forgetPayload(item);
  }

  attachDelivery(ref: EntryRef, delivery: Delivery): void {
    const item = this.items.get(ref);
    if (item === undefined) this.deliveries.set(ref, delivery);
    else item.delivery = delivery;
  }

  /** Removes and returns the deliveries of clients that wait for a result. */
  takeDeliveries(): Delivery[] {
    const waiting = [...this.deliveries.values()];
    this.deliveries.clear();
    for (const item of this.items.values()) {
      if (item.delivery !== undefined) waiting.push(item.delivery);
      item.delivery = undefined;
    }
    return waiting;
  }

  /** Releases the payload. It can be read again. */
  forgetPayload(item: QueueItem): void {
    if (item.batch === undefined) return;
    this.bytes -= item.batch.byteLength;
    item.batch = undefined;
  }
}

/** A range of entries in the store, both ends included. */
interface RefRange {
  readonly from: EntryRef;
  readonly to: EntryRef;
}

/**
 * The ranges of the store with waiting entries that found no room in memory. Entries that wait for a retry are read
 * again when there is room. Entries that the backend refuses as a whole need not be read before the hold ends, so they
 * are kept apart by hold key, and no other entry waits behind them.
 */
export class ParkedEntries {
  private range: RefRange | undefined;
  private readonly held = new Map<string, RefRange>();

  get isEmpty(): boolean {
    return this.range === undefined && this.held.size === 0;
  }

  /** Whether there is a range to read. */
  get isReadable(): boolean {
    return this.range !== undefined;
  }

  /** Whether entries held under this key are parked. */
  hasHeld(key: string): boolean {
    return this.held.has(key);
  }

  add(ref: EntryRef): void {
    this.putBack({ from: ref, to: ref });
  }

  addHeld(key: string, ref: EntryRef): void {
    this.held.set(key, rangeCovering(this.held.get(key), { from: ref, to: ref })!);
  }

  /** Makes the entries held under this key readable. */
  endHold(key: string): void {
    this.putBack(this.held.get(key));
    this.held.delete(key);
  }

  /** Makes all held entries readable. */
  endHolds(): void {
    for (const key of [...this.held.keys()]) this.endHold(key);
  }

  /** Takes out the range to read. */
  take(): RefRange {
    const range = this.range!;
    this.range = undefined;
    return range;
  }

  /** Returns a range, or the rest of it, that still has to be read. */
  putBack(range: RefRange | undefined): void {
    this.range = rangeCovering(this.range, range);
  }
}

/** The shortest range that covers both. */
function rangeCovering(a: RefRange | undefined, b: RefRange | undefined): RefRange | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}

/** The rest of the range after an entry; undefined if it is empty. */
export function restAfter(range: RefRange, ref: EntryRef): RefRange | undefined {
  return ref < range.to ? { from: Math.max(range.from, ref + 1), to: range.to } : undefined;
}
