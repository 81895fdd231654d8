import { type Batching, MAX_MERGED_BYTES } from "#contract/operators";
import { GroupBuilder, type GroupLimits, isRetry, type QueueItem, sizeIn } from "../entry/queue-item.js";

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
