import { GroupKey } from "#brokers";
import type { AttemptError } from "#contract/operations";
import { type Batching, MAX_MERGED_BYTES } from "#contract/operators";
import type { DeadLetterCause, QueueItem } from "../entry/queue-item.js";
import { Bisection } from "../send/bisection.js";
import type { MergeLimit } from "./backlog-merging.js";

/** Entries that are sent together, as one request; mostly it is one. */
export interface SendGroup {
  readonly items: readonly QueueItem[];
  /** Set on the parts of a group that was refused as a whole. */
  readonly bisection?: GroupBisection | undefined;
  /** Set when the group is known to be refused for good, with this: it is settled without another call. */
  readonly refusal?: AttemptError | undefined;
}

/** What is known of a group that was refused and is sent again in parts, to find the entries that are to blame. */
export class GroupBisection extends Bisection {
  /** A part of it is being sent. Until one was taken the others wait for that, as it decides which of them is next. */
  isBusy = false;
  /** Set when so many entries were refused that the others are not tried any more. */
  endCause: DeadLetterCause | undefined;
}

/** Records of all of them. */
export function recordsOf(items: readonly QueueItem[]): number {
  return items.reduce((sum, { entry }) => sum + entry.items, 0);
}

/** The parts that a refused group of several entries is cut into. */
export function partsOfGroup({ items }: SendGroup, bisection: GroupBisection): SendGroup[] {
  let from = 0;
  return bisection.partSizes(items.length).map((size) => {
    from += size;
    return { items: items.slice(from - size, from), bisection };
  });
}

/** An entry that has failed by itself once is sent with at most so many others, and with fewer after every failure. */
const MAX_RETRIED_TOGETHER = 512;

/** It has been sent before: the rate limit of retries holds for it. */
export function isRetry({ entry }: QueueItem): boolean {
  return entry.calls > 0;
}

const NO_LIMIT = Number.POSITIVE_INFINITY;

/** Limits that hold for every request of a queue. */
export interface GroupLimits {
  readonly maxRetries?: number;
  readonly mergeLimit?: MergeLimit;
}

/** Puts entries together as long as they may be sent in one request. */
export class GroupBuilder {
  readonly items: QueueItem[];
  private readonly batching: Batching | undefined;
  private readonly maxRetries: number;
  private readonly key = new GroupKey();
  private size: number;
  private bytes: number;
  private maxEntries: number;
  private isClosed = false;

  /** `maxEntries`: no more than that, whatever the batching says. */
  constructor(first: QueueItem, { maxRetries = NO_LIMIT, mergeLimit }: GroupLimits, maxEntries = NO_LIMIT) {
    this.items = [first];
    this.batching = first.batching;
    this.maxRetries = maxRetries;
    this.size = first.batching === undefined ? 0 : sizeIn(first.batching, first);
    this.bytes = first.entry.bytes;
    const mergedEntries = mergeLimit?.maxEntriesWith(first) ?? NO_LIMIT;
    this.maxEntries = Math.min(maxEntries, mergedEntries, maxEntriesWith(first, maxRetries));
    if (first.batching !== undefined) this.key.add(first.entry);
  }

  /** No more is to be added: there is no room, or there was none for one of the same kind. */
  get isFull(): boolean {
    return this.isClosed || this.batching === undefined || this.items.length >= this.maxEntries;
  }

  /** False, leaving it out, when the item is not to be sent with those that are here. */
  add(item: QueueItem): boolean {
    const { batching } = this;
    const maxEntries = Math.min(this.maxEntries, maxEntriesWith(item, this.maxRetries));
    if (batching === undefined || !this.isSameKind(item) || this.items.length >= maxEntries) return false;
    const size = this.size + sizeIn(batching, item);
    const bytes = this.bytes + item.entry.bytes;
    const isTooMuch = (batching.maxSize > 0 && size > batching.maxSize) || bytes > MAX_MERGED_BYTES;
    this.isClosed = isTooMuch || !this.key.add(item.entry);
    if (this.isClosed) return false;
    this.items.push(item);
    this.size = size;
    this.bytes = bytes;
    this.maxEntries = maxEntries;
    return true;
  }

  /** First attempts are not sent with retries: those may have to wait for their rate limit, or be given up by it. */
  private isSameKind(item: QueueItem): boolean {
    const first = this.items[0]!;
    const isSameLine = item.batching === this.batching && item.batchKey === first.batchKey;
    return isSameLine && isRetry(item) === isRetry(first);
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
function maxEntriesWith(
  { entry: { attempts }, timeoutsInCompany, mustBeAlone }: QueueItem,
  maxRetries: number,
): number {
  const failures = attempts + timeoutsInCompany;
  if (failures === 0) return NO_LIMIT;
  if (mustBeAlone || failures >= maxRetries) return 1;
  return Math.max(1, Math.floor(MAX_RETRIED_TOGETHER / 8 ** (failures - 1)));
}

/** The idempotency key of a request. */
export function keyOfGroup(items: readonly QueueItem[]): string {
  if (items.length === 1) return items[0]!.entry.id;
  const key = new GroupKey();
  for (const { entry } of items) key.add(entry);
  return key.text;
}
