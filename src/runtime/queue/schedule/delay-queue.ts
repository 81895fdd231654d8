import type { AttemptError } from "#contract/operations";
import type { Batching } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import { type BatchingOf, holdKeyOf, type QueueItem, type SendGroup } from "../entry/queue-item.js";
import { isWorthBisecting } from "../send/bisect.js";
import type { AttemptResult } from "../send/sender.js";

/** Items that wait until a time, the earliest first: a binary heap. */
export class DelayQueue {
  private heap: QueueItem[] = [];
  /** No item was queued before this monotonic time, except those that are to become dead letters anyway. */
  private oldestSince = Number.POSITIVE_INFINITY;
  /** Number of held items by key. */
  private readonly held = new Map<string, number>();
  private allHeld = 0;

  get size(): number {
    return this.heap.length;
  }

  /** Number of items that wait because their backend refuses everything. */
  get heldCount(): number {
    return this.allHeld;
  }

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
    this.countHeld(item, 1);
  }

  /** Takes out the earliest item if it is due at the monotonic time `until`. */
  take(until: number): QueueItem | undefined {
    const first = this.heap[0];
    if (first === undefined || first.dueAt > until) return undefined;
    const last = this.heap.pop()!;
    if (last !== first) this.siftDown(last, 0);
    this.countHeld(first, -1);
    return first;
  }

  /**
   * The item that came into the queue first. This scans all items, but it is only needed when one has to be dropped.
   */
  get oldest(): QueueItem | undefined {
    let oldest = this.heap[0];
    for (const item of this.heap) if (item.ref < oldest!.ref) oldest = item;
    return oldest;
  }

  has(item: QueueItem): boolean {
    return this.heap.includes(item);
  }

  /** Takes out the item, whether it is due or not. */
  remove(item: QueueItem): void {
    const at = this.heap.indexOf(item);
    const last = this.heap.pop()!;
    this.countHeld(item, -1);
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
    this.held.clear();
    this.allHeld = 0;
    return all;
  }

  private countHeld(item: QueueItem, change: 1 | -1): void {
    if (!item.isHeld) return;
    const key = holdKeyOf(item);
    const count = this.heldOf(key) + change;
    if (count === 0) this.held.delete(key);
    else this.held.set(key, count);
    this.allHeld += change;
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

/**
 * How waiting entries are merged if the config does not ask for larger requests. No entry waits for others, because a
 * free slot is used at once. A request stays under the 1 MiB that common proxies accept by default.
 */
const BACKLOG_BATCHING: Batching = { timeoutMs: 0, minSize: 0, maxSize: 1024 * 1024, sizer: "bytes", metadataKeys: [] };

/**
 * Returns the configured batching, or the batching for backlogs if merge_backlog is on. Without retries the first
 * attempt is the last one, and no entry may be given up because of others in its request, so each is sent alone.
 */
export function createSendBatchingOf(
  settings: CompleteSettings,
  configured: BatchingOf,
  isSealing: boolean,
): BatchingOf {
  const { enabled, max_retries } = settings.retry_on_failure;
  const isMerging = settings.sending_queue.merge_backlog && enabled && max_retries > 0;
  const wanted = isSealing ? withLargeRequests(configured) : configured;
  return isMerging ? (pipeline) => wanted(pipeline) ?? BACKLOG_BATCHING : wanted;
}

/** A sealed entry is no request over gRPC, but an object: small ones cost more than large ones. */
const MAX_SEALED_BYTES = 16 * 1024 * 1024;

/** Returns the same object for the same batching, by which entries are known to belong together. */
function withLargeRequests(configured: BatchingOf): BatchingOf {
  const large = new Map<Batching, Batching>();
  return (pipeline) => {
    const batching = configured(pipeline);
    if (batching === undefined) return undefined;
    const known = large.get(batching) ?? { ...batching, maxBytes: MAX_SEALED_BYTES };
    large.set(batching, known);
    return known;
  };
}

/** The limit is lifted when it reaches this number. */
const MAX_ENTRIES = 4096;
/**
 * Once a request was not taken completely, this many complete ones in a row are needed before the limit grows again, and
 * ten times as many whenever requests turn out to fail because of their size.
 */
const SUCCESSES_TO_GROW = 100;
const GROW_LATER = 10;

/**
 * Limits how many waiting entries are merged into one request. The user did not ask for large requests, so they must do
 * no harm:
 *
 * - The limit starts at one and doubles with every request that is taken completely.
 * - A merged request that is refused permanently halves it.
 * - A request with some rejected records sets it to one. It is not known which records these were, so all entries of
 *   such a request become dead letters.
 * - A merged request that fails sets it to what was taken meanwhile, if a merged request failed before and smaller ones
 *   were taken since: a proxy may reset connections over large requests without a word. In an outage nothing is taken, so
 *   an outage changes nothing.
 * - After any of these, it doubles only with every hundredth request that has as many entries as it allows and is taken
 *   completely.
 */
export class MergeLimit {
  private current = 1;
  private takenInRow = 0;
  private takenToGrow = 1;
  /** Entries of the last merged request that failed, until one as large is taken. */
  private failedEntries: number | undefined;
  /** Entries of the largest request that was taken since then. */
  private takenSince = 0;

  /**
   * The maximum number of entries in a request that starts with this item. Batching asked for by the config is not
   * limited here.
   */
  maxEntriesWith({ batching }: QueueItem): number {
    return batching === BACKLOG_BATCHING ? this.current : Number.POSITIVE_INFINITY;
  }

  /** Adjusts the limit to the result of a request. */
  onResult(group: SendGroup, result: AttemptResult): void {
    const { length } = group.items;
    if (result.kind === "delivered") this.onDelivered(length, result.partial?.rejected ?? 0);
    if (result.kind !== "failed" || !isMerged(group)) return;
    if (isWorthBisecting(result.error)) this.lower(Math.ceil(length / 2));
    else if (mayBeTooLarge(result.error)) this.onFailed(length);
  }

  private onDelivered(entries: number, rejected: number): void {
    if (rejected > 0) return this.lower(1);
    this.noteTaken(entries);
    const isTooSmallToTell = this.takenToGrow > 1 && entries < this.current;
    if (this.current === Number.POSITIVE_INFINITY || isTooSmallToTell) return;
    this.takenInRow += 1;
    if (this.takenInRow < this.takenToGrow) return;
    this.takenInRow = 0;
    this.current = this.current * 2 < MAX_ENTRIES ? this.current * 2 : Number.POSITIVE_INFINITY;
  }

  private noteTaken(entries: number): void {
    if (this.failedEntries === undefined) return;
    if (entries >= this.failedEntries) this.failedEntries = undefined;
    else this.takenSince = Math.max(this.takenSince, entries);
  }

  private onFailed(entries: number): void {
    if (this.takenSince > 0 && entries > this.takenSince) {
      const takenToGrow = this.takenToGrow * GROW_LATER;
      this.lower(this.takenSince);
      this.takenToGrow = Math.max(this.takenToGrow, takenToGrow);
    }
    this.failedEntries = entries;
    this.takenSince = 0;
  }

  private lower(to: number): void {
    this.current = Math.min(this.current, to);
    this.takenInRow = 0;
    this.takenToGrow = Math.max(this.takenToGrow, SUCCESSES_TO_GROW);
  }
}

/** Whether a smaller request may succeed. An answer that blames the entry is about its content. */
function mayBeTooLarge({ kind, blame }: AttemptError): boolean {
  return kind !== "permanent" && blame !== "entry";
}

/** Parts of a refused request are excluded, because its refusal has been counted already. */
function isMerged({ items, bisection }: SendGroup): boolean {
  return bisection === undefined && items.length > 1 && items[0]!.batching === BACKLOG_BATCHING;
}
