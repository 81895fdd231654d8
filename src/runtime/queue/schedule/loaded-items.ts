import type { Clock, Delivery } from "#contract";
import type { Batch } from "#otlp";
import { type BatchingOf, createQueueItem, type QueueItem } from "../entry/queue-item.js";
import { SteadyTime } from "../entry/steady-time.js";
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
