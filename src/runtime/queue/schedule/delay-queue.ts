import { holdKeyOf, type QueueItem } from "../entry/queue-item.js";

/** Items that wait until a time, the earliest first: a binary heap. */
export class DelayQueue {
  private heap: QueueItem[] = [];
  /** No item was queued before this monotonic time, except those that are to become dead letters anyway. */
  private oldestSince = Number.POSITIVE_INFINITY;
  /** Number of held items by key. */
  private readonly held = new Map<string, number>();
  /** Number of items. Others only read it. */
  size = 0;
  /** Number of those that wait because their backend refuses everything. Others only read it. */
  heldCount = 0;

  heldOf(key: string): number {
    return this.held.get(key) ?? 0;
  }

  /** Monotonic time when the first item is due; undefined if there is none. */
  get nextDue(): number | undefined {
    return this.heap[0]?.dueAt;
  }

  /**
   * A lower bound of the monotonic time when the oldest item was queued; undefined if all items are to become dead
   * letters anyway.
   */
  get oldestQueuedSince(): number | undefined {
    return this.oldestSince === Number.POSITIVE_INFINITY ? undefined : this.oldestSince;
  }

  add(item: QueueItem): void {
    const { heap } = this;
    if (item.deadLetterCause === undefined) this.oldestSince = Math.min(this.oldestSince, item.queuedSince);
    this.siftUp(item, heap.push(item) - 1);
    this.count(item, 1);
  }

  /** Takes out the earliest item if it is due at the monotonic time `until`. */
  take(until: number): QueueItem | undefined {
    const first = this.heap[0];
    if (first === undefined || first.dueAt > until) return undefined;
    const last = this.heap.pop()!;
    if (last !== first) this.siftDown(last, 0);
    this.count(first, -1);
    return first;
  }

  /**
   * The item that came into the queue first. This scans all items, but it is only needed when one has to be dropped.
   */
  get oldest(): QueueItem | undefined {
    let oldest = this.heap[0];
    for (const item of this.heap) if (oldest === undefined || item.ref < oldest.ref) oldest = item;
    return oldest;
  }

  has(item: QueueItem): boolean {
    return this.heap.includes(item);
  }

  /** Takes out the item, whether it is due or not. */
  remove(item: QueueItem): void {
    const at = this.heap.indexOf(item);
    const last = this.heap.pop()!;
    this.count(item, -1);
    if (last === item) return;
    this.siftDown(last, at);
    if (this.heap[at] === last) this.siftUp(last, at);
  }

  /** Makes all items due at `time`, except those to which the retry limiter has given a time. */
  retryNow(time: number): void {
    for (const item of this.takeAll()) {
      if (!item.hasRetryTurn) item.dueAt = Math.min(item.dueAt, time);
      this.add(item);
    }
  }

  /** Makes the items held under this key due at `time`. */
  endHold(key: string, time: number): void {
    if (this.heldOf(key) === 0) return;
    for (const item of this.takeAll()) {
      if (item.isHeld && holdKeyOf(item) === key) item.dueAt = Math.min(item.dueAt, time);
      this.add(item);
    }
  }

  /** Takes out all items that were queued before `time`, except those that are to become dead letters anyway. */
  takeQueuedBefore(time: number): QueueItem[] {
    if (this.oldestSince >= time) return [];
    const isOld = ({ queuedSince, deadLetterCause }: QueueItem) => queuedSince < time && deadLetterCause === undefined;
    const all = this.takeAll();
    this.oldestSince = Number.POSITIVE_INFINITY;
    for (const item of all) if (!isOld(item)) this.add(item);
    return all.filter(isOld);
  }

  private takeAll(): QueueItem[] {
    const all = this.heap;
    this.heap = [];
    this.size = 0;
    this.held.clear();
    this.heldCount = 0;
    return all;
  }

  private count(item: QueueItem, change: 1 | -1): void {
    this.size += change;
    if (!item.isHeld) return;
    const key = holdKeyOf(item);
    const held = this.heldOf(key) + change;
    if (held === 0) this.held.delete(key);
    else this.held.set(key, held);
    this.heldCount += change;
  }

  /** Moves the item from `from` up to its place in the heap. */
  private siftUp(item: QueueItem, from: number): void {
    const { heap } = this;
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(item, heap[above]!)) break;
      heap[at] = heap[above]!;
      at = above;
    }
    heap[at] = item;
  }

  /** Moves the item from `from` down to its place in the heap. */
  private siftDown(item: QueueItem, from: number): void {
    const { heap } = this;
    let at = from;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below += 1;
      if (!isBefore(heap[below]!, item)) break;
      heap[at] = heap[below]!;
      at = below;
    }
    heap[at] = item;
  }
}

/** Items due at the same time keep their queue order. */
function isBefore(a: QueueItem, b: QueueItem): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.ref < b.ref);
}
