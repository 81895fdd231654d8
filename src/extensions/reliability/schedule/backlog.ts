import type { Batch, Clock, Delivery } from "../../../plugin.js";
import type { QueueItem } from "../entry/queue-item.js";
import type { Bisections } from "../send/bisect.js";
import type { QueueStore, StoredEntry } from "../store/store.js";
import { DelayQueue } from "./delay-queue.js";
import { type HeadLimits, QueueHead } from "./queue-head.js";
import { GroupBuilder, type SendGroup } from "./send-group.js";

/** How long to wait before the store is asked again after it failed. */
export const STORE_RETRY_MS = 5000;

/**
 * All entries that are not being sent, and whose turn is next: parts of what was taken apart, retries that are due, and the
 * others in the order they came, as many together as may be sent in one request. Retries and first attempts take turns, so
 * that neither has to wait for the other. Parts of one entry come out one after the other.
 */
export class Backlog {
  readonly head: QueueHead;
  private readonly bisections: Bisections;
  private readonly clock: Clock;
  private readonly waiting = new DelayQueue();
  private readonly maxWaiting: number;
  private readonly maxRetries: number;
  /** These are sent before all others; the last one first. */
  private readonly urgent: SendGroup[] = [];
  /** Items that exceeded sending_queue.max_age while they waited for a retry. */
  private readonly expired: QueueItem[] = [];
  private lastWasRetry = false;
  private isFlushing = false;
  /** Monotonic time of the last `updateNow`: what is due, and in how long the next one is, follow one time. */
  private now: number;

  /** `onLoaded` is called after each reading of the store; the error is there when it failed. */
  constructor(
    store: QueueStore,
    clock: Clock,
    limits: HeadLimits,
    bisections: Bisections,
    onLoaded: (error?: unknown) => void,
  ) {
    this.clock = clock;
    this.bisections = bisections;
    this.now = clock.monotonic();
    this.head = new QueueHead(store, clock, limits, this.waiting, onLoaded);
    // More than that wait only when dead letters cannot be written.
    this.maxWaiting = limits.waiting + 2 * limits.entries;
    this.maxRetries = limits.maxRetries ?? Number.POSITIVE_INFINITY;
  }

  /** Reads the clock; all other methods use that time until the next call. */
  updateNow(): void {
    this.now = this.clock.monotonic();
  }

  /** Milliseconds from the last `updateNow` until the next retry is due; undefined when none waits. */
  get dueIn(): number | undefined {
    const due = this.waiting.nextDue;
    return due === undefined ? undefined : due - this.now;
  }

  /** Milliseconds from the last `updateNow` until entries that wait for others are sent without them. */
  get mergeDueIn(): number | undefined {
    const due = this.head.dueAt;
    return due === undefined ? undefined : due - this.now;
  }

  /** From now on nothing waits for others to be sent with. */
  flush(): void {
    this.isFlushing = true;
  }

  get hasWork(): boolean {
    if (this.urgent.length > 0 || this.hasFresh) return true;
    const { dueIn } = this;
    return dueIn !== undefined && dueIn <= 0;
  }

