import type { Clock } from "#contract";
import type { ReplayReport } from "#contract/operations";
import { type PlannedOptions, type ReplayServices, replayChunk } from "./change/replay-chunk.js";
import type { LocatedEntry } from "./dead-letters.js";
import { destinationOf } from "./replay-check.js";
import { ReplayTally } from "./replay-tally.js";

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
  options: PlannedOptions,
  services: ReplayServices,
): Promise<ReplayReport> {
  await services.moves?.settleLeft();
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

/** Candidates of one exporter at a time, at most a batch of them, at most a second's worth. A dry run knows no rate. */
async function* inChunks(
  candidates: AsyncIterable<LocatedEntry>,
  options: PlannedOptions,
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

function rateOf({ control }: LocatedEntry, { rate, dryRun, to }: PlannedOptions): number {
  return dryRun ? Number.POSITIVE_INFINITY : (rate ?? destinationOf(control, to).replayRate);
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
