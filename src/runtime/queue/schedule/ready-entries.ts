import { type Clock, type Delivery, SteadyTime } from "#contract";
import { type Batching, MAX_MERGED_BYTES } from "#contract/operators";
import type { Batch } from "#otlp";
import {
  type BatchingOf,
  createQueueItem,
  GroupBuilder,
  type GroupLimits,
  isRetry,
  type QueueItem,
  sizeIn,
} from "../entry/queue-item.js";
import type { EntryRef, StoredEntry } from "../store/store.js";

/** Up to this many empty lines are kept, because creating a line for every entry is expensive. */
const MAX_IDLE_LINES = 16;

/**
 * Entries that are ready to be sent, in queue order. Entries that may be merged wait in lines, one for each pipeline
 * and batch key, until there are enough of them or the first has waited long enough. Other entries never wait. Retries
 * are not sent with first attempts. They have lines of their own if entries wait to be merged; otherwise they stay in
 * order with the others.
 */
export class ReadyEntries {
  private readonly limits: GroupLimits;
  private readonly lines = new Map<string, Line>();
  private count = 0;
  /** No line is due before this monotonic time. */
  private earliestDue = Number.POSITIVE_INFINITY;

  constructor(limits: GroupLimits) {
    this.limits = limits;
  }

  get size(): number {
    return this.count;
  }

  /** Monotonic time at which the next line may be due; undefined if there are no entries. */
  get dueAt(): number | undefined {
    return this.count === 0 ? undefined : this.earliestDue;
  }

  /** The oldest entry. */
  get first(): QueueItem | undefined {
    return this.oldestLine()?.first;
  }

  add(item: QueueItem): void {
    const key = lineKeyOf(item);
    let line = this.lines.get(key);
    if (line === undefined) {
      line = new Line(key, item.batching);
      this.lines.set(key, line);
    }
    line.add(item);
    this.count += 1;
    this.earliestDue = Math.min(this.earliestDue, line.dueAt);
  }

  /** Whether an entry may be sent at that monotonic time. */
  isDue(now: number): boolean {
    return this.dueLine(now) !== undefined;
  }

  /**
   * Takes out the entries that are sent together next, `maxEntries` at most. Lines take turns. Returns undefined if no
   * line is due.
   */
  takeGroup(now: number, maxEntries?: number): readonly QueueItem[] | undefined {
    const line = this.dueLine(now);
    if (line === undefined) return undefined;
    const items = line.takeGroup(this.limits, maxEntries);
    this.count -= items.length;
    this.moveToBack(line);
    return items;
  }

  /** Takes out the oldest entry, due or not. */
  takeFirst(): QueueItem | undefined {
    const line = this.oldestLine();
    if (line === undefined) return undefined;
    this.count -= 1;
    const item = line.take();
    if (line.size === 0) this.moveToBack(line);
    return item;
  }

  /** Empty lines that are kept are moved too, because they may fill again before the others have had their turn. */
  private moveToBack(line: Line): void {
    if (this.lines.size === 1) return;
    this.lines.delete(line.key);
    if (line.size > 0 || this.lines.size < MAX_IDLE_LINES) this.lines.set(line.key, line);
  }

  private dueLine(now: number): Line | undefined {
    if (now < this.earliestDue) return undefined;
    let earliest = Number.POSITIVE_INFINITY;
    for (const line of this.lines.values()) {
      const { dueAt } = line;
      if (line.size > 0 && dueAt <= now) return line;
      earliest = Math.min(earliest, dueAt);
    }
    this.earliestDue = earliest;
    return undefined;
  }

  private oldestLine(): Line | undefined {
    let oldest: Line | undefined;
    for (const line of this.lines.values()) {
      if (line.size > 0 && (oldest === undefined || line.first!.ref < oldest.first!.ref)) oldest = line;
    }
    return oldest;
  }
}

