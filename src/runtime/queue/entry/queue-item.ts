import type { Delivery } from "#contract";
import type { Attempt, AttemptError, Entry, FailureReason, FailureRule } from "#contract/operations";
import type { Batching } from "#contract/operators";
import type { Batch } from "#otlp";
import type { EntryRef, StoredEntry } from "../store/store.js";

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
