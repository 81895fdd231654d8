import type { Entry } from "#contract/operations";
import type { EntryRef, StoredEntry } from "../store/store.js";
import { walkDeadLetters } from "../store/walk-dead-letters.js";
import type { ReplayServices } from "./change/replay-chunk.js";
import { isDeleted, type LocatedEntry } from "./dead-letters.js";
import { type ExporterControl, hasQueue, type QueueControl } from "./exporter-control.js";
import { replayDeadLetters } from "./replay.js";
import { isBreakerBlocking } from "./replay-check.js";
import { createRetention } from "./retention.js";

const RETENTION_INTERVAL_MS = 5000;
const MIN_AUTO_REPLAY_INTERVAL_MS = 1000;

/**
 * Starts the maintenance of one exporter's dead letters: retention, and automatic replay if configured. The returned
 * function stops it. A failed round is logged, and the next one tries again.
 */
export function startDeadLetterMaintenance(control: ExporterControl, services: ReplayServices): () => void {
  if (!hasQueue(control)) return () => {};
  const { enabled, interval } = control.settings.dead_letter.auto_replay;
  const stopped = new AbortController();
  const every = (ms: number, work: () => Promise<void>) => repeat(ms, work, stopped.signal, control.id, services);
  every(RETENTION_INTERVAL_MS, createRetention(control, services));
  if (enabled) {
    const autoReplay = createAutoReplay(control, services);
    every(Math.max(interval, MIN_AUTO_REPLAY_INTERVAL_MS), () => autoReplay(stopped.signal));
  }
  return () => stopped.abort();
}

/** Each round starts `ms` after the end of the previous one. */
function repeat(
  ms: number,
  work: () => Promise<void>,
  stopped: AbortSignal,
  exporter: string,
  services: ReplayServices,
): void {
  const scheduleNext = () => {
    const cancel = services.clock.after(ms, () => {
      stopped.removeEventListener("abort", cancel);
      void round();
    });
    stopped.addEventListener("abort", cancel, { once: true });
  };
  const round = async () => {
    try {
      await work();
    } catch (error) {
      if (!stopped.aborted)
        services.logger.error({ err: error, exporter }, "maintenance of dead letters failed; will try again");
    }
    if (!stopped.aborted) scheduleNext();
  };
  scheduleNext();
}

/**
 * Returns a function that puts dead letters with temporary causes back once their backend has recovered. Each call puts
 * back at most `batch_size` of them, none older than `max_age` and none more than `max_replays` times. The rest waits
 * for a person. If the breaker is not closed and the queue is empty, one dead letter is put back to probe the backend.
 */
export function createAutoReplay(
  control: QueueControl,
  services: ReplayServices,
): (abort: AbortSignal) => Promise<void> {
  const { interval, batch_size, max_age, max_replays } = control.settings.dead_letter.auto_replay;
  /**
   * The last dead letter looked at. The next call continues after it, so that dead letters that cannot be replayed do
   * not block others.
   */
  let position: EntryRef | undefined;

  /** The number of dead letters that may be put back now. */
  function allowed(now: number): number {
    const { state, breaker, queue, paused, refused, lastError, lastSentAt } = control.status();
    if (paused || (state === "DOWN" && refused !== undefined)) return 0;
    if (breaker.state !== "closed") return queue.entries === 0 && !isBreakerBlocking(control, now) ? 1 : 0;
    const hasRecovered = lastError === undefined || lastError.at <= Math.max(lastSentAt ?? 0, now - interval);
    return hasRecovered ? batch_size : 0;
  }

  function isDue(entry: Entry, now: number): boolean {
    const { failure, replays } = entry;
    return (
      failure !== undefined &&
      !isDeleted(entry) &&
      isRecoverable(entry) &&
      replays < max_replays &&
      failure.at + max_age > now
    );
  }

  /** Yields all dead letters, starting after `position`. */
  async function* roundRobin(): AsyncGenerator<StoredEntry> {
    const start = position;
    yield* walkDeadLetters(control.store, "oldest", start);
    if (start === undefined) return;
    for await (const stored of walkDeadLetters(control.store)) {
      if (stored.ref > start) return;
      yield stored;
    }
  }

  async function* candidates(now: number, count: number): AsyncGenerator<LocatedEntry> {
    let left = count;
    for await (const stored of roundRobin()) {
      position = stored.ref;
      if (!isDue(stored.entry, now)) continue;
      yield { ...stored, control };
      if (--left === 0) return;
    }
  }

  return async (abort) => {
    const now = services.clock.now();
    const count = control.store.stats.failed.entries === 0 ? 0 : allowed(now);
    if (count === 0) return;
    await replayDeadLetters({ total: 0, candidates: candidates(now, count) }, { by: "auto-replay", abort }, services);
  };
}

const RECOVERABLE_REASONS: readonly string[] = ["retry_exhausted", "rate_limited", "circuit_open", "queue_full"];

/** Whether the backend did not blame the data. */
function isRecoverable({ failure }: Entry): boolean {
  return failure !== undefined && RECOVERABLE_REASONS.includes(failure.reason) && failure.error.kind !== "permanent";
}