function lineKeyOf(item: QueueItem): string {
  if (item.batching === undefined) return "";
  return isRetry(item) && item.batching.minSize > 0 ? `retry ${item.batchKey}` : item.batchKey;
}

/** Entries that may be merged with each other, first in, first out. The first one is at `start`. */
class Line {
  readonly key: string;
  private readonly batching: Batching | undefined;
  private items: QueueItem[] = [];
  private start = 0;
  /** Total size of the entries, in the unit of the batching. */
  private amount = 0;
  private bytes = 0;

  constructor(key: string, batching: Batching | undefined) {
    this.key = key;
    this.batching = batching;
  }

  get size(): number {
    return this.items.length - this.start;
  }

  get first(): QueueItem | undefined {
    return this.items[this.start];
  }

  /** Monotonic time at which the entries are sent, whether more have come or not. */
  get dueAt(): number {
    const { batching, first } = this;
    if (first === undefined) return Number.POSITIVE_INFINITY;
    const isFull =
      batching === undefined ||
      this.amount >= batching.minSize ||
      this.bytes >= (batching.maxBytes ?? MAX_MERGED_BYTES);
    return isFull ? Number.NEGATIVE_INFINITY : first.queuedSince + batching.timeoutMs;
  }

  add(item: QueueItem): void {
    this.items.push(item);
    this.count(item, 1);
  }

  take(): QueueItem | undefined {
    const item = this.items[this.start];
    if (item === undefined) return undefined;
    this.count(item, -1);
    this.start += 1;
    if (this.start === this.items.length) {
      this.items = [];
      this.start = 0;
    } else if (this.start > 1024 && this.start * 2 > this.items.length) {
      this.items = this.items.slice(this.start);
      this.start = 0;
    }
    return item;
  }

  takeGroup(limits: GroupLimits, maxEntries?: number): readonly QueueItem[] {
    const first = this.take()!;
    if (this.batching === undefined || this.size === 0) return [first];
    const group = new GroupBuilder(first, limits, maxEntries);
    while (this.first !== undefined && group.add(this.first)) this.take();
    return group.items;
  }

  private count(item: QueueItem, sign: 1 | -1): void {
    if (this.batching === undefined) return;
    this.amount += sign * sizeIn(this.batching, item);
    this.bytes += sign * item.entry.bytes;
  }
}

/**
 * The entries in memory, each at most once, with as many of their payloads as fit. Also holds the deliveries of clients
 * that wait for the result of an entry, whether the entry is in memory or not.
 */
