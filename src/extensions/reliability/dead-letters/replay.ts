import type { Clock, Logger, Metrics } from "../../../plugin.js";
import type { Cycle, Entry, ReplayOptions, ReplayReport, ReplaySkip } from "../../../runtime/kit.js";
import type { ReplayTracker } from "../records/replay-tracker.js";
import { isDeleted, type LocatedEntry } from "./dead-letters.js";
import { replaySkipReason, withPipeline } from "./replay-check.js";
import { ReplayTally } from "./replay-tally.js";
import { runExclusively } from "./run-exclusively.js";

export interface ReplayServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Names the config the agent runs with. */
  readonly generation: string;
  /** Told which entries were put back. */
  readonly tracker?: Pick<ReplayTracker, "queued"> | undefined;
}

/** What is to be replayed: an estimate of how many, and the dead letters themselves, one after the other. */
export interface ReplayPlan {
  readonly total: number;
  readonly candidates: AsyncIterable<LocatedEntry>;
  /** Ids that name no dead letter. */
  readonly missing?: readonly string[];
}

/**
 * Puts dead letters back into their queues, in batches and not faster than the rate. Each is looked at again in the moment
 * of its turn: what was replayed, deleted or delivered meanwhile is passed over as not found, so replaying the same entry
 * twice at once replays it once. An abort ends it between two batches; what was put back stays so.
 */
export async function replayDeadLetters(
  plan: ReplayPlan,
  options: ReplayOptions,
  services: ReplayServices,
): Promise<ReplayReport> {
  const tally = new ReplayTally(plan.total, options, services.metrics);
  for (const id of plan.missing ?? []) tally.countSkipped(id, "skip_not_found");
  let nextAt = services.clock.monotonic();
  for await (const chunk of inChunks(plan.candidates, options)) {
    await waitUntil(nextAt, options.abort, services.clock);
    await options.whenResumed?.();
    if (options.abort?.aborted) break;
    await replayChunk(chunk, options, services, tally);
    nextAt = Math.max(nextAt, services.clock.monotonic()) + (chunk.length / rateOf(chunk[0]!, options)) * 1000;
  }
  tally.log(options, services.logger);
  return tally.report();
}

async function replayChunk(
  chunk: readonly LocatedEntry[],
  options: ReplayOptions,
  services: ReplayServices,
  tally: ReplayTally,
) {
  const { control } = chunk[0]!;
  await runExclusively(control.store, async () => {
    const now = services.clock.now();
    const changes: { ref: number; entry: LocatedEntry["entry"] }[] = [];
    for (const candidate of chunk) {
      const checked = await checkCandidate(
        candidate,
        options,
        now,
        changes.map(({ entry }) => entry.id),
      );
      if (typeof checked === "string") tally.countSkipped(candidate.entry.id, checked, control.id);
      else
        changes.push({
          ref: checked.ref,
          entry: withReplay(checked.entry, {
            at: now,
            by: options.by,
            generation: options.generation ?? services.generation,
            replayId: options.id,
          }),
        });
    }
    if (!options.dryRun && changes.length > 0) {
      const stored = await control.store.replay(changes);
      if (options.id !== undefined)
        services.tracker?.queued(
          options.id,
          stored.map(({ entry }) => entry.id),
        );
      control.onReplayed(stored.map(({ entry }) => entry));
    }
    for (const { entry } of changes) tally.countReplayed(entry.id, control.id);
  });
}

/** The entry as it is now, or the reason why it stays where it is. */
async function checkCandidate(
  { control, entry }: LocatedEntry,
  { approved = false, pipeline }: ReplayOptions,
  now: number,
  chosen: readonly string[],
): Promise<LocatedEntry | ReplaySkip> {
  const present = await control.store.find(entry.id);
  if (present?.entry.state !== "failed" || isDeleted(present.entry) || chosen.includes(entry.id))
    return "skip_not_found";
  const found = { ...present, control };
  const skip = await replaySkipReason(found, { now, approved, pipeline });
  return skip ?? { ...found, entry: withPipeline(found, pipeline) };
}

/** Candidates of one exporter at a time, at most a batch of them, at most a second's worth. A dry run knows no rate. */
async function* inChunks(
  candidates: AsyncIterable<LocatedEntry>,
  options: ReplayOptions,
): AsyncGenerator<LocatedEntry[]> {
  let chunk: LocatedEntry[] = [];
  for await (const found of candidates) {
    if (chunk.length > 0 && chunk[0]!.control !== found.control) {
      yield chunk;
      chunk = [];
    }
    chunk.push(found);
    const chunkSize = Math.min(
      found.control.settings.replay.batch_size,
      Math.max(1, Math.floor(rateOf(found, options))),
    );
    if (chunk.length < chunkSize) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

function rateOf({ control }: LocatedEntry, { rate, dryRun }: ReplayOptions): number {
  return dryRun ? Number.POSITIVE_INFINITY : (rate ?? control.replayRate);
}

/** Waits for a moment of the monotonic clock, or for the abort. */
function waitUntil(due: number, abort: AbortSignal | undefined, clock: Clock): Promise<void> {
  const wait = due - clock.monotonic();
  if (wait < 1 || abort?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      abort?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(wait, done);
    abort?.addEventListener("abort", done);
  });
}

/** Older ones are forgotten. */
const MAX_CYCLES = 10;

interface ReplayMark {
  readonly at: number;
  readonly by: string;
  readonly generation: string;
  readonly replayId?: string | undefined;
}

/**
 * A dead letter as it goes back into the queue: its cycle moves into the history, its counters begin anew, and it stays
 * the same entry, with the same id and so the same idempotency key. When it first failed at all is not forgotten.
 */
export function withReplay(entry: Entry, { at, by, generation, replayId }: ReplayMark): Entry {
  const { failure, failingSince, lastAttemptAt, lastError, ...rest } = entry;
  if (failure === undefined) throw new RangeError(`${entry.id} is no dead letter`);
  const cycle: Cycle = {
    failure,
    attempts: entry.attempts,
    calls: entry.calls,
    ...(failingSince !== undefined && { firstFailedAt: failingSince }),
    ...(lastError !== undefined && { lastError }),
    generation: entry.generation,
    replayedAt: at,
    replayedBy: by,
    ...(replayId !== undefined && { replayId, replayedAs: entry.id }),
  };
  return {
    ...rest,
    state: "pending",
    firstFailedAt: entry.firstFailedAt ?? failure.at,
    attempts: 0,
    calls: 0,
    history: [],
    cycles: [...entry.cycles, cycle].slice(-MAX_CYCLES),
    generation,
    replays: entry.replays + 1,
  };
}
