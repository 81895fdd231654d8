import type { Clock, Delivery } from "#contract";
import type { AttemptError } from "#contract/operations";
import type { Batch } from "#otlp";
import { type GroupBisection, GroupBuilder, type QueueItem, type SendGroup } from "../entry/queue-item.js";
import type { Bisections } from "../send/bisect.js";
import { type QueueStore, STORE_RETRY_MS, type StoredEntry } from "../store/store.js";
import { DelayQueue } from "./delay-queue.js";
import { type HeadLimits, QueueHead } from "./queue-head.js";

/**
 * Due retries of several pipelines are mixed. At most this many are skipped to find entries that can be sent together.
 */
const MAX_SKIPPED = 256;

/**
 * All entries that are not being sent, in the order in which they get their turn: parts of refused groups and entries,
 * due retries, and the others in queue order. As many entries as fit into one request are taken together. Retries and
 * first attempts alternate, so that neither has to wait for the other. Parts of one entry are sent one after the other.
 */
export class Backlog {
  readonly head: QueueHead;
  private readonly bisections: Bisections;
  private readonly clock: Clock;
  private readonly waiting = new DelayQueue();
  private readonly maxWaiting: number;
  private readonly limits: HeadLimits;
  /** Groups that are sent before all others, the last one first. */
  private readonly urgent: SendGroup[] = [];
  /** Items that exceeded sending_queue.max_age while they waited for a retry. */
  private readonly expired: QueueItem[] = [];
  private lastWasRetry = false;
  private isFlushing = false;
  /** Monotonic time of the last `updateNow`. All questions about what is due use this one time. */
  private now: number;

