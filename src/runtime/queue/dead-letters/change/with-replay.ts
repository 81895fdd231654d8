import type { Cycle, Entry } from "#contract/operations";

/** Older cycles are forgotten. */
const MAX_CYCLES = 10;

interface ReplayMark {
  readonly at: number;
  readonly by: string;
  readonly generation: string;
  readonly replayId?: string | undefined;
}

/**
 * Returns a dead letter as it goes back into the queue. Its cycle is added to the history and its counters start again.
 * It stays the same entry, with the same id and therefore the same idempotency key.
 */
export function withReplay(entry: Entry, { at, by, generation, replayId }: ReplayMark): Entry {
  const { failure, firstFailedAt, lastAttemptAt, lastError, forwarded: _, ...rest } = entry;
  if (failure === undefined) throw new RangeError(`${entry.id} is not a dead letter`);
  const cycle: Cycle = {
    failure,
    attempts: entry.attempts,
    calls: entry.calls,
    ...(firstFailedAt !== undefined && { firstFailedAt }),
    ...(lastError !== undefined && { lastError }),
    generation: entry.generation,
    replayedAt: at,
    replayedBy: by,
    ...(replayId !== undefined && { replayId, replayedAs: entry.id }),
  };
  return {
    ...rest,
    state: "pending",
    attempts: 0,
    calls: 0,
    history: [],
    cycles: [...entry.cycles, cycle].slice(-MAX_CYCLES),
    generation,
    replays: entry.replays + 1,
  };
}
