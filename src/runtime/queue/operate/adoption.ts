import type { Clock, Logger } from "#contract";
import { ERROR_CODES } from "#contract/errors";
import type { AdoptOptions, AttemptError, Entry, Failure, QueueAdoption, ReplaySkip } from "#contract/operations";
import type { ConfigNow } from "#contract/operators";
import type { Batch } from "#otlp";
import { excerptOf } from "../dead-letters/batch-excerpt.js";
import type { Move, Moves } from "../dead-letters/change/moves.js";
import { withReplay } from "../dead-letters/change/with-replay.js";
import { signatureOf } from "../dead-letters/dead-letter-writer.js";
import type { QueueControl } from "../dead-letters/exporter-control.js";
import { hasRoom } from "../dead-letters/forwarder.js";
import { waitUntil } from "../dead-letters/replay.js";
import { hasUnknownPipeline, withPipeline } from "../dead-letters/replay-check.js";
import { runExclusively } from "../store/dead-letter-access.js";
import { type EntryRef, isEntryGone, type StoredEntry } from "../store/store.js";

export interface AdoptionServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly moves: Moves;
  readonly running: ConfigNow;
}

/** Entries that are moved together. */
const CHUNK_SIZE = 50;
/** How long to wait for room in the other queue before it is looked at again. */
const ROOM_WAIT_MS = 250;

/** How an entry is moved. `settled`: it need not be, and is only removed. */
export type PlannedMove = Move | ReplaySkip | "settled";

/** Entries that the queue of another exporter gets unchanged. */
export interface AdoptedAsTheyAre {
  /** For the log. */
  readonly what: string;
  plan(stored: StoredEntry, to: QueueControl): Promise<PlannedMove>;
}

/**
 * Moves all entries of an orphaned queue into another exporter's. Each chunk is moved as `Moves` describes, so a crash
 * loses and doubles nothing, and a second adoption continues where this one was interrupted. It waits while the other
 * queue is half full, so that new data finds room there.
 */
export class Adoption {
  private readonly from: QueueControl;
  private readonly to: () => QueueControl;
  private readonly options: AdoptOptions;
  private readonly services: AdoptionServices;
  private readonly asTheyAre: AdoptedAsTheyAre | undefined;
  private readonly abort = new AbortController();
  private current: QueueAdoption;

  /**
   * `to` returns the queue of the other exporter as it is now; it throws if there is none any more. Entries are changed
   * for another exporter, unless `asTheyAre` says how they are moved.
   */
  constructor(
    from: QueueControl,
    to: () => QueueControl,
    options: AdoptOptions,
    services: AdoptionServices,
    asTheyAre?: AdoptedAsTheyAre,
  ) {
    this.asTheyAre = asTheyAre;
    this.from = from;
    this.to = to;
    this.options = options;
    this.services = services;
    const { pending, failed } = from.store.stats;
    this.current = {
      queue: from.id,
      to: options.to,
      by: options.by,
      startedAt: services.clock.now(),
      state: "running",
      total: pending.entries + failed.entries,
      moved: 0,
      skipped: {},
    };
  }

  get status(): QueueAdoption {
    return this.current;
  }

  cancel(): void {
    this.abort.abort();
  }

  /** Never rejects: the status tells how it ended. */
  async run(): Promise<void> {
    const { store } = this.from;
    const { logger } = this.services;
    const [queue, to] = [this.from.id, this.options.to];
    const { what = "an orphaned queue" } = this.asTheyAre ?? {};
    logger.info({ queue, to, entries: this.current.total, by: this.options.by }, `adopting ${what}`);
    try {
      await this.moveAll((after) => store.pending(after, CHUNK_SIZE));
      await this.moveAll((after) => store.failed(after, CHUNK_SIZE, "oldest"));
      this.finish(this.abort.signal.aborted ? "cancelled" : "done");
    } catch (error) {
      this.finish("failed", (error as Error).message);
    }
    const { state, moved, skipped, error } = this.current;
    const facts = { queue, to, moved, skipped, ...(error !== undefined && { error }) };
    if (state === "done") logger.info(facts, `${what} was adopted`);
    else logger.warn(facts, `the adoption of ${what} was ${state === "failed" ? "interrupted" : "cancelled"}`);
  }

