import type { Batch, Clock, Delivery } from "../../plugin.js";
import { Families } from "./bisect.js";
import type { Head } from "./head.js";
import type { Item } from "./item.js";
import type { StoredEntry } from "./store/store.js";
import { Waiting } from "./waiting.js";

/** More than this many waiting retries, and no first attempts are begun: what waits is kept in memory. */
const MOST_WAITING = 10_000;

/**
 * All entries that are not being sent, and whose turn is next: parts of one that was taken apart first, then retries that
 * are due, then the others in the order they came. Parts of one entry come out one after the other.
 */
export class Backlog {
  readonly families = new Families();
  private readonly head: Head;
  private readonly clock: Clock;
  private readonly waiting = new Waiting();
  /** To be sent before all others; the last one first. */
  private readonly urgent: Item[] = [];

  constructor(head: Head, clock: Clock) {
    this.head = head;
    this.clock = clock;
  }

  /** Milliseconds until the next retry is due; undefined when none waits. */
  get dueIn(): number | undefined {
    const due = this.waiting.nextDue;
    return due === undefined ? undefined : due - this.clock.monotonic();
  }

  get hasWork(): boolean {
    if (this.urgent.length > 0 || this.hasFresh) return true;
    const { dueIn } = this;
    return dueIn !== undefined && dueIn <= 0;
  }

  /** A probe prefers an entry that has not failed: a bad one must not keep the breaker open. */
  next(probe: boolean): Item | undefined {
    if (probe) return this.nextFresh() ?? this.nextRetry();
    return this.nextRetry() ?? this.nextFresh();
  }

  /** The oldest, whether its turn has come or not. */
  oldest(): Item | undefined {
    return this.head.take() ?? this.waiting.take(Number.POSITIVE_INFINITY);
  }

  /** Its payload may go from memory until then. */
  wait(item: Item, ms: number): void {
    this.head.relax(item);
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
    return this.head.size > 0 && this.waiting.size < MOST_WAITING;
  }

  private nextRetry(): Item | undefined {
    return this.waiting.take(this.clock.monotonic());
  }

  private nextFresh(): Item | undefined {
    for (;;) {
      const item = this.urgent.pop() ?? (this.hasFresh ? this.head.take() : undefined);
      if (item === undefined || item.entry.parent === undefined || this.families.enter(item)) return item;
    }
  }
}
