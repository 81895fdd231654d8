import type { Cycle, Entry } from "../../plugin.js";

/** Older ones are forgotten. */
const MAX_CYCLES = 10;

export interface ReplayMark {
  readonly at: number;
  readonly by: string;
  readonly generation: string;
}

/**
 * A dead letter as it goes back into the queue: its cycle moves into the history, its counters begin anew, and it stays
 * the same entry, with the same id and so the same idempotency key.
 */
export function withReplay(entry: Entry, { at, by, generation }: ReplayMark): Entry {
  const { failure, firstFailedAt, lastAttemptAt, lastError, ...rest } = entry;
  if (failure === undefined) throw new RangeError(`${entry.id} is no dead letter`);
  const cycle: Cycle = {
    failure,
    attempts: entry.attempts,
    calls: entry.calls,
    ...(firstFailedAt !== undefined && { firstFailedAt }),
    ...(lastError !== undefined && { lastError }),
    generation: entry.generation,
    replayedAt: at,
    replayedBy: by,
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
