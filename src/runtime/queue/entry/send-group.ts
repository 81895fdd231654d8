import { GroupKey } from "#contract";
import type { AttemptError } from "#contract/operations";
import { type Batching, MAX_MERGED_BYTES } from "#contract/operators";
import { Bisection } from "./bisection.js";
import type { DeadLetterCause, QueueItem } from "./queue-item.js";

/** Entries that are sent together as one request; often only one. */
export interface SendGroup {
  readonly items: readonly QueueItem[];
  /** Set on the parts of a group that was refused as a whole. */
  readonly bisection?: GroupBisection | undefined;
  /** Set if the group is known to be refused permanently with this error. It is settled without another call. */
  readonly refusal?: AttemptError | undefined;
}

/** The state of a refused group that is sent again in parts, to find the entries that are to blame. */
export class GroupBisection extends Bisection {
  /**
   * Whether a part is being sent. Until one part was taken, the others wait for its result, because the result decides
   * which is next.
   */
  isBusy = false;
  /** Set when so many entries were refused that the others are not tried any more. */
  endCause: DeadLetterCause | undefined;
}

/** The number of records in all items. */
export function recordsOf(items: readonly QueueItem[]): number {
  return items.reduce((sum, { entry }) => sum + entry.items, 0);
}

/** Cuts a refused group of several entries into parts. */
export function partsOfGroup({ items }: SendGroup, bisection: GroupBisection): SendGroup[] {
  let from = 0;
  return bisection.partSizes(items.length).map((size) => {
    from += size;
    return { items: items.slice(from - size, from), bisection };
  });
}

/** An entry that has failed once is sent with at most this many others, and with fewer after every further failure. */
const MAX_RETRIED_TOGETHER = 512;

/** Whether the entry was sent before, so that the rate limit for retries applies. */
export function isRetry({ entry }: QueueItem): boolean {
  return entry.calls > 0;
}

const NO_LIMIT = Number.POSITIVE_INFINITY;

/** Limits for every request of a queue. */
export interface GroupLimits {
  readonly maxRetries?: number;
  /** Limits how many entries are sent in one request with this one. */
  readonly mergeLimit?: { maxEntriesWith(first: QueueItem): number };
  /** Whether merged entries become one entry of the queue; see `Exporter.sealsEntries`. */
  readonly isSealing?: boolean;
}

/** Adds entries to a group as long as they may be sent in one request. */
export class GroupBuilder {
  readonly items: QueueItem[];
  private readonly batching: Batching | undefined;
  private readonly maxRetries: number;
  private readonly key = new GroupKey();
  private size: number;
  private bytes: number;
  private maxEntries: number;
  private isClosed = false;
  private readonly isSealing: boolean;

  /** `maxEntries` limits the group, whatever the batching says. */
  constructor(first: QueueItem, limits: GroupLimits, maxEntries = NO_LIMIT) {
    const { maxRetries = NO_LIMIT, mergeLimit, isSealing = false } = limits;
    this.items = [first];
    this.isSealing = isSealing;
    this.batching = first.batching;
    this.maxRetries = maxRetries;
    this.size = first.batching === undefined ? 0 : sizeIn(first.batching, first);
    this.bytes = first.entry.bytes;
    const mergedEntries = mergeLimit?.maxEntriesWith(first) ?? NO_LIMIT;
    this.maxEntries = Math.min(maxEntries, mergedEntries, maxEntriesWith(first, maxRetries));
    if (isSealing && !isSealable(first)) this.maxEntries = 1;
    if (first.batching !== undefined) this.key.add(first.entry);
  }

  /** Whether nothing more should be added, because there is no room or there was none for an entry of the same kind. */
  get isFull(): boolean {
    return this.isClosed || this.batching === undefined || this.items.length >= this.maxEntries;
  }

  /** Adds the item if it may be sent with the others. Returns false if it was left out. */
  add(item: QueueItem): boolean {
    const { batching } = this;
    const maxEntries = Math.min(this.maxEntries, maxEntriesWith(item, this.maxRetries));
    if (batching === undefined || !this.isSameKind(item) || this.items.length >= maxEntries) return false;
    if (this.isSealing && !isSealable(item)) return false;
    const size = this.size + sizeIn(batching, item);
    const bytes = this.bytes + item.entry.bytes;
    const isTooMuch =
      (batching.maxSize > 0 && size > batching.maxSize) || bytes > (batching.maxBytes ?? MAX_MERGED_BYTES);
    // A sealed entry has an id of its own, so no key has to name the entries that it was made from.
    this.isClosed = isTooMuch || !(this.isSealing || this.key.add(item.entry));
    if (this.isClosed) return false;
    this.items.push(item);
    this.size = size;
    this.bytes = bytes;
    this.maxEntries = maxEntries;
    return true;
  }

  /** First attempts are not sent with retries, because the rate limit may make retries wait or end them. */
  private isSameKind(item: QueueItem): boolean {
    const first = this.items[0]!;
    const isSameLine = item.batching === this.batching && item.batchKey === first.batchKey;
    return isSameLine && isRetry(item) === isRetry(first);
  }
}

/**
 * Whether the item may become a part of another entry: no caller waits for its own end, and it has no place to keep.
 */
function isSealable({ delivery, entry }: QueueItem): boolean {
  return delivery === undefined && entry.orderKey === undefined && entry.source.message === undefined;
}

/** The size of an item, in the unit of the batching. */
export function sizeIn({ sizer }: Batching, { entry }: QueueItem): number {
  return sizer === "items" ? entry.items : sizer === "bytes" ? entry.bytes : 1;
}

/**
 * The maximum number of entries in a group with this item. One bad entry makes a whole request fail. The more often
 * that happened, the smaller the groups become. The last attempt is made for each entry alone, so none is given up
 * because of others in its request.
 */
function maxEntriesWith({ entry: { attempts }, maxTogether }: QueueItem, maxRetries: number): number {
  if (attempts === 0) return maxTogether;
  if (attempts >= maxRetries) return 1;
  return Math.min(maxTogether, Math.max(1, Math.floor(MAX_RETRIED_TOGETHER / 8 ** (attempts - 1))));
}

/** The idempotency key of a request for these items. */
export function idempotencyKeyOf(items: readonly QueueItem[]): string {
  if (items.length === 1) return items[0]!.entry.id;
  const key = new GroupKey();
  for (const { entry } of items) key.add(entry);
  return key.text;
}
