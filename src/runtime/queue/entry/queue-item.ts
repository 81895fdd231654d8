import { type Delivery, GroupKey } from "#contract";
import type { Attempt, AttemptError, Entry, FailureReason, FailureRule } from "#contract/operations";
import { type Batching, MAX_MERGED_BYTES } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import type { Batch } from "#otlp";
import type { EntryRef, StoredEntry } from "../store/store.js";
import { Bisection } from "./bisection.js";

/** A pending entry that is in memory: ready to be sent, waiting for a retry, or being sent. */
export interface QueueItem {
  readonly ref: EntryRef;
  /** The entry as it is in the store, or will be after the next write. */
  entry: Entry;
  /** The payload, if it is in memory; otherwise it is read from the store. */
  batch: Batch | undefined;
  /** How the item is merged with others of the same batching and `batchKey`; undefined if it is sent alone. */
  readonly batching: Batching | undefined;
  readonly batchKey: string;
  /** Settled with the item's end, if the client waits for the result. */
  delivery: Delivery | undefined;
  /** Monotonic time when the entry was queued or replayed. Its age stays correct when the wall clock is changed. */
  readonly queuedSince: number;
  /** Monotonic time of the first failure of the current cycle. */
  failingSince: number | undefined;
  /** Monotonic time of the last attempt that failed; negative infinity if there was none. */
  lastTriedAt: number;
  /** Monotonic time at which the next attempt may be made. */
  dueAt: number;
  /** Whether the retry limiter has admitted the item. */
  hasRetryTurn: boolean;
  /**
   * The maximum number of entries in its next request. It becomes smaller when a request with other entries failed and
   * one of them may be to blame.
   */
  maxTogether: number;
  /** The calls of the item that failed; see PoisonDetector. */
  failedCalls: { readonly first: FailedCall; readonly last: FailedCall[] } | undefined;
  /** Whether the item waits because the backend refuses everything. */
  isHeld: boolean;
  /**
   * Set if the item was refused with a status of hold_on. `firstAt` is the number of the last call that began before
   * its first refusal. `sinceOvertaken` counts its refusals after a later call succeeded.
   */
  refused: { readonly firstAt: number; readonly sinceOvertaken: number } | undefined;
  /** The number of the item's call. Calls are numbered only after such a refusal. */
  callNumber: number | undefined;
  /** When the current attempt began, in milliseconds since the epoch. */
  sentAt: number | undefined;
  /** Set if the item is to become a dead letter but has not been written as one yet. */
  deadLetterCause: DeadLetterCause | undefined;
}

/** Why an entry becomes a dead letter. */
export interface DeadLetterCause {
  readonly reason: FailureReason;
  /** The rule that applied, if the reason alone does not identify it. */
  readonly rule?: FailureRule;
  readonly category: string;
  readonly error: AttemptError;
  /** Number of records that no server has accepted; all of them if left out. */
  readonly lost?: number;
  /** Number of rejected records of the request, for a partial success. */
  readonly rejected?: number;
}

/** Returns how entries of a pipeline are merged; undefined if they are not. */
export type BatchingOf = (pipeline: string) => Batching | undefined;

export function createQueueItem(
  { ref, entry }: StoredEntry,
  now: number,
  monotonic: number,
  maxWaitMs: number,
  batchingOf: BatchingOf = () => undefined,
): QueueItem {
  const toMonotonic = (time: number) => monotonic - Math.max(0, now - time);
  const bornAt = toMonotonic(entry.cycles.at(-1)?.replayedAt ?? entry.enqueuedAt);
  // An older version stored the first failure of the first cycle for all cycles.
  const failingSince =
    entry.firstFailedAt === undefined ? undefined : Math.max(bornAt, toMonotonic(entry.firstFailedAt));
  const lastDelay = entry.history.at(-1)?.delayMs;
  const isWaiting = entry.lastAttemptAt !== undefined && lastDelay !== undefined;
  const triedAt = entry.lastAttemptAt === undefined ? Number.NEGATIVE_INFINITY : toMonotonic(entry.lastAttemptAt);
  const dueAt = isWaiting ? triedAt + Math.min(lastDelay!, maxWaitMs) : 0;
  // A part of a refused entry, or a former dead letter, may have a bad record. It is sent alone, so that it does not
  // make others fail.
  const isSuspect = entry.parent !== undefined || entry.replays > 0;
  const isAlone = isSuspect || entry.isSealed === true;
  const nothing = { batch: undefined, delivery: undefined, failedCalls: undefined, deadLetterCause: undefined };
  const notRefused = { isHeld: false, refused: undefined, callNumber: undefined, sentAt: undefined };
  return {
    ref,
    entry,
    batching: isAlone ? undefined : batchingOf(entry.pipeline),
    batchKey: entry.batchKey === undefined ? entry.pipeline : `${entry.pipeline} ${entry.batchKey}`,
    queuedSince: bornAt,
    failingSince,
    lastTriedAt: triedAt,
    dueAt,
    hasRetryTurn: false,
    maxTogether: Number.POSITIVE_INFINITY,
    ...nothing,
    ...notRefused,
  };
}

