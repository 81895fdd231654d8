import type { Batch, Clock, Delivery } from "../../plugin.js";
import { type Item, itemOf } from "./item.js";
import type { EntryRef, QueueStore, StoredEntry } from "./store/store.js";

export interface HeadLimits {
  /** Entries in memory that wait to be sent for the first time. */
  readonly entries: number;
  /** Bytes of payloads kept in memory. */
  readonly bytes: number;
}

export const HEAD_LIMITS: HeadLimits = { entries: 2048, bytes: 32 * 1024 * 1024 };

/**
 * The front of the queue, in memory and bounded; the rest is read from the store as it comes to its turn.
 *
 * Invariants:
 * - An entry is in memory at most once: everything that was taken in is in `held` until `done`.
 * - All pending entries up to `cursor` have been taken in. While it is behind, there may be more behind it in the store,
 *   and nothing new is taken in but by reading the store, so the order stays.
 * - What is done while the store is being read is not taken in by that reading, however old what it saw is.
 */
export class Head {
  private readonly store: QueueStore;
  private readonly clock: Clock;
  private readonly limits: HeadLimits;
  private readonly onLoaded: (error?: unknown) => void;
  /** A queue in an array: the first one is at `start`. */
  private ready: Item[] = [];
  private start = 0;
  private readonly held = new Map<EntryRef, Item>();
  /** Of clients that wait for the result of an entry that is not in memory. */
  private readonly deliveries = new Map<EntryRef, Delivery>();
  private heldBytes = 0;
  private cursor: EntryRef | undefined;
  private behind = true;
  /** Grows whenever something came into the store that is not in memory, and when all of it is to be looked at again. */
  private news = 0;
  private looks = 0;
  private doneWhileLoading: Set<EntryRef> | undefined;

  /** `onLoaded` is called after each reading of the store; the error is there when it failed. */
  constructor(store: QueueStore, clock: Clock, limits: HeadLimits, onLoaded: (error?: unknown) => void) {
    this.store = store;
    this.clock = clock;
    this.limits = limits;
    this.onLoaded = onLoaded;
  }

  /** Entries that are ready to be taken. */
  get size(): number {
    return this.ready.length - this.start;
  }

  /** There may be pending entries in the store that are not in memory. */
  get isBehind(): boolean {
    return this.behind;
  }

  /** Nothing is pending, here or in the store, as far as is known. */
  get isEmpty(): boolean {
    return this.held.size === 0 && !this.behind;
  }

  /** Takes in what was just put into the store, if it is its turn; otherwise it will be read later. */
  add(stored: StoredEntry, batch: Batch, delivery: Delivery | undefined): void {
    if (this.held.has(stored.ref)) {
      if (delivery !== undefined) this.attach(stored.ref, delivery);
      return;
    }
    const isMissed = this.cursor !== undefined && stored.ref < this.cursor;
    if (!isMissed && (this.behind || this.size >= this.limits.entries)) {
      this.behind = true;
      this.news += 1;
      if (delivery !== undefined) this.attach(stored.ref, delivery);
      return;
    }
    if (!isMissed) this.cursor = stored.ref;
    this.ready.push(this.hold(stored, batch, delivery));
  }

  /** Takes in entries that are sent before all others: the parts of one that was taken. */
  adopt(stored: StoredEntry, batch: Batch, delivery: Delivery | undefined): Item {
    return this.hold(stored, batch, delivery);
  }

  take(): Item | undefined {
    const item = this.ready[this.start];
    if (item === undefined) return undefined;
    this.start += 1;
    if (this.start === this.ready.length) {
      this.ready = [];
      this.start = 0;
    } else if (this.start > 1024 && this.start * 2 > this.ready.length) {
      this.ready = this.ready.slice(this.start);
      this.start = 0;
    }
    return item;
  }

  /** The entry is pending no more. */
  done(item: Item): void {
    this.forget(item);
    this.held.delete(item.ref);
    this.doneWhileLoading?.add(item.ref);
  }

  /** Lets go of the payload when there is little room: it can be read again. */
  relax(item: Item): void {
    if (this.heldBytes > this.limits.bytes / 2) this.forget(item);
  }

  /** There may be pending entries anywhere in the store that are not in memory. */
  lookAgain(): void {
    this.cursor = undefined;
    this.behind = true;
    this.news += 1;
    this.looks += 1;
  }

  /** Reads more from the store, if there is more and room for it. */
  refill(): void {
    if (!this.behind || this.doneWhileLoading !== undefined || this.size * 2 > this.limits.entries) return;
    this.doneWhileLoading = new Set();
    const { news, looks } = this;
    const limit = this.limits.entries;
    this.store.pending(this.cursor, limit).then(
      (found) => {
        this.takeIn(found);
        if (looks === this.looks) this.cursor = found.at(-1)?.ref ?? this.cursor;
        if (found.length < limit && news === this.news) this.behind = false;
        this.onLoaded();
      },
      (error: unknown) => {
        this.doneWhileLoading = undefined;
        this.onLoaded(error);
      },
    );
  }

  /** Clients that wait for results that will not come any more. */
  releaseDeliveries(): Delivery[] {
    const waiting = [...this.deliveries.values()];
    this.deliveries.clear();
    for (const item of this.held.values()) {
      if (item.delivery !== undefined) waiting.push(item.delivery);
      item.delivery = undefined;
    }
    return waiting;
  }

  private takeIn(found: readonly StoredEntry[]): void {
    const done = this.doneWhileLoading!;
    this.doneWhileLoading = undefined;
    for (const stored of found) {
      if (this.held.has(stored.ref) || done.has(stored.ref)) continue;
      this.ready.push(this.hold(stored, undefined, this.deliveries.get(stored.ref)));
      this.deliveries.delete(stored.ref);
    }
  }

  private attach(ref: EntryRef, delivery: Delivery): void {
    const item = this.held.get(ref);
    if (item === undefined) this.deliveries.set(ref, delivery);
    else item.delivery = delivery;
  }

  private hold(stored: StoredEntry, batch: Batch | undefined, delivery: Delivery | undefined): Item {
    const item = itemOf(stored, this.clock.now(), this.clock.monotonic());
    item.delivery = delivery;
    if (batch !== undefined && this.heldBytes + batch.byteLength <= this.limits.bytes) {
      item.batch = batch;
      this.heldBytes += batch.byteLength;
    }
    this.held.set(item.ref, item);
    return item;
  }

  private forget(item: Item): void {
    if (item.batch === undefined) return;
    this.heldBytes -= item.batch.byteLength;
    item.batch = undefined;
  }
}
