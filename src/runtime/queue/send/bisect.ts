import { ERROR_CODES } from "#contract/errors";
import type { AttemptError, Entry } from "#contract/operations";
import { type Batch, partition, partitionByMarks, splitBatch } from "#otlp";
import { SHAPES } from "#otlp/signals";
import type { QueueItem } from "../entry/queue-item.js";
import type { NewEntry } from "../store/store.js";
import { Bisection } from "./bisection.js";

/** Whether sending the entry in parts is worth it: the data is to blame, and only some of it may be. */
export function canBisect(entry: Entry, error: AttemptError): boolean {
  return entry.items >= 2 && isWorthBisecting(error);
}

/** Whether it is the data that was refused, so that some of it may be taken. */
export function isWorthBisecting(error: AttemptError): boolean {
  if (error.kind !== "permanent") return false;
  return error.code === ERROR_CODES.SLUICE_TOO_LARGE || error.category !== "integration";
}

/**
 * The parts of an entry, as entries of their own: as old as it, and named after the one all parts came from. What happened to
 * it has happened to them, in company. One that cannot be cut is one part.
 */
export function partsOf(entry: Entry, batch: Batch, sizes: readonly number[]): NewEntry[] {
  const { pipeline, source, enqueuedAt, generation, cycles, replays, history, firstFailedAt, lastError } = entry;
  const { metadata, batchKey, forwardOf } = entry;
  const fields = {
    parent: rootOf(entry),
    cycles,
    replays,
    history: history.map((attempt) => ({ requestItems: entry.items, ...attempt })),
    ...(firstFailedAt !== undefined && { firstFailedAt }),
    ...(lastError !== undefined && { lastError }),
    ...(forwardOf !== undefined && { forwardOf }),
    ...(metadata !== undefined && { metadata, ...(batchKey !== undefined && { batchKey }) }),
  };
  const parts = cut(batch, sizes).filter((part) => part.count > 0);
  return parts.map((part) => ({ batch: part, pipeline, source, enqueuedAt, generation, fields }));
}

/**
 * What is left of an entry that was delivered in part, share by share: each goes to a server of its own. They are the entry
 * itself, as it is after the attempt, with fewer records; so the first has its id.
 */
export function undeliveredShares(entry: Entry, batch: Batch, marks: Uint16Array): NewEntry[] {
  const { pipeline, source, enqueuedAt, generation, id, ...fields } = entry;
  const numbers = [...new Set(marks)].filter((mark) => mark !== 0);
  let index = 0;
  const count = Math.max(...numbers) + 1;
  const batches = partition(batch, SHAPES[batch.signal], count, () => marks[index++]!);
  return numbers.map((number, i) => ({
    ...{ batch: batches[number]!, pipeline, source, enqueuedAt, generation },
    fields: i === 0 ? { ...fields, id } : fields,
  }));
}

/** What surrounds a record is repeated in every part that has records of it: many parts may take so many times the room. */
const MAX_GROWTH = 4;
const MIN_ROOM_BYTES = 1024 * 1024;

/** All sizes but the last of a run are equal, or single records stand before the rest of their part. */
function cut(batch: Batch, sizes: readonly number[]): Batch[] {
  const [first = 1, second = 0] = sizes;
  const hasProbes = first === 1 && second > 1;
  const total = Math.max(MIN_ROOM_BYTES, MAX_GROWTH * batch.byteLength);
  try {
    const parts = splitBatch(batch, { records: hasProbes ? first + second : first, total });
    return hasProbes ? parts.flatMap(withProbe) : parts;
  } catch {
    return splitBatch(batch, { records: Math.ceil(batch.count / 2) });
  }
}

function withProbe(batch: Batch): Batch[] {
  const marks = new Uint8Array(batch.count).fill(1);
  marks[0] = 0;
  return partitionByMarks(batch, marks).filter((part) => part !== undefined);
}

function rootOf(entry: Entry): string {
  return entry.parent ?? entry.id;
}

interface EntryBisection {
  readonly search: Bisection;
  /** The part that is being sent. */
  busy: QueueItem | undefined;
  /** The others, the last added last. */
  readonly parts: QueueItem[];
}

/** The parts of entries that were taken apart. Parts of one entry are sent one after the other, in the order of its search. */
export class Bisections {
  private readonly bisections = new Map<string, EntryBisection>();

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
    const { parts, search } = bisection;
    const next = search.next(parts.map(({ entry }) => entry.items));
    bisection.busy = parts.splice(next, 1)[0];
    if (bisection.busy === undefined) this.bisections.delete(root);
    return bisection.busy;
  }

  /** An item was replaced by these parts. */
  addParts(item: QueueItem, parts: readonly QueueItem[]): void {
    this.bisectionOf(item).parts.push(...[...parts].reverse());
  }

  /** Notes that an item was refused; true when the rest of its bisection need not be tried. */
  refused(item: QueueItem): boolean {
    const { search } = this.bisectionOf(item);
    search.refused(item.entry.items);
    return search.isFutile;
  }

  delivered(item: QueueItem): void {
    this.bisections.get(rootOf(item.entry))?.search.taken(item.entry.items);
  }

  /** The sizes of the parts that a refused item is to be cut into. */
  partSizes(item: QueueItem): readonly number[] {
    return this.bisectionOf(item).search.partSizes(item.entry.items);
  }

  /** Takes the parts that have not been sent yet out of an item's bisection. */
  takeRemaining(item: QueueItem): QueueItem[] {
    return this.bisectionOf(item).parts.splice(0);
  }

  private bisectionOf(item: QueueItem): EntryBisection {
    const root = rootOf(item.entry);
    let bisection = this.bisections.get(root);
    if (bisection === undefined) {
      bisection = newBisection(item);
      this.bisections.set(root, bisection);
    }
    return bisection;
  }
}

function newBisection(busy: QueueItem): EntryBisection {
  return { search: new Bisection(), busy, parts: [] };
}
