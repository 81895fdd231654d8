import type { Clock, Delivery } from "#contract";
import type { Batch } from "#otlp";
import { type BatchingOf, type GroupLimits, holdKeyOf, type QueueItem } from "../entry/queue-item.js";
import type { EntryRef, QueueStore, StoredEntry } from "../store/store.js";
import type { DelayQueue } from "./delay-queue.js";
import { OrderedKeys } from "./ordered-keys.js";
import { LoadedItems, ParkedEntries, ReadyEntries, restAfter } from "./ready-entries.js";

export interface HeadLimits extends GroupLimits {
  /** Maximum number of entries in memory that wait for their turn. */
  readonly entries: number;
  /** Maximum number of entries in memory that wait for a retry. */
  readonly waiting: number;
  /** Maximum number of payload bytes kept in memory. */
  readonly bytes: number;
  /** Maximum wait for a retry, in milliseconds. It also applies to entries stored under other settings. */
  readonly maxWaitMs?: number;
  readonly batchingOf?: BatchingOf;
}

export const DEFAULT_HEAD_LIMITS: HeadLimits = { entries: 2048, waiting: 10_000, bytes: 32 * 1024 * 1024 };

/**
 * The front of the queue, in memory and bounded. The rest is read from the store when its turn comes.
 *
 * Invariants:
 * - An entry is in memory at most once: everything loaded is held until `remove` or until it is parked.
 * - All pending entries up to `cursor` have been loaded or are in `parked`. While `hasMoreInStore` is true, new entries
 *   are not loaded directly but only by reading the store, which keeps the order.
 * - `parked` covers all entries that wait for a retry and found no room in memory. They are read again when there is
 *   room, and block no other entry meanwhile. At least one entry of each held key stays in memory, to probe the
 *   backend.
 * - An entry that is removed or parked while the store is being read is not loaded by that read, even if the read still
 *   saw it.
 */
export class QueueHead {
  private readonly store: QueueStore;
  private readonly clock: Clock;
  private readonly limits: HeadLimits;
  private readonly waiting: DelayQueue;
  private readonly onLoaded: (error?: unknown) => void;
  private readonly ready: ReadyEntries;
  private readonly loaded: LoadedItems;
  private cursor: EntryRef | undefined;
  private hasMoreInStore = true;
  private readonly ordered = new OrderedKeys();
  private readonly parked = new ParkedEntries();
  private readonly maxHeld: number;
  private lastReadParked = false;
  /** Incremented whenever an entry came into the store that is not in memory, and on each rescan. */
  private unloadedArrivals = 0;
  private rescans = 0;
  private removedWhileLoading: Set<EntryRef> | undefined;

  /**
   * Retries that are not due are put into `waiting`. `onLoaded` is called after each read, with the error if it failed.
   */
  constructor(
    store: QueueStore,
    clock: Clock,
    limits: HeadLimits,
    waiting: DelayQueue,
    onLoaded: (error?: unknown) => void,
  ) {
    this.store = store;
    this.clock = clock;
    this.limits = limits;
    this.waiting = waiting;
    this.onLoaded = onLoaded;
    this.maxHeld = Math.max(1, Math.floor(limits.waiting / 4));
    this.ready = new ReadyEntries(limits);
    this.loaded = new LoadedItems(clock, limits.bytes, limits.maxWaitMs, limits.batchingOf);
  }

  /** Number of entries that are ready to be taken. */
  get size(): number {
    return this.ready.size;
  }

  get first(): QueueItem | undefined {
    return this.ready.first;
  }

  /** Whether the store may have pending entries that are not in memory. */
  get hasUnloaded(): boolean {
    return this.hasMoreInStore || !this.parked.isEmpty;
  }

  /** Whether no entry is known to be pending, neither in memory nor in the store. */
  get isEmpty(): boolean {
    return this.loaded.isEmpty && !this.hasUnloaded;
  }

  /** Whether the entry is pending and in memory. */
  has({ ref }: Pick<QueueItem, "ref">): boolean {
    return this.loaded.has(ref);
  }

