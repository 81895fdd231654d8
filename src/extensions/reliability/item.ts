import type { AttemptError, Batch, Delivery, Entry, FailureReason } from "../../plugin.js";
import type { Evidence } from "./poison.js";
import type { EntryRef, StoredEntry } from "./store/store.js";

/** A pending entry that is in memory: ready to be sent, waiting for a retry, or being sent. */
export interface Item {
  readonly ref: EntryRef;
  /** As the store has it, or will have it with its next write. */
  entry: Entry;
  /** The payload, if it is in memory; otherwise it is read from the store. */
  batch: Batch | undefined;
  /** Whom to tell what became of it, when the client waits for that. */
  delivery: Delivery | undefined;
  /** Monotonic time since which it waits: when it came, or was replayed. So its age is right also when the clock is set. */
  readonly bornAt: number;
  /** Monotonic time of the first failure of the present cycle. */
  failingSince: number | undefined;
  /** Monotonic time of the last attempt when it was taken in; long ago when there was none. */
  readonly triedAt: number;
  /** Monotonic time at which a waiting one may be tried again. */
  dueAt: number;
  /** It has had its turn with the retry limiter. */
  hasTurn: boolean;
  evidence: Evidence | undefined;
  /** It is to become a dead letter; writing that did not succeed yet. */
  verdict: Verdict | undefined;
}

/** Why an entry is given up. */
export interface Verdict {
  readonly reason: FailureReason;
  readonly category: string;
  readonly error: AttemptError;
}

export function itemOf({ ref, entry }: StoredEntry, now: number, monotonic: number, longestWaitMs: number): Item {
  const then = (time: number) => monotonic - Math.max(0, now - time);
  const bornAt = then(entry.cycles.at(-1)?.replayedAt ?? entry.enqueuedAt);
  const failingSince = entry.firstFailedAt === undefined ? undefined : then(entry.firstFailedAt);
  const lastDelay = entry.history.at(-1)?.delayMs;
  const isWaiting = entry.lastAttemptAt !== undefined && lastDelay !== undefined;
  const triedAt = entry.lastAttemptAt === undefined ? Number.NEGATIVE_INFINITY : then(entry.lastAttemptAt);
  const dueAt = isWaiting ? triedAt + Math.min(lastDelay!, longestWaitMs) : 0;
  const nothing = { batch: undefined, delivery: undefined, evidence: undefined, verdict: undefined };
  return { ref, entry, bornAt, failingSince, triedAt, dueAt, hasTurn: false, ...nothing };
}
