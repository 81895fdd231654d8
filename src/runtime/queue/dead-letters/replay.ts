import type { Clock } from "#contract";
import type { ReplayReport } from "#contract/operations";
import { type PlannedOptions, type ReplayServices, replayChunk } from "./change/replay-chunk.js";
import type { LocatedEntry } from "./dead-letters.js";
import { destinationOf } from "./replay-check.js";
import { ReplayTally } from "./replay-tally.js";
import type { ReplayPlan } from "./selection.js";

/**
 * Puts dead letters back into their queues, in chunks and within the rate limit. Each is read again when its turn
 * comes. Entries that were replayed, deleted or delivered meanwhile are skipped as not found, so two concurrent replays
 * put an entry back only once. An abort takes effect between two chunks; entries already put back stay there.
 */
export async function replayDeadLetters(
  plan: ReplayPlan,
  options: PlannedOptions,
  services: ReplayServices,
): Promise<ReplayReport> {
  await services.moves?.settleInterrupted();
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

/**
 * Yields candidates of one exporter at a time, at most one batch and at most as many as the rate allows per second. A
 * dry run has no rate limit.
 */
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

/** Waits until a time of the monotonic clock, or for the abort. */
export function waitUntil(due: number, abort: AbortSignal | undefined, clock: Clock): Promise<void> {
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
