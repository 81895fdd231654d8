import { type Batch, splitBatch } from "../../../plugin.js";
import { type AttemptError, type Entry, ERROR_CODES } from "../../../runtime/kit.js";
import type { QueueItem } from "../entry/queue-item.js";
import type { NewEntry } from "../store/store.js";

/** Refusals after which the rest of a bisection is not tried any more, unless one of its parts was taken before. */
export const MAX_REFUSALS = 16;

/** Whether sending the entry in parts is worth it: the data is to blame, and only some of it may be. */
export function canBisect(entry: Entry, error: AttemptError): boolean {
  return entry.items >= 2 && isWorthBisecting(error);
}

/** Whether it is the data that was refused, so that some of it may be taken. */
export function isWorthBisecting(error: AttemptError): boolean {
  if (error.kind !== "permanent") return false;
  return error.code === ERROR_CODES.SLUICE_TOO_LARGE || error.category !== "integration";
}

/** The two halves of an entry, as entries of their own: as old as it, and named after the one all parts came from. */
export function halvesOf(entry: Entry, batch: Batch): NewEntry[] {
  const { pipeline, source, enqueuedAt, generation, cycles, replays } = entry;
  const halves = splitBatch(batch, { records: Math.ceil(batch.count / 2) }).filter((half) => half.count > 0);
  const fields = { parent: rootOf(entry), cycles, replays };
  return halves.map((half) => ({ batch: half, pipeline, source, enqueuedAt, generation, fields }));
}

function rootOf(entry: Entry): string {
  return entry.parent ?? entry.id;
}

interface Bisection {
  refusals: number;
  /** One of its parts was taken: the other side does not refuse everything. */
  hasSuccess: boolean;
  /** Single records that were refused before that. */
  badRecords: number;
  /** The part that is being sent. */
  busy: QueueItem | undefined;
  /** The others, the largest first. */
  readonly parts: QueueItem[];
}

/**
 * The parts of entries that were taken apart. Parts of one entry are sent one after the other, halves of the last
 * refused one first; when that has led to two bad records and nothing was taken yet, the largest part is next. So a
 * good record is found after few refusals, whether bad ones are scattered or lie together, and an endpoint that refuses
 * everything is known after MAX_REFUSALS calls instead of two for each record.
 */
export class Bisections {
  private readonly bisections = new Map<string, Bisection>();

  /** True: the item may be sent now. False: another part is being sent; this one comes out of `release` in its turn. */
  tryAcquire(item: QueueItem): boolean {
    const bisection = this.bisections.get(rootOf(item.entry));
    if (bisection?.busy !== undefined && bisection.busy !== item) {
      bisection.parts.unshift(item);
      return false;
    }
    if (bisection !== undefined) bisection.busy = item;
    else if (item.entry.parent !== undefined) this.bisections.set(item.entry.parent, newBisection(item));
    return true;
  }

  /** The item is not being sent any more; gives the part of its bisection whose turn it is. */
  release(item: QueueItem): QueueItem | undefined {
    const root = rootOf(item.entry);
    const bisection = this.bisections.get(root);
    if (bisection === undefined || (bisection.busy !== undefined && bisection.busy !== item)) return undefined;
    if (!bisection.hasSuccess && item.entry.items === 1) bisection.badRecords += 1;
    const isStuck = !bisection.hasSuccess && bisection.badRecords >= 2;
    bisection.busy = isStuck ? bisection.parts.shift() : bisection.parts.pop();
    if (bisection.busy === undefined) this.bisections.delete(root);
    return bisection.busy;
  }

  /** An item was replaced by these parts. */
  addParts(item: QueueItem, parts: readonly QueueItem[]): void {
    this.bisectionOf(item).parts.push(...[...parts].reverse());
  }

  /** Notes that an item was refused; true when its bisection has had MAX_REFUSALS. */
  refused(item: QueueItem): boolean {
    const bisection = this.bisectionOf(item);
    bisection.refusals += 1;
    return !bisection.hasSuccess && bisection.refusals >= MAX_REFUSALS;
  }

  delivered(item: QueueItem): void {
    const bisection = this.bisections.get(rootOf(item.entry));
    if (bisection !== undefined) bisection.hasSuccess = true;
  }

  /** Takes the parts that have not been sent yet out of an item's bisection. */
  takeRemaining(item: QueueItem): QueueItem[] {
    return this.bisectionOf(item).parts.splice(0);
  }

  private bisectionOf(item: QueueItem): Bisection {
    const root = rootOf(item.entry);
    let bisection = this.bisections.get(root);
    if (bisection === undefined) {
      bisection = newBisection(item);
      this.bisections.set(root, bisection);
    }
    return bisection;
  }
}

function newBisection(busy: QueueItem): Bisection {
  return { refusals: 0, hasSuccess: false, badRecords: 0, busy, parts: [] };
}