  private finish(state: QueueAdoption["state"], error?: string): void {
    this.current = { ...this.current, state, ...(error !== undefined && { error }) };
  }

  private async moveAll(next: (after: EntryRef | undefined) => Promise<StoredEntry[]>): Promise<void> {
    let after: EntryRef | undefined;
    for (;;) {
      await this.waitForRoom();
      if (this.abort.signal.aborted) return;
      const chunk = await next(after);
      if (chunk.length === 0) return;
      after = chunk.at(-1)!.ref;
      await runExclusively(this.from.store, () => this.moveChunk(chunk));
    }
  }

  private async waitForRoom(): Promise<void> {
    const { clock } = this.services;
    while (!this.abort.signal.aborted && !hasRoom(this.to()))
      await waitUntil(clock.monotonic() + ROOM_WAIT_MS, this.abort.signal, clock);
  }

  private async moveChunk(chunk: readonly StoredEntry[]): Promise<void> {
    const to = this.to();
    const moves: Move[] = [];
    const settled: EntryRef[] = [];
    for (const stored of chunk) {
      const planned = await (this.asTheyAre ?? this).plan(stored, to);
      if (planned === "settled") settled.push(stored.ref);
      else if (typeof planned === "string") this.skip(planned);
      else moves.push(planned);
    }
    if (settled.length > 0) await this.from.store.delete(settled);
    if (moves.length === 0) return;
    const pending = await this.services.moves.move(this.from, to, moves);
    if (pending.length > 0) to.onReplayed(pending.map(({ entry }) => entry));
    this.current = { ...this.current, moved: this.current.moved + moves.length };
  }

  private skip(reason: ReplaySkip): void {
    const { skipped } = this.current;
    this.current = { ...this.current, skipped: { ...skipped, [reason]: (skipped[reason] ?? 0) + 1 } };
  }

  /** Returns how to move an entry to another exporter. */
  async plan(stored: StoredEntry, to: QueueControl): Promise<PlannedMove> {
    const { entry, ref } = stored;
    const isThere = (await to.store.find(entry.id)) !== undefined;
    if (isThere || !to.pipelines?.some(({ signal }) => signal === entry.signal)) return "skip_destination";
    const batch = await this.from.store.payload(ref).catch((error: unknown) => {
      if (isEntryGone(error)) return undefined;
      throw error;
    });
    if (batch === undefined) return "skip_schema";
    if (entry.state === "failed") return { stored, replayed: { ...ownless(entry), movedFrom: this.from.id }, batch };
    const located = { ...stored, control: { ...this.from, hasPipeline: to.hasPipeline } };
    const { pipeline } = this.options;
    if (pipeline === undefined && hasUnknownPipeline(located)) return "skip_pipeline";
    const failure = failureOf(entry, batch, this.services.clock.now());
    const mark = { at: failure.at, by: this.options.by, generation: this.services.running.config.generation };
    const sent = withReplay({ ...withPipeline(located, pipeline), state: "failed", failure }, mark);
    return { stored, replayed: { ...ownless(sent), movedFrom: this.from.id }, batch, failure };
  }
}

/** Returns what a pending entry shows while it arrives in another queue. */
export function failureOf({ exporter }: Entry, batch: Batch, at: number): Failure {
  const signature = signatureOf(exporter, ORPHANED);
  const cause = { reason: "imported", rule: "import", category: "integration", error: ORPHANED, signature } as const;
  return { at, ...cause, ...excerptOf(batch) };
}

/** Without what only its former exporter could use. */
function ownless({ metadata: _, batchKey: __, ...entry }: Entry): Entry {
  return entry;
}

const ORPHANED: AttemptError = {
  kind: "transient",
  class: ERROR_CODES.SLUICE_ORPHANED,
  message: "its exporter was removed from the config, and another one has adopted its queue",
  code: ERROR_CODES.SLUICE_ORPHANED,
};
