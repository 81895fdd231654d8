import type { Entry } from "#contract/operations";
import { walkDeadLetters } from "../store/dead-letter-access.js";
import type { EntryRef, StoredEntry } from "../store/store.js";
import type { ReplayServices } from "./change/replay-chunk.js";
import { isDeleted, type LocatedEntry } from "./dead-letters.js";
import type { QueueControl } from "./exporter-control.js";
import { replayDeadLetters, waitUntil } from "./replay.js";
import { isBreakerBlocking } from "./replay-check.js";

/**
 * Puts dead letters with temporary causes back once their backend has recovered: at most `batch_size` at once, none
 * older than `max_age` and none more than `max_replays` times. The rest waits for a person. If the breaker is not closed
 * and the queue is empty, one dead letter is put back to probe the backend.
 */
export class AutoReplay {
  private readonly control: QueueControl;
  private readonly services: ReplayServices;
  /**
   * The last dead letter looked at. The next batch continues after it, so that dead letters that cannot be replayed do
   * not block others.
   */
  private position: EntryRef | undefined;

  constructor(control: QueueControl, services: ReplayServices) {
    this.control = control;
    this.services = services;
  }

  /** Puts back one batch. */
  async replayBatch(abort: AbortSignal): Promise<void> {
    const count = this.allowed();
    if (count > 0) await this.replay(this.candidates(this.roundRobin(), count), abort);
  }

  /**
   * Puts back all dead letters that are there at the beginning, one batch per interval. Ends early if the backend fails
   * again.
   */
  async replayAll(abort: AbortSignal): Promise<void> {
    const { clock } = this.services;
    const startedAt = clock.now();
    this.position = undefined;
    for (;;) {
      const count = this.allowed();
      if (count === 0) return;
      const isOld = ({ entry }: StoredEntry) => (entry.failure?.at ?? 0) <= startedAt;
      const stored = walkDeadLetters(this.control.store, "oldest", this.position);
      const { selected } = await this.replay(this.candidates(stored, count, isOld), abort);
      if (selected < count || abort.aborted) return;
      await waitUntil(clock.monotonic() + this.settings.interval, abort, clock);
    }
  }

  private get settings() {
    return this.control.settings.dead_letter.auto_replay;
  }

  private replay(candidates: AsyncIterable<LocatedEntry>, abort: AbortSignal) {
    return replayDeadLetters({ total: 0, candidates }, { by: "auto-replay", abort }, this.services);
  }

  /** The number of dead letters that may be put back now. */
  private allowed(): number {
    const { control, settings } = this;
    if (control.store.stats.failed.entries === 0) return 0;
    const now = this.services.clock.now();
    const { state, breaker, queue, paused, refused, lastError, lastSentAt } = control.status();
    if (paused || (state === "DOWN" && refused !== undefined)) return 0;
    if (breaker.state !== "closed") return queue.entries === 0 && !isBreakerBlocking(control, now) ? 1 : 0;
    const hasRecovered = lastError === undefined || lastError.at <= Math.max(lastSentAt ?? 0, now - settings.interval);
    return hasRecovered ? settings.batch_size : 0;
  }

  private isDue(entry: Entry, now: number): boolean {
    const { failure, replays } = entry;
    const { max_age, max_replays } = this.settings;
    return (
      failure !== undefined &&
      !isDeleted(entry) &&
      isRecoverable(entry) &&
      replays < max_replays &&
      failure.at + max_age > now
    );
  }

  /** Yields all dead letters, starting after `position`. */
  private async *roundRobin(): AsyncGenerator<StoredEntry> {
    const { store } = this.control;
    const start = this.position;
    yield* walkDeadLetters(store, "oldest", start);
    if (start === undefined) return;
    for await (const stored of walkDeadLetters(store)) {
      if (stored.ref > start) return;
      yield stored;
    }
  }

  private async *candidates(
    deadLetters: AsyncIterable<StoredEntry>,
    count: number,
    isWanted: (stored: StoredEntry) => boolean = () => true,
  ): AsyncGenerator<LocatedEntry> {
    const now = this.services.clock.now();
    let left = count;
    for await (const stored of deadLetters) {
      this.position = stored.ref;
      if (!this.isDue(stored.entry, now) || !isWanted(stored)) continue;
      yield { ...stored, control: this.control };
      if (--left === 0) return;
    }
  }
}

const RECOVERABLE_REASONS: readonly string[] = ["retry_exhausted", "rate_limited", "circuit_open", "queue_full"];

/** Whether the backend did not blame the data. */
function isRecoverable({ failure }: Entry): boolean {
  return failure !== undefined && RECOVERABLE_REASONS.includes(failure.reason) && failure.error.kind !== "permanent";
}
