import type { Entry } from "../../../runtime/kit.js";
import type { QueueControl } from "../operate/exporter-control.js";
import type { EntryRef, StoredEntry } from "../store/store.js";
import { type LocatedEntry, walkDeadLetters } from "./dead-letters.js";
import { type ReplayServices, replayDeadLetters } from "./replay.js";

/**
 * Puts dead letters of passing causes back once their backend has recovered: gives the function that does so once, at most
 * `batch_size` of them, none older than `max_age` and none more than `max_replays` times. The rest waits for a person.
 */
export function createAutoReplay(
  control: QueueControl,
  services: ReplayServices,
): (abort: AbortSignal) => Promise<void> {
  const { interval, batch_size, max_age, max_replays } = control.settings.dead_letter.auto_replay;
  /** The last one that was looked at: those that cannot be replayed must not keep the others from it. */
  let position: EntryRef | undefined;

  function hasRecovered(now: number): boolean {
    const { breaker, paused, lastError, lastSentAt } = control.status();
    if (paused || breaker.state !== "closed") return false;
    return lastError === undefined || lastError.at <= Math.max(lastSentAt ?? 0, now - interval);
  }

  function isDue(entry: Entry, now: number): boolean {
    const { failure, replays } = entry;
    return failure !== undefined && isRecoverable(entry) && replays < max_replays && failure.at + max_age > now;
  }

  /** All of them, beginning behind the last one. */
  async function* roundRobin(): AsyncGenerator<StoredEntry> {
    const start = position;
    yield* walkDeadLetters(control.store, "oldest", start);
    if (start === undefined) return;
    for await (const stored of walkDeadLetters(control.store)) {
      if (stored.ref > start) return;
      yield stored;
    }
  }

  async function* candidates(now: number): AsyncGenerator<LocatedEntry> {
    let left = batch_size;
    for await (const stored of roundRobin()) {
      position = stored.ref;
      if (!isDue(stored.entry, now)) continue;
      yield { ...stored, control };
      if (--left === 0) return;
    }
  }

  return async (abort) => {
    const now = services.clock.now();
    if (control.store.stats.failed.entries === 0 || !hasRecovered(now)) return;
    await replayDeadLetters({ total: 0, candidates: candidates(now) }, { by: "auto-replay", abort }, services);
  };
}

const RECOVERABLE_REASONS: readonly string[] = ["retry_exhausted", "rate_limited", "circuit_open", "queue_full"];

/** Nothing was wrong with the data, as far as the backend said. */
function isRecoverable({ failure }: Entry): boolean {
  return failure !== undefined && RECOVERABLE_REASONS.includes(failure.reason) && failure.error.kind !== "permanent";
}