  /** Loads an entry that was just stored, if it is next in order. Otherwise it is read later. */
  add(stored: StoredEntry, batch: Batch, delivery: Delivery | undefined): void {
    const { ref } = stored;
    const isLoaded = this.loaded.has(ref);
    const isMissed = this.cursor !== undefined && ref < this.cursor;
    const isFull = this.size >= this.limits.entries || this.isHoldingTooMany;
    const isLater = !isLoaded && !isMissed && (this.hasMoreInStore || isFull);
    if (isLater) {
      this.hasMoreInStore = true;
      this.unloadedArrivals += 1;
    }
    if (isLoaded || isLater) return delivery && this.loaded.attachDelivery(ref, delivery);
    if (!isMissed) this.cursor = ref;
    this.admit(this.loaded.add(stored, batch, delivery));
  }

  /** Gives the entry a turn, unless an earlier one of its order key has not left the queue. */
  private admit(item: QueueItem): void {
    if (item.entry.orderKey === undefined || this.ordered.admit(item)) this.giveTurn(item);
  }

  private giveTurn(item: QueueItem): void {
    if (item.entry.calls > 0 && item.dueAt > this.clock.monotonic()) this.waiting.add(item);
    else this.ready.add(item);
  }

  /** Entries that wait for others of their key take memory, so no more are loaded. */
  private get isHoldingTooMany(): boolean {
    return this.ordered.heldCount >= this.limits.waiting;
  }

  /** Settles this delivery with the end of a pending entry. Returns whether the entry is in memory. */
  attach(ref: EntryRef, delivery: Delivery): boolean {
    this.loaded.attachDelivery(ref, delivery);
    return this.loaded.has(ref);
  }

  /** Loads the parts of an entry that was taken. They are sent before all others. */
  addPart(stored: StoredEntry, batch: Batch, delivery: Delivery | undefined): QueueItem {
    const part = this.loaded.add(stored, batch, delivery);
    this.ordered.addPart(part);
    return part;
  }

  /** Takes out the oldest ready entry. */
  takeFirst(): QueueItem | undefined {
    return this.ready.takeFirst();
  }

  /** Whether a ready entry may be sent at that monotonic time. */
  isDue(now: number): boolean {
    return this.ready.isDue(this.isCrowded ? Number.POSITIVE_INFINITY : now);
  }

  /** Monotonic time at which ready entries that wait to be merged are sent without others. */
  get dueAt(): number | undefined {
    return this.ready.dueAt;
  }

  /** Takes out entries that are sent together, `maxEntries` at most. */
  takeGroup(now: number, maxEntries?: number): readonly QueueItem[] | undefined {
    return this.ready.takeGroup(this.isCrowded ? Number.POSITIVE_INFINITY : now, maxEntries);
  }

  /** The store has more entries than fit into memory, so those in memory do not wait to be merged. */
  private get isCrowded(): boolean {
    return this.hasMoreInStore && this.size * 2 > this.limits.entries;
  }

  /** To be called when the entry is no longer pending. */
  remove(item: QueueItem): void {
    this.loaded.remove(item);
    this.removedWhileLoading?.add(item.ref);
    const next = item.entry.orderKey === undefined ? undefined : this.ordered.remove(item);
    if (next !== undefined) this.giveTurn(next);
    if (this.parked.isEmpty) return;
    const key = holdKeyOf(item);
    if (this.waiting.heldOf(key) === 0) this.parked.endHold(key);
  }

  /** Releases the payload of a taken entry. It can be read again. */
  releasePayload(item: QueueItem): void {
    this.loaded.forgetPayload(item);
  }

  /** Keeps an entry in memory until its retry is due, or parks it if there is no room. */
  delayOrPark(item: QueueItem): void {
    if (item.isHeld ? this.hasRoomForHeld(item) : this.waiting.size < this.limits.waiting) {
      this.loaded.trimPayload(item);
      this.waiting.add(item);
    } else {
      this.loaded.unload(item);
      this.removedWhileLoading?.add(item.ref);
      if (item.isHeld) this.parked.addHeld(holdKeyOf(item), item.ref);
      else this.parked.add(item.ref);
    }
  }

