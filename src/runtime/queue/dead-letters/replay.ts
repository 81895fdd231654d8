import type { Clock } from "#contract";
import type { ReplayReport } from "#contract/operations";
import { type PlannedOptions, type ReplayServices, replayChunk } from "./change/replay-chunk.js";
import type { LocatedEntry } from "./dead-letters.js";
import type { QueueControl } from "./exporter-control.js";
import { destinationOf } from "./replay-check.js";
import { ReplayTally } from "./replay-tally.js";
import type { ReplayPlan } from "./selection.js";

/** Limits of a replay without a rate: its entries in queues at a time, in one commit, and their share of a queue. */
const MAX_PENDING = 1000;
const MAX_BATCH = 250;
const MAX_SHARE = 1 / 2;
const MAX_BATCH_SHARE = 1 / 4;

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
    await waitForRoom(chunk, options, services);
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
    if (!isChunkFull(chunk, options)) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/** Without a rate limit, larger batches share commits, as far as they leave room in the queue. */
function isChunkFull(chunk: readonly LocatedEntry[], options: PlannedOptions): boolean {
  const { settings } = destinationOf(chunk[0]!.control, options.to);
  if (options.rate === 0) return chunk.length >= MAX_BATCH || shareOf(sizeOf(chunk), settings) >= MAX_BATCH_SHARE;
  return chunk.length >= Math.min(settings.replay.batch_size, Math.max(1, Math.floor(rateOf(chunk[0]!, options))));
}

function rateOf({ control }: LocatedEntry, { rate, dryRun, to }: PlannedOptions): number {
  return dryRun || rate === 0 ? Number.POSITIVE_INFINITY : (rate ?? destinationOf(control, to).replayRate);
}

/**
 * Without a rate limit (`rate` 0), the backend sets the pace. Only some of the entries are in the queue at a time, so
 * that it keeps room for new data, and so that a cancelled replay leaves the others as dead letters. Returns at once if
 * nothing is sent here, because then no entry would ever leave the queue.
 */
async function waitForRoom(
  chunk: readonly LocatedEntry[],
  { id, rate, dryRun, to, abort }: PlannedOptions,
  { tracker }: ReplayServices,
): Promise<void> {
  const target = destinationOf(chunk[0]!.control, to);
  const isSending = target.hasPipeline !== undefined;
  if (rate !== 0 || dryRun || id === undefined || tracker === undefined || !isSending) return;
  const mustWait = () => {
    const pending = tracker.pending(id);
    return (
      pending >= MAX_PENDING ||
      (pending > 0 && shareOf(sizeOf(chunk, target.store.stats.pending), target.settings) > MAX_SHARE)
    );
  };
  await new Promise<void>((resolve) => {
    const check = () => {
      if (!abort?.aborted && mustWait()) return;
      stopWatching();
      abort?.removeEventListener("abort", check);
      resolve();
    };
    const stopWatching = tracker.watch(id, check);
    abort?.addEventListener("abort", check);
    check();
  });
}

type QueueSize = Pick<QueueControl["store"]["stats"]["pending"], "entries" | "items" | "bytes">;

/** The size of the entries, and of what is there `before` them. */
function sizeOf(chunk: readonly LocatedEntry[], before: QueueSize = { entries: 0, items: 0, bytes: 0 }): QueueSize {
  let { items, bytes } = before;
  for (const { entry } of chunk) {
    items += entry.items;
    bytes += entry.bytes;
  }
  return { entries: before.entries + chunk.length, items, bytes };
}

/** The share of the queue's capacity that this much takes, from 0 to 1 or more. */
function shareOf({ entries, items, bytes }: QueueSize, { sending_queue }: QueueControl["settings"]): number {
  const { queue_size, sizer, max_bytes } = sending_queue;
  const size = { requests: entries, items, bytes }[sizer];
  return Math.max(max_bytes > 0 ? bytes / max_bytes : 0, queue_size > 0 ? size / queue_size : 0);
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