  /** `onLoaded` is called after each read of the store, with the error if it failed. */
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
    // More items wait only while dead letters cannot be written.
    this.maxWaiting = limits.waiting + 2 * limits.entries;
    this.limits = limits;
  }

  /** Reads the clock. `next`, `hasWork` and the others use that time until the next call. */
  updateNow(): void {
    this.now = this.clock.monotonic();
  }

  /**
   * Number of entries in memory that wait for a retry. Entries for which there was no room in memory are not counted.
   */
  get waitingRetries(): number {
    return this.waiting.size;
  }

  /** Milliseconds until the first retry is due; undefined if none waits. */
  get nextRetryIn(): number | undefined {
    const due = this.waiting.nextDue;
    return due === undefined ? undefined : Math.max(0, due - this.clock.monotonic());
  }

  /** Milliseconds from the last `updateNow` until the next retry is due; undefined if none waits. */
  get dueIn(): number | undefined {
    if (this.waiting.size === 0) return undefined;
    const due = this.waiting.nextDue;
    return due === undefined ? undefined : due - this.now;
  }

  /** Milliseconds from the last `updateNow` until entries that wait to be merged with others are sent without them. */
  get mergeDueIn(): number | undefined {
    const due = this.head.dueAt;
    return due === undefined ? undefined : due - this.now;
  }

  /** Stops entries from waiting to be merged with others. */
  flush(): void {
    this.isFlushing = true;
  }

  get hasWork(): boolean {
    if (this.urgent.length > 0 || this.hasFresh) return true;
    const { dueIn } = this;
    return dueIn !== undefined && dueIn <= 0;
  }

  /**
   * Takes out the group that is sent next, with at most `maxEntries` entries. A probe prefers an entry that has not
   * failed, and among failed ones any but `avoided`, so that a bad entry does not keep the breaker open.
   */
  next(probe: boolean, maxEntries?: number, avoided?: QueueItem): SendGroup | undefined {
    const isRetryFirst = !probe && !this.lastWasRetry;
    const first = isRetryFirst ? this.nextRetry(maxEntries) : this.nextFresh(maxEntries);
    if (first !== undefined) {
      this.lastWasRetry = isRetryFirst;
      return first;
    }
    this.lastWasRetry = !isRetryFirst;
    return isRetryFirst ? this.nextFresh(maxEntries) : this.nextRetry(maxEntries, probe ? avoided : undefined);
  }

  /** Takes out the oldest entry in memory, whether it is its turn or not. */
  takeOldest(): QueueItem | undefined {
    const { oldest: retry } = this.waiting;
    const { first } = this.head;
    const urgent = this.oldestUrgent();
    const ref = Math.min(...[retry, first, urgent?.items[0]].map((item) => item?.ref ?? Number.POSITIVE_INFINITY));
    if (first?.ref === ref) return this.head.takeFirst();
    if (urgent?.items[0]?.ref === ref) return this.takeFromUrgent(this.urgent.indexOf(urgent));
    if (retry !== undefined) this.waiting.remove(retry);
    return retry;
  }

  /** Takes out an entry that was queued before `time`, whether it is its turn or not. */
  takeQueuedBefore(time: number): QueueItem | undefined {
    const urgent = this.takeUrgentQueuedBefore(time);
    if (urgent !== undefined) return urgent;
    if ((this.head.first?.queuedSince ?? time) < time) return this.head.takeFirst();
    if (this.expired.length === 0) this.expired.push(...this.waiting.takeQueuedBefore(time));
    return this.expired.pop();
  }

  /** A lower bound of the monotonic time when the oldest entry was queued; undefined if there is none. */
  get oldestQueuedSince(): number | undefined {
    const ofUrgent = this.urgent.map(({ items }) => items[0]!.queuedSince);
    const times = [...ofUrgent, this.head.first?.queuedSince, this.waiting.oldestQueuedSince];
    const known = times.filter((time) => time !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  /** Retries the item after the delay. It may be unloaded from memory until then. */
  retryIn(item: QueueItem, ms: number): void {
    item.dueAt = this.clock.monotonic() + ms;
    this.head.delayOrPark(item);
  }

  /** Gives the item its next turn after the delay, and keeps it in memory. */
  delay(item: QueueItem, ms: number): void {
    item.dueAt = this.clock.monotonic() + ms;
    this.waiting.add(item);
  }

  /** Holds the item because the backend refuses everything. Its next turn comes after the delay, or with `endHold`. */
  hold(item: QueueItem, ms: number): void {
    item.isHeld = true;
    this.retryIn(item, ms);
  }

  /** Makes all items held under this key due now. */
  endHold(key: string): void {
    this.waiting.endHold(key, this.clock.monotonic());
    this.head.endHold(key);
  }

  /** Delays the item until the store may have recovered from an error. */
  delayForStore(item: QueueItem): void {
    this.delay(item, STORE_RETRY_MS);
  }

  /** To be called when the item was replaced in the store by these parts. */
  replaceWithParts(item: QueueItem, parts: readonly { readonly stored: StoredEntry; readonly batch: Batch }[]): void {
    const deliveries = item.delivery?.split(parts.map(({ batch }) => batch));
    const addPart = (part: StoredEntry, batch: Batch, delivery: Delivery | undefined) =>
      Object.assign(this.head.addPart(part, batch, delivery), { refused: item.refused });
    this.bisections.addParts(
      item,
      parts.map(({ stored, batch }, i) => addPart(stored, batch, deliveries?.[i])),
    );
  }

  /**
   * To be called when some records of the item were delivered and these shares replaced it in the store. They are
   * retried after the delay.
   */
  replaceWithShares(
    item: QueueItem,
    shares: readonly { readonly stored: StoredEntry; readonly batch: Batch }[],
    ms: number,
  ): void {
    const deliveries = item.delivery?.split(shares.map(({ batch }) => batch));
    for (const [i, { stored, batch }] of shares.entries()) {
      const share = this.head.addPart(stored, batch, deliveries?.[i]);
      const { maxTogether, failingSince, failedCalls } = item;
      this.retryIn(Object.assign(share, { maxTogether, failingSince, failedCalls }), ms);
    }
  }

  /** To be called when the item is no longer being sent. The next part of its bisection gets a turn. */
  release(item: QueueItem): void {
    const next = this.bisections.open.size === 0 ? undefined : this.bisections.release(item);
    if (next !== undefined) this.urgent.push({ items: [next] });
  }

  /** Adds groups that are sent before all others, the first one first. */
  addUrgent(groups: readonly SendGroup[]): void {
    for (const group of [...groups].reverse()) this.urgent.push(group);
  }

  /**
   * Settles entries that wait for a retry as refused permanently, together and before all others. Entries that are not
   * in memory are skipped.
   */
  settleRefused(items: readonly QueueItem[], refusal: AttemptError): void {
    const waiting = items.filter((item) => this.waiting.has(item));
    if (waiting.length === 0) return;
    for (const item of waiting) {
      this.waiting.remove(item);
      item.isHeld = false;
      item.hasRetryTurn = true;
    }
    this.addUrgent([{ items: waiting, refusal }]);
  }

  private get hasFresh(): boolean {
    return this.waiting.size < this.maxWaiting && this.head.isDue(this.mergeTime);
  }

  private get mergeTime(): number {
    return this.isFlushing ? Number.POSITIVE_INFINITY : this.now;
  }

  /**
   * Takes out the next retry, with other due ones that may be sent with it. `avoided` is taken only if no other is due.
   */
  private nextRetry(maxEntries: number | undefined, avoided?: QueueItem): SendGroup | undefined {
    const first = this.takeDue(avoided);
    if (first === undefined) return undefined;
    const group = new GroupBuilder(first, this.limits, maxEntries);
    const others: QueueItem[] = [];
    while (!group.isFull && others.length < MAX_SKIPPED) {
      const next = this.waiting.take(this.now);
      if (next === undefined) break;
      if (next === avoided || !group.add(next)) others.push(next);
    }
    for (const other of others) this.waiting.add(other);
    return { items: group.items };
  }

  private takeDue(avoided: QueueItem | undefined): QueueItem | undefined {
    if (this.waiting.size === 0) return undefined;
    const first = this.waiting.take(this.now);
    if (first === undefined || first !== avoided) return first;
    const other = this.waiting.take(this.now);
    if (other !== undefined) this.waiting.add(first);
    return other ?? first;
  }

  private nextFresh(maxEntries: number | undefined): SendGroup | undefined {
    for (;;) {
      const group = this.takeUrgent() ?? this.takeReady(maxEntries);
      const part = group?.items[0]?.entry.parent === undefined ? undefined : group.items[0];
      if (part === undefined || this.bisections.tryAcquire(part)) return group;
    }
  }

  private takeReady(maxEntries: number | undefined): SendGroup | undefined {
    const items = this.hasFresh ? this.head.takeGroup(this.mergeTime, maxEntries) : undefined;
    return items === undefined ? undefined : { items };
  }

  /** Parts of the most recently refused group come first, in the order of its search. */
  private takeUrgent(): SendGroup | undefined {
    const last = this.urgent.findLastIndex(({ bisection }) => !bisection?.isBusy || bisection.hasSuccess);
    if (last === -1) return undefined;
    const { bisection } = this.urgent[last]!;
    const next = bisection === undefined || bisection.hasSuccess ? last : this.nextOf(bisection);
    return this.urgent.splice(next, 1)[0];
  }

  private nextOf(bisection: GroupBisection): number {
    const places = [...this.urgent.keys()].filter((at) => this.urgent[at]!.bisection === bisection);
    return places[bisection.next(places.map((at) => this.urgent[at]!.items.length))]!;
  }

  /** Takes the first entry out of the last urgent group that begins with an entry queued before `time`. */
  private takeUrgentQueuedBefore(time: number): QueueItem | undefined {
    const at = this.urgent.findLastIndex(({ items }) => items[0]!.queuedSince < time);
    return at === -1 ? undefined : this.takeFromUrgent(at);
  }

  private takeFromUrgent(at: number): QueueItem | undefined {
    const { items, bisection } = this.urgent[at]!;
    this.urgent.splice(at, 1, ...(items.length > 1 ? [{ items: items.slice(1), bisection }] : []));
    return items[0];
  }

  /** The urgent group that begins with the oldest entry. */
  private oldestUrgent(): SendGroup | undefined {
    let oldest = this.urgent[0];
    for (const group of this.urgent) if (group.items[0]!.ref < oldest!.items[0]!.ref) oldest = group;
    return oldest;
  }
}