  /** Whether entries under this key wait because the backend refuses all of them. */
  hasHeld(key: string): boolean {
    return this.waiting.heldOf(key) > 0 || this.parked.hasHeld(key);
  }

  /** Makes entries parked under this key readable again. */
  endHold(key: string): void {
    this.parked.endHold(key);
  }

  /**
   * Held entries get a quarter of the places, and up to another quarter for keys without any place. A part of a
   * bisected entry always stays, because its other parts wait for it.
   */
  private hasRoomForHeld(item: QueueItem): boolean {
    const { heldCount } = this.waiting;
    if (heldCount < this.maxHeld || item.entry.parent !== undefined) return true;
    return heldCount < 2 * this.maxHeld && this.waiting.heldOf(holdKeyOf(item)) === 0;
  }

  /** Makes all retries due now, in memory and in the store. */
  retryNow(): void {
    this.loaded.retryNow();
    this.waiting.retryNow(this.clock.monotonic());
  }

  /** To be called when pending entries that are not in memory may be anywhere in the store. */
  rescan(): void {
    this.cursor = undefined;
    this.hasMoreInStore = true;
    this.unloadedArrivals += 1;
    this.rescans += 1;
  }

  /** Reads more entries from the store if there are more and there is room. New and parked entries alternate. */
  refill(): void {
    if (this.removedWhileLoading !== undefined || this.size * 2 > this.limits.entries) return;
    if (this.waiting.heldCount * 2 <= this.maxHeld) this.parked.endHolds();
    const wantsParked = this.parked.isReadable && this.waiting.size * 2 <= this.limits.waiting;
    if (wantsParked && !(this.hasMoreInStore && this.lastReadParked)) this.readParked();
    else if (this.hasMoreInStore && !this.isHoldingTooMany) this.readNext();
  }

  /** Removes and returns the deliveries of clients that wait for a result. */
  takeDeliveries(): Delivery[] {
    return this.loaded.takeDeliveries();
  }

  private readNext(): void {
    const { unloadedArrivals, rescans } = this;
    const limit = this.limits.entries;
    this.lastReadParked = false;
    this.read(this.cursor, (found) => {
      if (rescans === this.rescans) this.cursor = found.at(-1)?.ref ?? this.cursor;
      if (found.length < limit && unloadedArrivals === this.unloadedArrivals) this.hasMoreInStore = false;
      return found;
    });
  }

  private readParked(): void {
    const range = this.parked.take();
    this.lastReadParked = true;
    this.read(
      range.from - 1,
      (found) => {
        const isAll = found.length < this.limits.entries;
        if (!isAll) this.parked.putBack(restAfter(range, found.at(-1)!.ref));
        return found.filter(({ ref }) => ref <= range.to);
      },
      () => this.parked.putBack(range),
    );
  }

  private read(
    after: EntryRef | undefined,
    choose: (found: readonly StoredEntry[]) => readonly StoredEntry[],
    failed = () => {},
  ): void {
    const removed = new Set<EntryRef>();
    this.removedWhileLoading = removed;
    this.store.pending(after, this.limits.entries).then(
      (found) => {
        this.removedWhileLoading = undefined;
        for (const stored of choose(found)) {
          if (!this.loaded.has(stored.ref) && !removed.has(stored.ref)) this.load(stored);
        }
        this.onLoaded();
      },
      (error: unknown) => {
        this.removedWhileLoading = undefined;
        failed();
        this.onLoaded(error);
      },
    );
  }

  /** A due retry takes its turn like a first attempt. The gate limits its rate. */
  private load(stored: StoredEntry): void {
    const isRetry = stored.entry.calls > 0;
    if (isRetry && this.waiting.size >= this.limits.waiting) return this.parked.add(stored.ref);
    this.admit(this.loaded.add(stored));
  }
}