export class LoadedItems {
  private readonly clock: Clock;
  private readonly time: SteadyTime;
  private readonly maxBytes: number;
  private readonly maxWaitMs: number;
  private readonly batchingOf: BatchingOf | undefined;
  private readonly items = new Map<EntryRef, QueueItem>();
  /** Deliveries whose entries are not in memory. */
  private readonly deliveries = new Map<EntryRef, Delivery>();
  private bytes = 0;
  /** Entries last tried before this monotonic time do not wait for their retry. */
  private retryNowAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, maxBytes: number, maxWaitMs = Number.POSITIVE_INFINITY, batchingOf?: BatchingOf) {
    this.clock = clock;
    this.time = new SteadyTime(clock);
    this.maxBytes = maxBytes;
    this.maxWaitMs = maxWaitMs;
    this.batchingOf = batchingOf;
  }

  get isEmpty(): boolean {
    return this.items.size === 0;
  }

  has(ref: EntryRef): boolean {
    return this.items.has(ref);
  }

  add(stored: StoredEntry, batch?: Batch, delivery?: Delivery): QueueItem {
    const monotonic = this.clock.monotonic();
    const item = createQueueItem(stored, this.time.now(), monotonic, this.maxWaitMs, this.batchingOf);
    if (item.lastTriedAt < this.retryNowAt) item.dueAt = Math.min(item.dueAt, monotonic);
    item.delivery = delivery ?? this.deliveries.get(item.ref);
    this.deliveries.delete(item.ref);
    if (batch !== undefined && this.bytes + batch.byteLength <= this.maxBytes) {
      item.batch = batch;
      this.bytes += batch.byteLength;
    }
    this.items.set(item.ref, item);
    return item;
  }

  /** Makes every retry in the store due as soon as it is loaded. */
  retryNow(): void {
    this.retryNowAt = this.clock.monotonic();
  }

  /** Removes an entry from memory. Does not settle its delivery. */
  remove(item: QueueItem): void {
    this.forgetPayload(item);
    this.items.delete(item.ref);
  }

  /** Removes an entry that will be read again. Its delivery is kept until then. */
  unload(item: QueueItem): void {
    this.remove(item);
    if (item.delivery !== undefined) this.deliveries.set(item.ref, item.delivery);
  }

  /** Releases the payload if memory is short. It can be read again. */
  trimPayload(item: QueueItem): void {
    if (this.bytes > this.maxBytes / 2) this.forgetPayload(item);
  }

  attachDelivery(ref: EntryRef, delivery: Delivery): void {
    const item = this.items.get(ref);
    if (item === undefined) this.deliveries.set(ref, delivery);
    else item.delivery = delivery;
  }

  /** Removes and returns the deliveries of clients that wait for a result. */
  takeDeliveries(): Delivery[] {
    const waiting = [...this.deliveries.values()];
    this.deliveries.clear();
    for (const item of this.items.values()) {
      if (item.delivery !== undefined) waiting.push(item.delivery);
      item.delivery = undefined;
    }
    return waiting;
  }

  /** Releases the payload. It can be read again. */
  forgetPayload(item: QueueItem): void {
    if (item.batch === undefined) return;
    this.bytes -= item.batch.byteLength;
    item.batch = undefined;
  }
}

/** A range of entries in the store, both ends included. */
interface RefRange {
  readonly from: EntryRef;
  readonly to: EntryRef;
}

/**
 * The ranges of the store with waiting entries that found no room in memory. Entries that wait for a retry are read
 * again when there is room. Entries that the backend refuses as a whole need not be read before the hold ends, so they
 * are kept apart by hold key, and no other entry waits behind them.
 */
export class ParkedEntries {
  private range: RefRange | undefined;
  private readonly held = new Map<string, RefRange>();

  get isEmpty(): boolean {
    return this.range === undefined && this.held.size === 0;
  }

  /** Whether there is a range to read. */
  get isReadable(): boolean {
    return this.range !== undefined;
  }

  /** Whether entries held under this key are parked. */
  hasHeld(key: string): boolean {
    return this.held.has(key);
  }

  add(ref: EntryRef): void {
    this.putBack({ from: ref, to: ref });
  }

  addHeld(key: string, ref: EntryRef): void {
    this.held.set(key, rangeCovering(this.held.get(key), { from: ref, to: ref })!);
  }

  /** Makes the entries held under this key readable. */
  endHold(key: string): void {
    this.putBack(this.held.get(key));
    this.held.delete(key);
  }

  /** Makes all held entries readable. */
  endHolds(): void {
    for (const key of [...this.held.keys()]) this.endHold(key);
  }

  /** Takes out the range to read. */
  take(): RefRange {
    const range = this.range!;
    this.range = undefined;
    return range;
  }

  /** Returns a range, or the rest of it, that still has to be read. */
  putBack(range: RefRange | undefined): void {
    this.range = rangeCovering(this.range, range);
  }
}

/** The shortest range that covers both. */
function rangeCovering(a: RefRange | undefined, b: RefRange | undefined): RefRange | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}

/** The rest of the range after an entry; undefined if it is empty. */
export function restAfter(range: RefRange, ref: EntryRef): RefRange | undefined {
  return ref < range.to ? { from: Math.max(range.from, ref + 1), to: range.to } : undefined;
}