  /** A probe prefers an entry that has not failed: a bad one must not keep the breaker open. */
  next(probe: boolean): SendGroup | undefined {
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
  takeOldest(): QueueItem | undefined {
    return this.head.takeFirst() ?? this.waiting.take(Number.POSITIVE_INFINITY);
  }

  /** Takes out an entry that was queued before `time`, whether its turn has come or not. */
  takeQueuedBefore(time: number): QueueItem | undefined {
    if ((this.urgent.at(-1)?.items[0]?.queuedSince ?? time) < time) return this.takeFirstUrgent();
    if ((this.head.first?.queuedSince ?? time) < time) return this.head.takeFirst();
    if (this.expired.length === 0) this.expired.push(...this.waiting.takeQueuedBefore(time));
    return this.expired.pop();
  }

  /** Since when the oldest of them waits, or before; undefined when there is none. */
  get oldestQueuedSince(): number | undefined {
    const times = [
      this.urgent.at(-1)?.items[0]?.queuedSince,
      this.head.first?.queuedSince,
      this.waiting.oldestQueuedSince,
    ];
    const known = times.filter((time) => time !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  /** The item is tried again after that time. */
  retryIn(item: QueueItem, ms: number): void {
    item.dueAt = this.clock.monotonic() + ms;
    this.head.delayOrPark(item);
  }

  /** The turn of the item comes again after that time; it stays in memory. */
  delay(item: QueueItem, ms: number): void {
    item.dueAt = this.clock.monotonic() + ms;
    this.waiting.add(item);
  }

  /** The store failed to do its part for the item: its turn comes again when the store may have recovered. */
  delayForStore(item: QueueItem): void {
    this.delay(item, STORE_RETRY_MS);
  }

  /** The item was replaced in the store by these parts. */
  replaceWithParts(item: QueueItem, parts: readonly { readonly stored: StoredEntry; readonly batch: Batch }[]): void {
    const deliveries = item.delivery?.split(parts.map(({ batch }) => batch));
    const addPart = (part: StoredEntry, batch: Batch, delivery: Delivery | undefined) =>
      this.head.addPart(part, batch, delivery);
    this.bisections.addParts(
      item,
      parts.map(({ stored, batch }, i) => addPart(stored, batch, deliveries?.[i])),
    );
  }

  /** The item is not being sent any more; a part of the same bisection may be. */
  release(item: QueueItem): void {
    const next = this.bisections.release(item);
    if (next !== undefined) this.urgent.push({ items: [next] });
  }

  /** These are sent before all others, the first one first. */
  addUrgent(groups: readonly SendGroup[]): void {
    for (const group of [...groups].reverse()) this.urgent.push(group);
  }

  private get hasFresh(): boolean {
    return this.waiting.size < this.maxWaiting && this.head.isDue(this.mergeTime);
  }

  private get mergeTime(): number {
    return this.isFlushing ? Number.POSITIVE_INFINITY : this.now;
  }

  /** The next retry, with those behind it that are due too and may be sent with it. */
  private nextRetry(): SendGroup | undefined {
    const first = this.waiting.take(this.now);
    if (first === undefined) return undefined;
    if (first.batching === undefined) return { items: [first] };
    const group = new GroupBuilder(first, this.maxRetries);
    for (;;) {
      const next = this.waiting.first;
      if (next === undefined || next.dueAt > this.now || !group.add(next)) return { items: group.items };
      this.waiting.take(this.now);
    }
  }

  private nextFresh(): SendGroup | undefined {
    for (;;) {
      const group = this.takeUrgent() ?? this.takeReady();
      const part = group?.items[0]?.entry.parent === undefined ? undefined : group.items[0];
      if (part === undefined || this.bisections.tryAcquire(part)) return group;
    }
  }

  private takeReady(): SendGroup | undefined {
    const items = this.hasFresh ? this.head.takeGroup(this.mergeTime) : undefined;
    return items === undefined ? undefined : { items };
  }

  /** Halves of what was refused last come first; when that has led to two bad entries and nothing was taken, the largest part. */
  private takeUrgent(): SendGroup | undefined {
    const last = this.urgent.at(-1);
    const bisection = last?.bisection;
    if (bisection === undefined || bisection.hasSuccess || bisection.badEntries < 2) return this.urgent.pop();
    let largest = this.urgent.length - 1;
    for (const [i, group] of this.urgent.entries()) {
      if (group.bisection === bisection && group.items.length > this.urgent[largest]!.items.length) largest = i;
    }
    return this.urgent.splice(largest, 1)[0];
  }

  private takeFirstUrgent(): QueueItem | undefined {
    const { items, bisection } = this.urgent.pop()!;
    if (items.length > 1) this.urgent.push({ items: items.slice(1), bisection });
    return items[0];
  }
}