/**
 * The key of entries that a backend may refuse as a whole: those of one signal, and of one batch key where keys are
 * kept apart.
 */
export function holdKeyOf({ entry }: QueueItem): string {
  return entry.batchKey === undefined ? entry.signal : `${entry.signal} ${entry.batchKey}`;
}

/** The maximum number of attempts remembered per cycle. */
const MAX_HISTORY = 16;

/** The maximum number of characters of a backend's message kept per attempt. */
const MAX_ATTEMPT_MESSAGE = 200;

/**
 * Returns the entry after a failed call. `requestItems` counts the records of all entries in the call. `counts`: the
 * entry itself is to blame, so an attempt is used up.
 */
export function withFailure(
  entry: Entry,
  error: AttemptError,
  at: number,
  counts: boolean,
  requestItems = entry.items,
): Entry {
  const history = [...entry.history.slice(1 - MAX_HISTORY), attemptOf(entry, error, at, requestItems)];
  return {
    ...entry,
    attempts: entry.attempts + (counts ? 1 : 0),
    calls: entry.calls + 1,
    firstFailedAt: entry.firstFailedAt ?? at,
    lastAttemptAt: at,
    lastError: error,
    history,
  };
}

function attemptOf({ items }: Entry, error: AttemptError, at: number, requestItems: number): Attempt {
  const isShared = requestItems > items;
  return {
    at,
    error: error.class,
    message: error.message.slice(0, MAX_ATTEMPT_MESSAGE),
    ...(error.blame !== undefined && { blame: error.blame }),
    ...(isShared && { requestItems }),
  };
}

/** Returns the entry after it was found to be to blame for its last failed call. */
export function withBlame(entry: Entry, error: AttemptError, counts: boolean): Entry {
  return { ...entry, attempts: entry.attempts + (counts ? 1 : 0), lastError: error };
}

/** Returns the entry after replay steps refused it. No call was made. */
export function withRefusal(entry: Entry, error: AttemptError, at: number): Entry {
  return { ...withFailure(entry, error, at, true), calls: entry.calls };
}

/** Returns the entry with the delay that follows its last attempt. */
export function withDelay(entry: Entry, delayMs: number): Entry {
  const last = entry.history.at(-1);
  if (last === undefined) return entry;
  return { ...entry, history: [...entry.history.slice(0, -1), { ...last, delayMs: Math.round(delayMs) }] };
}

/** How many calls of an exporter have succeeded and failed. */
export interface CallCounts {
  readonly succeeded: number;
  readonly failed: number;
}

/** A failed call of an entry, with the exporter's counts after it. Kept with the entry while it is in memory. */
export interface FailedCall extends CallCounts {
  /** Monotonic time. */
  readonly at: number;
  /** How long it took. */
  readonly tookMs: number;
  /** The class of the error; undefined if the entry cannot have caused it, or was not alone. */
  readonly class: string | undefined;
  /** The counts at the beginning of the poison window that ends with this call. */
  readonly before: CallCounts;
  /** Entries that the backend took. */
  readonly delivered: number;
  /** Calls and health checks that succeeded: each proves that the backend works. */
  readonly proofs: number;
}

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

/**
 * How waiting entries are merged if the config does not ask for larger requests. No entry waits for others, because a
 * free slot is used at once. A request stays under the 1 MiB that common proxies accept by default.
 */
export const BACKLOG_BATCHING: Batching = {
  timeoutMs: 0,
  minSize: 0,
  maxSize: 1024 * 1024,
  sizer: "bytes",
  metadataKeys: [],
};

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
