import type { Batch, Clock, Delivery } from "../../plugin.js";
import { Holdings } from "./holdings.js";
import type { Item } from "./item.js";
import { Ready } from "./ready.js";
import type { EntryRef, QueueStore, StoredEntry } from "./store/store.js";
import { behind, joined, type Stretch } from "./stretch.js";
import type { Waiting } from "./waiting.js";

export interface HeadLimits {
  /** Entries in memory that wait for their turn. */
  readonly entries: number;
  /** Entries in memory that wait for the time of their retry. */
  readonly waiting: number;
  /** Bytes of payloads kept in memory. */
  readonly bytes: number;
  /** Milliseconds that an entry waits for its retry; what was written under other settings is held to it too. */
  readonly waitMs?: number;
}

export const HEAD_LIMITS: HeadLimits = { entries: 2048, waiting: 10_000, bytes: 32 * 1024 * 1024 };

/**
 * The front of the queue, in memory and bounded; the rest is read from the store as it comes to its turn.
 *
 * Invariants:
 * - An entry is in memory at most once: everything that was taken in is held until `done` or `park`.
 * - All pending entries up to `cursor` have been taken in, or are in `parked`. While it is behind, there may be more behind
 *   it in the store, and nothing new is taken in but by reading the store, so the order stays.
 * - `parked` covers all entries that wait for a retry and found no room in memory. They are read again when there is, and
 *   hold up nobody meanwhile.
 * - What is done or parked while the store is being read is not taken in by that reading, however old what it saw is.
 */
export class Head {
  private readonly store: QueueStore;
  private readonly clock: Clock;
  private readonly limits: HeadLimits;
  private readonly waiting: Waiting;
  private readonly onLoaded: (error?: unknown) => void;
  private readonly ready = new Ready();
  private readonly holdings: Holdings;
  private cursor: EntryRef | undefined;
  private isNotAtEnd = true;
  private parked: Stretch | undefined;
  private lastReadParked = false;
  /** Grows whenever something came into the store that is not in memory, and when all of it is to be looked at again. */
  private news = 0;
  private looks = 0;
  private goneWhileLoading: Set<EntryRef> | undefined;

  /** `waiting` is where it puts retries that are not due. `onLoaded` is called after each reading; with what went wrong. */
  constructor(
    store: QueueStore,
    clock: Clock,
    limits: HeadLimits,
    waiting: Waiting,
    onLoaded: (error?: unknown) => void,
  ) {
    this.store = store;
    this.clock = clock;
    this.limits = limits;
    this.waiting = waiting;
    this.onLoaded = onLoaded;
    this.holdings = new Holdings(clock, limits.bytes, limits.waitMs);
  }

  /** Entries that are ready to be taken. */
  get size(): number {
    return this.ready.size;
  }

  get first(): Item | undefined {
    return this.ready.first;
  }

  /** There may be pending entries in the store that are not in memory. */
  get isBehind(): boolean {
    return this.isNotAtEnd || this.parked !== undefined;
  }

  /** Nothing is pending, here or in the store, as far as is known. */
  get isEmpty(): boolean {
    return this.holdings.isEmpty && !this.isBehind;
  }

  /** Takes in what was just put into the store, if it is its turn; otherwise it will be read later. */
  add(stored: StoredEntry, batch: Batch, delivery: Delivery | undefined): void {
    const { ref } = stored;
    const isHeld = this.holdings.has(ref);
    const isMissed = this.cursor !== undefined && ref < this.cursor;
    const isLater = !isHeld && !isMissed && (this.isNotAtEnd || this.size >= this.limits.entries);
    if (isLater) {
      this.isNotAtEnd = true;
      this.news += 1;
    }
    if (isHeld || isLater) return delivery && this.holdings.attach(ref, delivery);
    if (!isMissed) this.cursor = ref;
    this.ready.add(this.holdings.take(stored, batch, delivery));
  }

