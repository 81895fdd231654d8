import type { Clock, Logger, MessageWatch, Metrics } from "#contract";
import type { Entry, ReplayOptions, ReplaySkip, Transform } from "#contract/operations";
import type { ConfigNow } from "#contract/operators";
import type { Batch } from "#otlp";
import { runExclusively } from "../../store/dead-letter-access.js";
import { replacementOf } from "../../store/format/entry.js";
import { isEntryGone, type StoredEntry } from "../../store/store.js";
import { isDeleted, type LocatedEntry } from "../dead-letters.js";
import type { QueueControl } from "../exporter-control.js";
import { destinationOf, replaySkipReason, withPipeline } from "../replay-check.js";
import type { ReplayTally } from "../replay-tally.js";
import { type MessageSources, tellSources } from "./message-replays.js";
import type { Moves } from "./moves.js";
import { type Originals, withEdit } from "./originals.js";
import { type MaskSample, sampleOf } from "./samples.js";
import { withReplay } from "./with-replay.js";

export interface ReplayServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Identifies the config that the agent runs with. */
  readonly running: ConfigNow;
  /** Notified of the entries that were put back. Knows how many are still in queues, and tells when that changes. */
  readonly tracker?:
    | {
        queued(id: string, entries: readonly Entry[]): void;
        pending(id: string): number;
        watch(id: string, listener: () => void): () => void;
      }
    | undefined;
  /** Keeps payloads that a replay changes. Only replays of operators need it, and `moves`. */
  readonly originals?: Originals | undefined;
  readonly moves?: Moves | undefined;
  readonly messageSources?: MessageSources | undefined;
  /** Masks samples of a dry run. */
  readonly maskSample?: MaskSample | undefined;
}

/** Replay options with the names in them resolved. */
export interface PlannedOptions extends Omit<ReplayOptions, "to"> {
  readonly to?: QueueControl | undefined;
  readonly transformation?: Transform | undefined;
}

/**
 * A dead letter that may be replayed, as it will be put back. `batch` is set if the payload differs from the stored
 * one.
 */
interface PlannedReplay {
  readonly stored: LocatedEntry;
  readonly entry: Entry;
  readonly batch?: Batch | undefined;
}

/**
 * Puts candidates of one exporter back, inside one exclusive turn of its store. Each candidate is read again, so that
 * replays, deletions and edits made meanwhile are respected.
 */
export async function replayChunk(
  chunk: readonly LocatedEntry[],
  options: PlannedOptions,
  services: ReplayServices,
  tally: ReplayTally,
) {
  const { control } = chunk[0]!;
  await runExclusively(control.store, async () => {
    const now = services.clock.now();
    const planned: PlannedReplay[] = [];
    for (const candidate of chunk) {
      const isChosen = planned.some(({ entry }) => entry.id === candidate.entry.id);
      const checked = await checkCandidate(candidate, options, now, isChosen, services, tally);
      if ("skip" in checked) tally.countSkipped(candidate.entry.id, checked.skip, control.id, checked.message);
      else planned.push(planReplay(checked, options, now, services));
    }
    const { ready, watches } = options.dryRun
      ? { ready: planned, watches: new Map() }
      : await tellSources(planned, options, services.messageSources, (id, message) =>
          tally.countSkipped(id, "skip_source", control.id, message),
        );
    if (!options.dryRun && ready.length > 0) await putBack(control, ready, options, now, services, watches);
    for (const { entry } of ready) tally.countReplayed(entry.id, control.id);
  });
}

/** Entries that are pending again, and why others could not be put back. */
interface PutBack {
  readonly replayed: readonly StoredEntry[];
  readonly failure: PromiseRejectedResult | undefined;
}

