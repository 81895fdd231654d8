import type { Batch, Clock, Delivery } from "../../plugin.js";
import { Families } from "./bisect.js";
import { Head, type HeadLimits } from "./head.js";
import type { Item } from "./item.js";
import type { QueueStore, StoredEntry } from "./store/store.js";
import { Waiting } from "./waiting.js";

/**
 * All entries that are not being sent, and whose turn is next: parts of one that was taken apart, retries that are due,
 * and the others in the order they came. Retries and first attempts take turns, so that neither has to wait for the other.
 * Parts of one entry come out one after the other.
 */
export class Backlog {
  readonly families = new Families();
  readonly head: Head;
  private readonly clock: Clock;
  private readonly waiting = new Waiting();
  private readonly mostWaiting: number;
  /** To be sent before all others; the last one first. */
  private readonly urgent: Item[] = [];
  /** Were found too old while they waited for a retry. */
  private readonly tooOld: Item[] = [];
  private lastWasRetry = false;
  /** Monotonic time of the last look: what is due and how long it is until the next one is must be told by the same time. */
  private now: number;

  /** `onLoaded` is called after each reading of the store; the error is there when it failed. */
  constructor(store: QueueStore, clock: Clock, limits: HeadLimits, onLoaded: (error?: unknown) => void) {
    this.clock = clock;
    this.now = clock.monotonic();
    this.head = new Head(store, clock, limits, this.waiting, onLoaded);
    // More than that wait only when dead letters cannot be written.
    this.mostWaiting = limits.waiting + 2 * limits.entries;
  }

  /** Looks at the clock: from here on it is this time, until the next look. */
  look(): void {
    this.now = this.clock.monotonic();
  }

  /** Milliseconds from the last look until the next retry is due; undefined when none waits. */
  get dueIn(): number | undefined {
    const due = this.waiting.nextDue;
    return due === undefined ? undefined : due - this.now;
  }

  get hasWork(): boolean {
    if (this.urgent.length > 0 || this.hasFresh) return true;
    const { dueIn } = this;
    return dueIn !== undefined && dueIn <= 0;
  }

  /** A probe prefers an entry that has not failed: a bad one must not keep the breaker open. */
  next(probe: boolean): Item | undefined {
    const isRetryFirst = !probe && !this.lastWasRetry;
    const first = isRetryFirst ? this.nextRetry() : this.nextFresh();
    if (first !== undefined) {
      this.lastWasRetry = isRetryFirst;
      return first;
    }
    this.lastWasRetry = !isRetryFirst;
    return isRetryFirst ? this.nextFresh() : this.nextRetry();
  }

  /** The oldest, whether its turn has come or not. */
  oldest(): Item | undefined {
    return this.head.take() ?? this.waiting.take(Number.POSITIVE_INFINITY);
  }

  /** Takes out an entry that has waited since before `then`, whether its turn has come or not. */
  takeBornBefore(then: number): Item | undefined {
    if ((this.urgent.at(-1)?.bornAt ?? then) < then) return this.urgent.pop();
    if ((this.head.first?.bornAt ?? then) < then) return this.head.take();
    if (this.tooOld.length === 0) this.tooOld.push(...this.waiting.takeBornBefore(then));
    return this.tooOld.pop();
  }

  /** Since when the oldest of them waits, or before; undefined when there is none. */
  get bornFirst(): number | undefined {
    const born = [this.urgent.at(-1)?.bornAt, this.head.first?.bornAt, this.waiting.bornFirst];
    const known = born.filter((time) => time !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  /** It is tried again after that time. */
  retryIn(item: Item, ms: number): void {
    item.dueAt = this.clock.monotonic() + ms;
    this.head.keepOrPark(item);
  }

  /** Its turn comes again after that time; it stays in memory. */
  wait(item: Item, ms: number): void {
    item.dueAt = this.clock.monotonic() + ms;
    this.waiting.add(item);
  }

  /** It was replaced by these parts. */
  replaced(item: Item, parts: readonly { readonly stored: StoredEntry; readonly batch: Batch }[]): void {
    const deliveries = item.delivery?.split(parts.map(({ batch }) => batch));
    const adopt = (part: StoredEntry, batch: Batch, delivery: Delivery | undefined) =>
      this.head.adopt(part, batch, delivery);
    this.families.add(
      item,
      parts.map(({ stored, batch }, i) => adopt(stored, batch, deliveries?.[i])),
    );
  }

  /** It is not being sent any more. */
  left(item: Item): void {
    const next = this.families.leave(item);
    if (next !== undefined) this.urgent.push(next);
  }

  private get hasFresh(): boolean {
    return this.head.size > 0 && this.waiting.size < this.mostWaiting;
  }

  private nextRetry(): Item | undefined {
    return this.waiting.take(this.now);
  }

  private nextFresh(): Item | undefined {
    for (;;) {
      const item = this.urgent.pop() ?? (this.hasFresh ? this.head.take() : undefined);
      if (item === undefined || item.entry.parent === undefined || this.families.enter(item)) return item;
    }
  }
}
