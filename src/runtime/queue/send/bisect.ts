import { ERROR_CODES } from "#contract/errors";
import type { AttemptError, Entry } from "#contract/operations";
import { type Batch, splitBatch } from "#otlp";
import { SHAPES } from "#otlp/bytes";
import { partition, partitionByMarks } from "#otlp/edit";
import { Bisection } from "../entry/bisection.js";
import { numberingOf } from "../entry/numbering.js";
import type { QueueItem } from "../entry/queue-item.js";
import type { NewEntry } from "../store/store.js";
import { type CallEnd, POLICY, type SendPolicy, type Trouble } from "./policy.js";

/** Whether the entry should be sent in parts: the data is to blame, and perhaps only some of it. */
export function canBisect(entry: Entry, error: AttemptError): boolean {
  return entry.items >= 2 && isWorthBisecting(error);
}

/** Whether the refusal is about the data, so that the backend may accept a part of it. */
export function isWorthBisecting(error: AttemptError): boolean {
  if (error.kind !== "permanent") return false;
  return error.code === ERROR_CODES.SLUICE_TOO_LARGE || error.category !== "integration";
}

/**
 * Returns the parts of an entry as entries of their own. They keep the age and the failure history of the entry, and
 * their `parent` is the entry that was cut first, in which their records are numbered. An entry that cannot be cut gives one part.
 */
export function partsOf(entry: Entry, batch: Batch, sizes: readonly number[]): NewEntry[] {
  const { pipeline, source, enqueuedAt, generation, cycles, replays, history, firstFailedAt, lastError } = entry;
  const { metadata, batchKey, orderKey, forwardOf } = entry;
  const fields = {
    parent: rootOf(entry),
    cycles,
    replays,
    history: history.map((attempt) => ({ requestItems: entry.items, ...attempt })),
    ...(firstFailedAt !== undefined && { firstFailedAt }),
    ...(lastError !== undefined && { lastError }),
    ...(forwardOf !== undefined && { forwardOf }),
    ...(orderKey !== undefined && { orderKey }),
    ...(metadata !== undefined && { metadata, ...(batchKey !== undefined && { batchKey }) }),
  };
  let before = 0;
  const parts = cut(batch, sizes).filter((part) => part.count > 0);
  return parts.map((part) => {
    const first = before;
    before += part.count;
    const indexes = Array.from({ length: part.count }, (_, i) => first + i);
    const numbered = { ...fields, numbering: numberingOf(entry, indexes) };
    return { batch: part, pipeline, source, enqueuedAt, generation, fields: numbered };
  });
}

/**
 * Returns the undelivered shares of a partly delivered entry, one for each server. Each is the entry as it is after the
 * attempt, with fewer records. The first one keeps the entry's id.
 */
export function undeliveredShares(entry: Entry, batch: Batch, marks: Uint16Array): NewEntry[] {
  const { pipeline, source, enqueuedAt, generation, id, ...fields } = entry;
  const numbers = [...new Set(marks)].filter((mark) => mark !== 0);
  let index = 0;
  const marked = (number: number) => [...marks.keys()].filter((i) => marks[i] === number);
  const count = Math.max(...numbers) + 1;
  const batches = partition(batch, SHAPES[batch.signal], count, () => marks[index++]!);
  return numbers.map((number, i) => {
    const numbered = { ...fields, numbering: numberingOf(entry, marked(number)) };
    const share = { batch: batches[number]!, pipeline, source, enqueuedAt, generation };
    return { ...share, fields: i === 0 ? { ...numbered, id } : numbered };
  });
}

/**
 * Resources and scopes are repeated in every part that has records of them, so parts may take this many times the
 * entry's bytes.
 */
const MAX_GROWTH = 4;
const MIN_ROOM_BYTES = 1024 * 1024;

/** Either all sizes are equal except the last, or single records alternate with the rest of their part. */
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
  /** Parts that wait; the last one was added last. */
  readonly parts: QueueItem[];
}

/**
 * Keeps the parts of bisected entries. The parts of one entry are sent one at a time, in the order given by its search.
 */
export class Bisections implements SendPolicy {
  /** By the id of the entry that was cut first. */
  readonly open = new Map<string, EntryBisection>();
  private readonly trouble: Trouble;

  constructor(trouble: Trouble) {
    this.trouble = trouble;
  }

  /**
   * Returns true if the item may be sent now. Returns false if another part is being sent; `release` gives this one
   * later.
   */
  tryAcquire(item: QueueItem): boolean {
    const bisection = this.open.get(rootOf(item.entry));
    if (bisection?.busy !== undefined && bisection.busy !== item) {
      bisection.parts.unshift(item);
      return false;
    }
    if (bisection !== undefined) bisection.busy = item;
    else if (item.entry.parent !== undefined) this.add(item.entry.parent, item);
    return true;
  }

  /** To be called when the item is no longer being sent. Returns the part of its bisection that is to be sent next. */
  release(item: QueueItem): QueueItem | undefined {
    const root = rootOf(item.entry);
    const bisection = this.open.get(root);
    if (bisection === undefined || (bisection.busy !== undefined && bisection.busy !== item)) return undefined;
    const { parts, search } = bisection;
    const next = search.next(parts.map(({ entry }) => entry.items));
    bisection.busy = parts.splice(next, 1)[0];
    if (bisection.busy === undefined) this.open.delete(root);
    this.trouble.set(POLICY.bisections, this.open.size > 0);
    return bisection.busy;
  }

  /** Replaces an item with these parts. */
  addParts(item: QueueItem, parts: readonly QueueItem[]): void {
    this.bisectionOf(item).parts.push(...[...parts].reverse());
  }

  /** Records the refusal of an item. Returns true if the rest of its bisection need not be tried. */
  refused(item: QueueItem): boolean {
    const { search } = this.bisectionOf(item);
    search.refused(item.entry.items);
    return search.isFutile;
  }

  ended({ items, result }: CallEnd): void {
    if (result === "success") for (const item of items) this.delivered(item);
  }

  delivered(item: QueueItem): void {
    this.open.get(rootOf(item.entry))?.search.taken(item.entry.items);
  }

  /** The sizes of the parts that a refused item should be cut into. */
  partSizes(item: QueueItem): readonly number[] {
    return this.bisectionOf(item).search.partSizes(item.entry.items);
  }

  /** Removes and returns the parts of an item's bisection that have not been sent yet. */
  takeRemaining(item: QueueItem): QueueItem[] {
    return this.bisectionOf(item).parts.splice(0);
  }

  private bisectionOf(item: QueueItem): EntryBisection {
    const root = rootOf(item.entry);
    return this.open.get(root) ?? this.add(root, item);
  }

  private add(root: string, busy: QueueItem): EntryBisection {
    const bisection: EntryBisection = { search: new Bisection(), busy, parts: [] };
    this.open.set(root, bisection);
    this.trouble.set(POLICY.bisections, true);
    return bisection;
  }
}
