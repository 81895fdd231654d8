import type { Delivery } from "#contract";
import type { Attempt, AttemptError, Entry, FailureReason, FailureRule } from "#contract/operations";
import type { Batching } from "#contract/operators";
import type { Batch } from "#otlp";
import type { FailureStreak } from "../send/poison-detector.js";
import type { EntryRef, StoredEntry } from "../store/store.js";

/** A pending entry that is in memory: ready to be sent, waiting for a retry, or being sent. */
export interface QueueItem {
  readonly ref: EntryRef;
  /** As the store has it, or will have it with its next write. */
  entry: Entry;
  /** The payload, if it is in memory; otherwise it is read from the store. */
  batch: Batch | undefined;
  /** How it is merged with others that have the same and the same `batchKey`; undefined when it is sent alone. */
  readonly batching: Batching | undefined;
  readonly batchKey: string;
  /** Whom to tell what became of it, when the client waits for that. */
  delivery: Delivery | undefined;
  /** Monotonic time since which it waits: when it came, or was replayed. So its age is right also when the clock is set. */
  readonly queuedSince: number;
  /** Monotonic time of the first failure of the present cycle. */
  failingSince: number | undefined;
  /** Monotonic time of the last attempt when it was taken in; long ago when there was none. */
  readonly lastTriedAt: number;
  /** Monotonic time at which a waiting one may be tried again. */
  dueAt: number;
  /** The retry limiter has given the item its turn. */
  hasRetryTurn: boolean;
  /** Requests with others that got no answer in time: it is sent with fewer and fewer. */
  timeoutsInCompany: number;
  /** Its time for retries ended in company that may have been to blame: its last attempt is to be made alone. */
  mustBeAlone: boolean;
  failureStreak: FailureStreak | undefined;
  /** It waits because its backend refuses everything. */
  isHeld: boolean;
  /**
   * Set when it was refused with a status of hold_on: the number of the last call that began before the first time, and how
   * often it was refused after a later one had been taken.
   */
  refused: { readonly firstAt: number; readonly sinceOvertaken: number } | undefined;
  /** The number of its call, once calls are counted because of such a refusal. */
  callNumber: number | undefined;
  /** Set when the item is to become a dead letter and writing it has not succeeded yet. */
  deadLetterCause: DeadLetterCause | undefined;
}

/** Why an entry is given up. */
export interface DeadLetterCause {
  readonly reason: FailureReason;
  /** The rule that gives it up, where the reason does not say which one. */
  readonly rule?: FailureRule;
  readonly category: string;
  readonly error: AttemptError;
  /** The number of its records that nobody has; all of them unless it is given. */
  readonly lost?: number;
  /** Of a partial success: how many records of the request were rejected. */
  readonly rejected?: number;
}

/** How entries of a pipeline are merged; undefined when they are not. */
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
  // An older version kept the time of the first cycle for all of them.
  const failingSince =
    entry.firstFailedAt === undefined ? undefined : Math.max(bornAt, toMonotonic(entry.firstFailedAt));
  const lastDelay = entry.history.at(-1)?.delayMs;
  const isWaiting = entry.lastAttemptAt !== undefined && lastDelay !== undefined;
  const triedAt = entry.lastAttemptAt === undefined ? Number.NEGATIVE_INFINITY : toMonotonic(entry.lastAttemptAt);
  const dueAt = isWaiting ? triedAt + Math.min(lastDelay!, maxWaitMs) : 0;
  // A bad record may be in a part of what was refused, and in what was a dead letter: they take nobody along.
  const isSuspect = entry.parent !== undefined || entry.replays > 0;
  const nothing = { batch: undefined, delivery: undefined, failureStreak: undefined, deadLetterCause: undefined };
  const notRefused = { isHeld: false, refused: undefined, callNumber: undefined };
  return {
    ref,
    entry,
    batching: isSuspect ? undefined : batchingOf(entry.pipeline),
    batchKey: entry.batchKey === undefined ? entry.pipeline : `${entry.pipeline} ${entry.batchKey}`,
    queuedSince: bornAt,
    failingSince,
    lastTriedAt: triedAt,
    dueAt,
    hasRetryTurn: false,
    timeoutsInCompany: 0,
    mustBeAlone: false,
    ...nothing,
    ...notRefused,
  };
}

/** What may be refused as a whole: the entries of one signal, and of one batch key where keys are kept apart. */
export function holdKeyOf({ entry }: QueueItem): string {
  return entry.batchKey === undefined ? entry.signal : `${entry.signal} ${entry.batchKey}`;
}

/** Attempts that are remembered of a cycle. */
const MAX_HISTORY = 16;

/** Characters of what the other side said that are kept of each. */
const MAX_ATTEMPT_MESSAGE = 200;

/**
 * The entry after a failed call of so many records, its own and those of others. `counts`: it was the entry's own failure, and
 * spends an attempt.
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
  const isInCompany = requestItems > items;
  return {
    at,
    error: error.class,
    message: error.message.slice(0, MAX_ATTEMPT_MESSAGE),
    ...(error.blame !== undefined && { blame: error.blame }),
    ...(isInCompany && { requestItems }),
  };
}

/** The entry whose last call failed, and which turned out to be to blame for that. */
export function withBlame(entry: Entry, error: AttemptError, counts: boolean): Entry {
  return { ...entry, attempts: entry.attempts + (counts ? 1 : 0), lastError: error };
}

/** The entry after it was found unfit to be sent: no call was made. */
export function withRefusal(entry: Entry, error: AttemptError, at: number): Entry {
  return { ...withFailure(entry, error, at, true), calls: entry.calls };
}

/** The entry whose last attempt is followed by a wait. */
export function withDelay(entry: Entry, delayMs: number): Entry {
  const last = entry.history.at(-1);
  if (last === undefined) return entry;
  return { ...entry, history: [...entry.history.slice(0, -1), { ...last, delayMs: Math.round(delayMs) }] };
}
