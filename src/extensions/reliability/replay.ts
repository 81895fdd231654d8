import type { Clock, Logger, Metrics, ReplayOptions, ReplayReport, ReplaySkip } from "../../plugin.js";
import type { Found } from "./dead-letters.js";
import { exclusively } from "./exclusive.js";
import { whyNot } from "./replay-check.js";
import { ReplayTally } from "./replay-tally.js";
import { replayed } from "./replayed.js";

export interface ReplayTools {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Names the config the agent runs with. */
  readonly generation: string;
}

/** What is to be replayed: an estimate of how many, and the dead letters themselves, one after the other. */
export interface ReplayPlan {
  readonly total: number;
  readonly candidates: AsyncIterable<Found>;
  /** Ids that name no dead letter. */
  readonly missing?: readonly string[];
}

/**
 * Puts dead letters back into their queues, in batches and not faster than the rate. Each is looked at again in the moment
 * of its turn: what was replayed, deleted or delivered meanwhile is passed over as not found, so replaying the same entry
 * twice at once replays it once. An abort ends it between two batches; what was put back stays so.
 */
export async function replay(plan: ReplayPlan, options: ReplayOptions, tools: ReplayTools): Promise<ReplayReport> {
  const tally = new ReplayTally(plan.total, options, tools.metrics);
  for (const id of plan.missing ?? []) tally.skip(id, "skip_not_found");
  let due = tools.clock.monotonic();
  for await (const batch of inBatches(plan.candidates, options)) {
    await until(due, options.abort, tools.clock);
    if (options.abort?.aborted) break;
    await replayBatch(batch, options, tools, tally);
    due = Math.max(due, tools.clock.monotonic()) + (batch.length / rateOf(batch[0]!, options)) * 1000;
  }
  tally.log(options, tools.logger);
  return tally.report();
}

async function replayBatch(batch: readonly Found[], options: ReplayOptions, tools: ReplayTools, tally: ReplayTally) {
  const { control } = batch[0]!;
  await exclusively(control.store, async () => {
    const now = tools.clock.now();
    const changes: { ref: number; entry: Found["entry"] }[] = [];
    for (const candidate of batch) {
      const reason = await judge(
        candidate,
        options,
        now,
        changes.map(({ entry }) => entry.id),
      );
      if (typeof reason === "string") tally.skip(candidate.entry.id, reason, control.id);
      else
        changes.push({
          ref: reason.ref,
          entry: replayed(reason.entry, { at: now, by: options.by, generation: tools.generation }),
        });
    }
    if (!options.dryRun && changes.length > 0) {
      const stored = await control.store.replay(changes);
      control.wake(stored.map(({ entry }) => entry));
    }
    for (const { entry } of changes) tally.take(entry.id, control.id);
  });
}

/** The entry as it is now, or the reason why it stays where it is. */
async function judge(
  { control, entry }: Found,
  { approved = false }: ReplayOptions,
  now: number,
  chosen: readonly string[],
): Promise<Found | ReplaySkip> {
  const present = await control.store.find(entry.id);
  if (present?.entry.state !== "failed" || chosen.includes(entry.id)) return "skip_not_found";
  const found = { ...present, control };
  return (await whyNot(found, { now, approved })) ?? found;
}

/** Candidates of one exporter at a time, at most a batch of them, at most a second's worth. A dry run knows no rate. */
async function* inBatches(candidates: AsyncIterable<Found>, options: ReplayOptions): AsyncGenerator<Found[]> {
  let batch: Found[] = [];
  for await (const found of candidates) {
    if (batch.length > 0 && batch[0]!.control !== found.control) {
      yield batch;
      batch = [];
    }
    batch.push(found);
    const most = Math.min(found.control.settings.replay.batch_size, Math.max(1, Math.floor(rateOf(found, options))));
    if (batch.length < most) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function rateOf({ control }: Found, { rate, dryRun }: ReplayOptions): number {
  return dryRun ? Number.POSITIVE_INFINITY : (rate ?? control.replayRate);
}

/** Waits for a moment of the monotonic clock, or for the abort. */
function until(due: number, abort: AbortSignal | undefined, clock: Clock): Promise<void> {
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
