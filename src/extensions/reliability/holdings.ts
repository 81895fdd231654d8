import type { Batch, Clock, Delivery } from "../../plugin.js";
import { type Item, itemOf } from "./item.js";
import type { EntryRef, StoredEntry } from "./store/store.js";

/**
 * The entries that are in memory, each at most once, with as many of their payloads as there is room for; and the clients
 * that wait for the result of an entry, whether it is in memory or not.
 */
export class Holdings {
  private readonly clock: Clock;
  private readonly mostBytes: number;
  private readonly longestWaitMs: number;
  private readonly items = new Map<EntryRef, Item>();
  /** Of entries that are not in memory. */
  private readonly deliveries = new Map<EntryRef, Delivery>();
  private bytes = 0;
  /** What was tried before this monotonic time does not wait for its retry any more. */
  private hurriedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, mostBytes: number, longestWaitMs = Number.POSITIVE_INFINITY) {
    this.clock = clock;
    this.mostBytes = mostBytes;
    this.longestWaitMs = longestWaitMs;
  }

  get isEmpty(): boolean {
    return this.items.size === 0;
  }

  has(ref: EntryRef): boolean {
    return this.items.has(ref);
  }

  take(stored: StoredEntry, batch?: Batch, delivery?: Delivery): Item {
    const monotonic = this.clock.monotonic();
    const item = itemOf(stored, this.clock.now(), monotonic, this.longestWaitMs);
    if (item.triedAt < this.hurriedAt) item.dueAt = Math.min(item.dueAt, monotonic);
    item.delivery = delivery ?? this.deliveries.get(item.ref);
    this.deliveries.delete(item.ref);
    if (batch !== undefined && this.bytes + batch.byteLength <= this.mostBytes) {
      item.batch = batch;
      this.bytes += batch.byteLength;
    }
    this.items.set(item.ref, item);
    return item;
  }

  /** What is in the store is due when it is read again, whenever that is. */
  hurry(): void {
    this.hurriedAt = this.clock.monotonic();
  }

  /** Lets go of an entry; whoever waits for it goes on waiting, unless it is told. */
  release(item: Item): void {
    this.forgetPayload(item);
    this.items.delete(item.ref);
  }

  /** The same for one that will be read again. */
  putDown(item: Item): void {
    this.release(item);
    if (item.delivery !== undefined) this.deliveries.set(item.ref, item.delivery);
  }

  /** Lets go of the payload when there is little room: it can be read again. */
  relax(item: Item): void {
    if (this.bytes > this.mostBytes / 2) this.forgetPayload(item);
  }

  attach(ref: EntryRef, delivery: Delivery): void {
    const item = this.items.get(ref);
    if (item === undefined) this.deliveries.set(ref, delivery);
    else item.delivery = delivery;
  }

  /** Takes out the clients that wait for results that will not come any more. */
  takeDeliveries(): Delivery[] {
    const waiting = [...this.deliveries.values()];
    this.deliveries.clear();
    for (const item of this.items.values()) {
      if (item.delivery !== undefined) waiting.push(item.delivery);
      item.delivery = undefined;
    }
    return waiting;
  }

  private forgetPayload(item: Item): void {
    if (item.batch === undefined) return;
    this.bytes -= item.batch.byteLength;
    item.batch = undefined;
  }
}
