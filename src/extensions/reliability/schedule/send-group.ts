import { type Batching, GroupKey, MAX_MERGED_BYTES } from "../../../runtime/kit.js";
import type { DeadLetterCause, QueueItem } from "../entry/queue-item.js";

/** Entries that are sent together, as one request; mostly it is one. */
export interface SendGroup {
  readonly items: readonly QueueItem[];
  /** Set on the parts of a group that was refused as a whole. */
  readonly bisection?: GroupBisection | undefined;
}

/** What is known of a group that was refused and is sent again in parts, to find the entries that are to blame. */
export interface GroupBisection {
  refusals: number;
  /** One of its parts was taken: the other side does not refuse everything. */
  hasSuccess: boolean;
  /** Single entries that were refused before that. */
  badEntries: number;
  /** Set when so many parts were refused that the others are not tried any more. */
  endCause: DeadLetterCause | undefined;
}

/** The two halves of a group of several entries. */
export function halvesOfGroup({ items }: SendGroup, bisection: GroupBisection): SendGroup[] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)].map((half) => ({ items: half, bisection }));
}

export function newGroupBisection(): GroupBisection {
  return { refusals: 0, hasSuccess: false, badEntries: 0, endCause: undefined };
}

/** An entry that has failed by itself once is sent with at most so many others, and with fewer after every failure. */
const MAX_RETRIED_TOGETHER = 512;

/** Puts entries together as long as they may be sent in one request. */
export class GroupBuilder {
  readonly items: QueueItem[];
  private readonly batching: Batching | undefined;
  private readonly maxRetries: number;
  private readonly key = new GroupKey();
  private size: number;
  private bytes: number;
  private maxEntries: number;

  constructor(first: QueueItem, maxRetries: number) {
    this.items = [first];
    this.batching = first.batching;
    this.maxRetries = maxRetries;
    this.size = first.batching === undefined ? 0 : sizeIn(first.batching, first);
    this.bytes = first.entry.bytes;
    this.maxEntries = maxEntriesWith(first, maxRetries);
    if (first.batching !== undefined) this.key.add(first.entry);
  }

  /** False, leaving it out, when the item is not to be sent with those that are here. */
  add(item: QueueItem): boolean {
    const { batching } = this;
    if (batching === undefined || item.batching !== batching || item.batchKey !== this.items[0]!.batchKey) return false;
    const size = this.size + sizeIn(batching, item);
    const bytes = this.bytes + item.entry.bytes;
    const maxEntries = Math.min(this.maxEntries, maxEntriesWith(item, this.maxRetries));
    const isTooMuch = (batching.maxSize > 0 && size > batching.maxSize) || bytes > MAX_MERGED_BYTES;
    if (isTooMuch || this.items.length >= maxEntries || !this.key.add(item.entry)) return false;
    this.items.push(item);
    this.size = size;
    this.bytes = bytes;
    this.maxEntries = maxEntries;
    return true;
  }
}

/** How much of a request an item is, in what its batching counts. */
export function sizeIn({ sizer }: Batching, { entry }: QueueItem): number {
  return sizer === "items" ? entry.items : sizer === "bytes" ? entry.bytes : 1;
}

/**
 * How many entries may be in a group with this one. One bad entry makes a whole request fail; the more often that happened,
 * the smaller the groups are, and the last attempt is made for each alone: none is given up for the company it was in.
 */
function maxEntriesWith({ entry: { attempts } }: QueueItem, maxRetries: number): number {
  if (attempts === 0) return Number.POSITIVE_INFINITY;
  return attempts >= maxRetries ? 1 : Math.max(1, Math.floor(MAX_RETRIED_TOGETHER / 8 ** (attempts - 1)));
}

/** The idempotency key of a request. */
export function keyOfGroup(items: readonly QueueItem[]): string {
  if (items.length === 1) return items[0]!.entry.id;
  const key = new GroupKey();
  for (const { entry } of items) key.add(entry);
  return key.text;
}