/** The old payload of a changed entry is stored in the history first. The entries of one chunk share commits. */
async function putBack(
  control: QueueControl,
  planned: readonly PlannedReplay[],
  { id, to }: PlannedOptions,
  now: number,
  { originals, moves, tracker }: ReplayServices,
  watches: ReadonlyMap<string, MessageWatch>,
): Promise<void> {
  const { store } = control;
  const target = destinationOf(control, to);
  await moves?.forget(planned.map(({ entry }) => entry.id));
  const changed = planned.filter(({ batch }) => batch !== undefined);
  await Promise.all(
    changed.map(async ({ stored }) => originals!.keep(stored.entry, await store.payload(stored.ref), now)),
  );
  const { replayed, failure } = await (target === control ? replayHere() : moveThere());
  if (id !== undefined)
    tracker?.queued(
      id,
      replayed.map((stored) => stored.entry),
    );
  if (replayed.length > 0) target.onReplayed(replayed.map((stored) => stored.entry));
  for (const stored of replayed) {
    const watch = watches.get(stored.entry.id);
    if (watch !== undefined) target.watch?.(stored, watch);
  }
  if (failure !== undefined) throw failure.reason;

  /** Entries that were put back are sent, even if others could not be written. */
  async function replayHere(): Promise<PutBack> {
    const unchanged = planned.filter(({ batch }) => batch === undefined);
    const written = await Promise.allSettled([
      unchanged.length === 0 ? [] : store.replay(unchanged.map(({ stored, entry }) => ({ ref: stored.ref, entry }))),
      ...changed.map(({ stored, entry, batch }) => store.replace(stored.ref, [replacementOf(entry, batch!)])),
    ]);
    return {
      replayed: written.flatMap((one) => (one.status === "fulfilled" ? one.value : [])),
      failure: written.find((one) => one.status === "rejected"),
    };
  }

  async function moveThere(): Promise<PutBack> {
    return { replayed: await moves!.move(control, target, await moved()), failure: undefined };
  }

  function moved() {
    return Promise.all(
      planned.map(async ({ stored, entry, batch }) => {
        const { metadata: _, batchKey: __, ...replayed } = entry;
        return {
          stored,
          replayed: { ...replayed, movedFrom: control.id },
          batch: batch ?? (await store.payload(stored.ref)),
        };
      }),
    );
  }
}

type Checked =
  | { readonly stored: LocatedEntry; readonly batch: Batch | undefined }
  | { readonly skip: ReplaySkip; readonly message?: string };

/** Returns the current entry with its transformed payload, or the reason why it is skipped. */
async function checkCandidate(
  { control, entry }: LocatedEntry,
  { approved = false, pipeline, to, transformation, revealSamples }: PlannedOptions,
  now: number,
  isChosen: boolean,
  services: ReplayServices,
  tally: ReplayTally,
): Promise<Checked> {
  const present = await control.store.find(entry.id);
  if (present?.entry.state !== "failed" || isDeleted(present.entry) || isChosen) return { skip: "skip_not_found" };
  const found = { ...present, control };
  const destination = to === control ? undefined : to;
  const conditions = { now, approved, pipeline, to: destination, moving: (id: string) => services.moves?.stateOf(id) };
  if (transformation === undefined && !tally.wantsSample) {
    const skipped = await replaySkipReason(found, conditions);
    return skipped ?? { stored: withOwnPipeline(found, pipeline), batch: undefined };
  }
  const batch = await control.store.payload(present.ref).catch((error: unknown) => {
    if (isEntryGone(error)) return undefined;
    throw error;
  });
  if (batch === undefined) return { skip: "skip_schema" };
  const changed = transformation?.(batch) ?? { batch };
  if ("problem" in changed) return { skip: "skip_transform", message: changed.problem };
  const skipped = await replaySkipReason(found, conditions, async () => changed.batch);
  if (skipped !== undefined) return skipped;
  const stored = withOwnPipeline(found, pipeline);
  if (tally.wantsSample) {
    const prepared = destinationOf(control, destination).prepare?.(stored.entry, changed.batch, true);
    const after = prepared?.error === undefined ? (prepared ?? changed) : { problem: prepared.error.message };
    tally.addSample(
      await sampleOf(stored.entry, batch, after, revealSamples ? undefined : (services.maskSample ?? refuseToMask)),
    );
  }
  const isSame = changed.batch === batch || Buffer.compare(changed.batch.bytes, batch.bytes) === 0;
  return { stored, batch: isSame ? undefined : changed.batch };
}

function withOwnPipeline(found: LocatedEntry, pipeline: ReplayOptions["pipeline"]): LocatedEntry {
  return { ...found, entry: withPipeline(found, pipeline) };
}

function planReplay(
  { stored, batch }: Exclude<Checked, { skip: unknown }>,
  { by, reason, transform, generation, id }: PlannedOptions,
  now: number,
  services: ReplayServices,
): PlannedReplay {
  const mark = { at: now, by, generation: generation ?? services.running.config.generation, replayId: id };
  const { arriving: _, ...replayed } = withReplay(stored.entry, mark);
  if (batch === undefined) return { stored, entry: replayed };
  const edit = { at: now, by, ...(reason !== undefined && { reason }), transform };
  return { stored, entry: withEdit(replayed, edit), batch };
}

function refuseToMask(): Promise<Batch> {
  return Promise.reject(new TypeError("payloads cannot be masked here"));
}
