import type { AttemptError, Entry } from "../../../runtime/kit.js";

/** Attempts that are remembered of a cycle. */
const MAX_HISTORY = 16;

/** The entry after a failed call. `counts`: it was the entry's own failure, not part of an outage. */
export function withFailure(entry: Entry, error: AttemptError, at: number, counts: boolean): Entry {
  const history = [...entry.history.slice(1 - MAX_HISTORY), { at, error: error.class }];
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
