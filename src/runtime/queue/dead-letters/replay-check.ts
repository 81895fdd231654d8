import type { DeadLetterQuery, Entry, ReplaySkip } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import { Batch } from "#otlp";
import { isMalformed } from "#otlp/signals";
import type { QueueControl } from "../operate/exporter-control.js";
import { isEntryGone } from "../store/store.js";
import { type LocatedEntry, queryMatcher } from "./dead-letters.js";

export interface ReplayConditions {
  readonly now: number;
  readonly approved: boolean;
  /** The exporter that it is sent to, when that is another than it failed at. */
  readonly to?: QueueControl | undefined;
  /** Whether it is being moved to another queue, or that broke off and cannot be settled. */
  readonly moving?: ((id: string) => "now" | "unsettled" | undefined) | undefined;
  /** See `ReplayOptions`. */
  readonly pipeline?: string | false | undefined;
}

/**
 * Why a dead letter must not be replayed, or undefined when it may be. Asked in this order: is it approved, may it go where
 * it is to go, is it known what its pipeline does to it, is its payload still fit to be sent, is it not expired, is the
 * backend healthy. `payload` reads what would be sent.
 */
export async function replaySkipReason(
  found: LocatedEntry,
  conditions: ReplayConditions,
  payload: () => Promise<Batch> = () => found.control.store.payload(found.ref),
): Promise<ReplaySkip | undefined> {
  const { entry, control } = found;
  const destination = destinationOf(control, conditions.to);
  if (!conditions.approved) {
    if (needsApproval(entry, control.settings.replay)) return "skip_approval";
    if (entry.replays >= control.settings.replay.max_replays) return "skip_max_replays";
    if (entry.arriving !== undefined || conditions.moving?.(entry.id) !== undefined) return "skip_moving";
  }
  if (conditions.moving?.(entry.id) === "now") return "skip_moving";
  if (conditions.to !== undefined && !(await canBeMoved(found, conditions.to))) return "skip_destination";
  if (conditions.pipeline === undefined && isOfNoPipeline(found)) return "skip_pipeline";
  const replayed = { ...found, entry: withPipeline(found, conditions.pipeline) };
  if (!(await canBeSent(replayed.entry, destination, payload))) return "skip_schema";
  if (expiryOf(entry, control.settings.dead_letter) <= conditions.now) return "skip_expired";
  if (!conditions.approved && isDown(destination, conditions.now)) return "skip_downstream";
  return undefined;
}

/**
 * Only what has passed its pipeline may go to another exporter: dead letters of a journal have not, and what `pii` does in
 * their pipeline would be left out. And that exporter must be one of a pipeline of this signal.
 */
async function canBeMoved({ control, entry }: LocatedEntry, to: QueueControl): Promise<boolean> {
  if (control.pipelines === undefined) return false;
  if (!to.pipelines?.some(({ signal }) => signal === entry.signal)) return false;
  return (await to.store.find(entry.id)) === undefined;
}

/** The pipeline that it came from is not in the config. Without a config that is found out when it is sent. */
function isOfNoPipeline({ control, entry }: LocatedEntry): boolean {
  return control.hasPipeline?.(entry.pipeline) === false;
}

/** A dead letter as it is replayed: what its pipeline does to it, or another when that is not there, or nothing. */
export function withPipeline(found: LocatedEntry, pipeline: string | false | undefined): Entry {
  const { goesAsItIs: _, ...entry } = found.entry;
  if (pipeline === undefined || !isOfNoPipeline(found)) return entry;
  return pipeline === false ? { ...entry, goesAsItIs: true } : { ...entry, pipeline };
}

/** Whose queue it is put into. */
export function destinationOf(control: QueueControl, to: QueueControl | undefined): QueueControl {
  return to ?? control;
}

/** Its backend refuses all that is sent, or its breaker is open, and not only for want of something to try it with. */
function isDown(control: QueueControl, now: number): boolean {
  const { state, refused } = control.status();
  return isBreakerShut(control, now) || (state === "DOWN" && refused !== undefined);
}

/** The breaker lets nothing through, not even a probe. */
export function isBreakerShut(control: QueueControl, now: number): boolean {
  const { state, forced, since } = control.status().breaker;
  return state === "open" && (forced || now < since + control.settings.circuit_breaker.reset_timeout);
}

/** The backend has taken a part of its request already, so that all of it would arrive again; or the config asks for approval. */
function needsApproval(entry: Entry, { require_approval }: CompleteSettings["replay"]): boolean {
  return isPartlyDelivered(entry) || require_approval.some((filter) => queryMatcher(filter as DeadLetterQuery)(entry));
}

/** Unless the backend has rejected everything. */
function isPartlyDelivered({ failure, items }: Entry): boolean {
  if (failure?.reason !== "partial_success") return false;
  return (failure.rejected ?? 0) < (failure.requestItems ?? items);
}

type RetentionSettings = Pick<CompleteSettings["dead_letter"], "retention" | "retention_by_category" | "keep_deleted">;

/** When the cleaning removes a dead letter: at the age that its category says, or all have, or some time after it was deleted. */
export function expiryOf({ failure, deletedAt }: Entry, settings: RetentionSettings): number {
  const { retention, retention_by_category: byCategory, keep_deleted } = settings;
  const { at, category } = failure!;
  const kept = Object.hasOwn(byCategory, category) ? byCategory[category]! : retention;
  const byAge = kept === 0 ? Number.POSITIVE_INFINITY : at + kept;
  return deletedAt === undefined ? byAge : Math.min(byAge, deletedAt + keep_deleted);
}

/** It decodes, and its pipeline's replay steps take it. Of several records the queue finds out which are refused. */
async function canBeSent(entry: Entry, control: QueueControl, payload: () => Promise<Batch>): Promise<boolean> {
  try {
    const batch = await payload();
    Batch.admit(entry.signal, batch.bytes);
    return batch.count > 1 || control.prepare?.(entry, batch, true).error === undefined;
  } catch (error) {
    if (isMalformed(error) || isEntryGone(error)) return false;
    throw error;
  }
}