  /** Takes in entries that are sent before all others: the parts of one that was taken. */
  adopt(stored: StoredEntry, batch: Batch, delivery: Delivery | undefined): Item {
    return this.holdings.take(stored, batch, delivery);
  }

  take(): Item | undefined {
    return this.ready.take();
  }

  /** The entry is pending no more. */
  done(item: Item): void {
    this.holdings.release(item);
    this.goneWhileLoading?.add(item.ref);
  }

  /** Keeps an entry in memory until the time of its retry, or has it read again when there is room. */
  keepOrPark(item: Item): void {
    if (this.waiting.size < this.limits.waiting) {
      this.holdings.relax(item);
      this.waiting.add(item);
    } else {
      this.holdings.putDown(item);
      this.goneWhileLoading?.add(item.ref);
      this.park(item.ref);
    }
  }

  /** No retry waits for its time any more, here or in the store. */
  hurry(): void {
    this.holdings.hurry();
    this.waiting.hurry(this.clock.monotonic());
  }

  /** There may be pending entries anywhere in the store that are not in memory. */
  lookAgain(): void {
    this.cursor = undefined;
    this.isNotAtEnd = true;
    this.news += 1;
    this.looks += 1;
  }

  /** Reads more from the store, if there is more and room for it. New ones and parked ones take turns. */
  refill(): void {
    if (this.goneWhileLoading !== undefined || this.size * 2 > this.limits.entries) return;
    const wantsParked = this.parked !== undefined && this.waiting.size * 2 <= this.limits.waiting;
    if (wantsParked && !(this.isNotAtEnd && this.lastReadParked)) this.readParked(this.parked!);
    else if (this.isNotAtEnd) this.readOn();
  }

  /** Clients that wait for results that will not come any more. */
  releaseDeliveries(): Delivery[] {
    return this.holdings.takeDeliveries();
  }

  private readOn(): void {
    const { news, looks } = this;
    const limit = this.limits.entries;
    this.lastReadParked = false;
    this.read(this.cursor, (found) => {
      if (looks === this.looks) this.cursor = found.at(-1)?.ref ?? this.cursor;
      if (found.length < limit && news === this.news) this.isNotAtEnd = false;
      return found;
    });
  }

  private readParked(stretch: Stretch): void {
    this.lastReadParked = true;
    this.parked = undefined;
    this.read(
      stretch.from - 1,
      (found) => {
        const isAll = found.length < this.limits.entries;
        const rest = isAll ? undefined : behind(stretch, found.at(-1)!.ref);
        this.parked = joined(this.parked, rest);
        return found.filter(({ ref }) => ref <= stretch.to);
      },
      () => {
        this.parked = joined(this.parked, stretch);
      },
    );
  }

  private read(
    after: EntryRef | undefined,
    choose: (found: readonly StoredEntry[]) => readonly StoredEntry[],
    failed = () => {},
  ): void {
    const gone = new Set<EntryRef>();
    this.goneWhileLoading = gone;
    this.store.pending(after, this.limits.entries).then(
      (found) => {
        this.goneWhileLoading = undefined;
        for (const stored of choose(found)) {
          if (!this.holdings.has(stored.ref) && !gone.has(stored.ref)) this.takeIn(stored);
        }
        this.onLoaded();
      },
      (error: unknown) => {
        this.goneWhileLoading = undefined;
        failed();
        this.onLoaded(error);
      },
    );
  }

  /** A retry that is due takes its turn like a first attempt; the gate holds it to its rate. */
  private takeIn(stored: StoredEntry): void {
    const isRetry = stored.entry.calls > 0;
    if (isRetry && this.waiting.size >= this.limits.waiting) return this.park(stored.ref);
    const item = this.holdings.take(stored);
    if (isRetry && item.dueAt > this.clock.monotonic()) this.waiting.add(item);
    else this.ready.add(item);
  }

  private park(ref: EntryRef): void {
    this.parked = joined(this.parked, { from: ref, to: ref });
  }
}
