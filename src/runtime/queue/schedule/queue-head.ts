import type { Clock, Delivery } from "#contract";
import type { Batch } from "#otlp";
import { type BatchingOf, holdKeyOf, type QueueItem } from "../entry/queue-item.js";
import type { EntryRef, QueueStore, StoredEntry } from "../store/store.js";
import type { DelayQueue } from "./delay-queue.js";
import { LoadedItems } from "./loaded-items.js";
import { ParkedEntries, restAfter } from "./parked-entries.js";
import { ReadyEntries } from "./ready-entries.js";
import type { GroupLimits } from "./send-group.js";

export interface HeadLimits extends GroupLimits {
  /** Entries in memory that wait for their turn. */
  readonly entries: number;
  /** Entries in memory that wait for the time of their retry. */
  readonly waiting: number;
  /** Bytes of payloads kept in memory. */
  readonly bytes: number;
  /** Milliseconds that an entry waits for its retry; what was written under other settings is held to it too. */
  readonly maxWaitMs?: number;
  readonly batchingOf?: BatchingOf;
}

export const DEFAULT_HEAD_LIMITS: HeadLimits = { entries: 2048, waiting: 10_000, bytes: 32 * 1024 * 1024 };

/**
 * The front of the queue, in memory and bounded; the rest is read from the store as it comes to its turn.
 *
 * Invariants:
 * - An entry is in memory at most once: everything that was loaded is held until `remove` or `park`.
 * - All pending entries up to `cursor` have been taken in, or are in `parked`. While it is behind, there may be more behind
 *   it in the store, and nothing new is taken in but by reading the store, so the order stays.
 * - `parked` covers all entries that wait for a retry and found no room in memory. They are read again when there is, and
 *   hold up nobody meanwhile. Of what is refused as a whole one at least stays in memory, to try it.
 * - What is done or parked while the store is being read is not taken in by that reading, however old what it saw is.
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
  private readonly parked = new ParkedEntries();
  private readonly maxHeld: number;
  private lastReadParked = false;
  /** Grows whenever something came into the store that is not in memory, and when all of it is to be looked at again. */
  private unloadedArrivals = 0;
  private rescans = 0;
  private removedWhileLoading: Set<EntryRef> | undefined;

  /** `waiting` is where it puts retries that are not due. `onLoaded` is called after each reading; with what went wrong. */
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

  /** Entries that are ready to be taken. */
  get size(): number {
    return this.ready.size;
  }

  get first(): QueueItem | undefined {
    return this.ready.first;
  }

  /** There may be pending entries in the store that are not in memory. */
  get hasUnloaded(): boolean {
    return this.hasMoreInStore || !this.parked.isEmpty;
  }

  /** Nothing is pending, here or in the store, as far as is known. */
  get isEmpty(): boolean {
    return this.loaded.isEmpty && !this.hasUnloaded;
  }

  /** The entry is pending, and in memory. */
  has({ ref }: Pick<QueueItem, "ref">): boolean {
    return this.loaded.has(ref);
  }

  /** Takes in what was just put into the store, if it is its turn; otherwise it will be read later. */
  add(stored: StoredEntry, batch: Batch, delivery: Delivery | undefined): void {
    const { ref } = stored;
    const isLoaded = this.loaded.has(ref);
    const isMissed = this.cursor !== undefined && ref < this.cursor;
    const isLater = !isLoaded && !isMissed && (this.hasMoreInStore || this.size >= this.limits.entries);
    if (isLater) {
      this.hasMoreInStore = true;
      this.unloadedArrivals += 1;
    }
    if (isLoaded || isLater) return delivery && this.loaded.attachDelivery(ref, delivery);
    if (!isMissed) this.cursor = ref;
    this.ready.add(this.loaded.add(stored, batch, delivery));
  }

  /** Takes in entries that are sent before all others: the parts of one that was taken. */
  addPart(stored: StoredEntry, batch: Batch, delivery: Delivery | undefined): QueueItem {
    return this.loaded.add(stored, batch, delivery);
  }

  /** Takes out the oldest that is ready. */
  takeFirst(): QueueItem | undefined {
    return this.ready.takeFirst();
  }

  /** Something that is ready may be sent at that monotonic time. */
  isDue(now: number): boolean {
    return this.ready.isDue(this.isCrowded ? Number.POSITIVE_INFINITY : now);
  }

  /** Monotonic time at which something that is ready and waits for others is sent without them. */
  get dueAt(): number | undefined {
    return this.ready.dueAt;
  }

  /** Takes out entries that are to be sent together, so many at most. */
  takeGroup(now: number, maxEntries?: number): readonly QueueItem[] | undefined {
    return this.ready.takeGroup(this.isCrowded ? Number.POSITIVE_INFINITY : now, maxEntries);
  }

  /** More is in the store than there is room for here: what is here waits for nobody. */
  private get isCrowded(): boolean {
    return this.hasMoreInStore && this.size * 2 > this.limits.entries;
  }

  /** The entry is pending no more. */
  remove(item: QueueItem): void {
    this.loaded.remove(item);
    this.removedWhileLoading?.add(item.ref);
    if (this.parked.isEmpty) return;
    const key = holdKeyOf(item);
    if (this.waiting.heldOf(key) === 0) this.parked.endHold(key);
  }

  /** The payload of an entry that was taken is not needed for now: it can be read again. */
  releasePayload(item: QueueItem): void {
    this.loaded.forgetPayload(item);
  }

  /** Keeps an entry in memory until the time of its retry, or has it read again when there is room. */
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

  /** Entries under this key wait because they are refused as a whole. */
  hasHeld(key: string): boolean {
    return this.waiting.heldOf(key) > 0 || this.parked.hasHeld(key);
  }

  /** What was parked under this key need not wait any longer. */
  endHold(key: string): void {
    this.parked.endHold(key);
  }

  /** A quarter of the places, and another one for those that have none. A part of what was taken apart keeps its others waiting. */
  private hasRoomForHeld(item: QueueItem): boolean {
    const { heldCount } = this.waiting;
    if (heldCount < this.maxHeld || item.entry.parent !== undefined) return true;
    return heldCount < 2 * this.maxHeld && this.waiting.heldOf(holdKeyOf(item)) === 0;
  }

  /** No retry waits for its time any more, here or in the store. */
  retryNow(): void {
    this.loaded.retryNow();
    this.waiting.retryNow(this.clock.monotonic());
  }

  /** There may be pending entries anywhere in the store that are not in memory. */
  rescan(): void {
    this.cursor = undefined;
    this.hasMoreInStore = true;
    this.unloadedArrivals += 1;
    this.rescans += 1;
  }

  /** Reads more from the store, if there is more and room for it. New ones and parked ones take turns. */
  refill(): void {
    if (this.removedWhileLoading !== undefined || this.size * 2 > this.limits.entries) return;
    if (this.waiting.heldCount * 2 <= this.maxHeld) this.parked.endHolds();
    const wantsParked = this.parked.isReadable && this.waiting.size * 2 <= this.limits.waiting;
    if (wantsParked && !(this.hasMoreInStore && this.lastReadParked)) this.readParked();
    else if (this.hasMoreInStore) this.readNext();
  }

  /** Clients that wait for results that will not come any more. */
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

  /** A retry that is due takes its turn like a first attempt; the gate holds it to its rate. */
  private load(stored: StoredEntry): void {
    const isRetry = stored.entry.calls > 0;
    if (isRetry && this.waiting.size >= this.limits.waiting) return this.parked.add(stored.ref);
    const item = this.loaded.add(stored);
    if (isRetry && item.dueAt > this.clock.monotonic()) this.waiting.add(item);
    else this.ready.add(item);
  }
}
