import { Batch, isMalformed } from "../../../plugin.js";
import type { CompleteSettings, DeadLetterQuery, Entry, ReplaySkip } from "../../../runtime/kit.js";
import type { QueueControl } from "../operate/exporter-control.js";
import { isEntryGone } from "../store/store.js";
import { type LocatedEntry, queryMatcher } from "./dead-letters.js";

export interface ReplayConditions {
  readonly now: number;
  readonly approved: boolean;
  /** See `ReplayOptions`. */
  readonly pipeline?: string | false | undefined;
}

/**
 * Why a dead letter must not be replayed, or undefined when it may be. Asked in this order: is it approved, is it known
 * what its pipeline does to it, is its payload still fit to be sent, is it not expired, is its backend healthy.
 */
export async function replaySkipReason(
  found: LocatedEntry,
  conditions: ReplayConditions,
): Promise<ReplaySkip | undefined> {
  const { entry, control } = found;
  if (!conditions.approved) {
    if (needsApproval(entry, control.settings.replay)) return "skip_approval";
    if (entry.replays >= control.settings.replay.max_replays) return "skip_max_replays";
  }
  if (conditions.pipeline === undefined && isOfNoPipeline(found)) return "skip_pipeline";
  const replayed = { ...found, entry: withPipeline(found, conditions.pipeline) };
  if (!(await canBeSent(replayed))) return "skip_schema";
  if (expiryOf(entry, control.settings.dead_letter) <= conditions.now) return "skip_expired";
  if (!conditions.approved && isDown(found, conditions.now)) return "skip_downstream";
  return undefined;
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

/** Its backend refuses all that is sent, or its breaker is open, and not only for want of something to try it with. */
function isDown({ control }: LocatedEntry, now: number): boolean {
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
async function canBeSent({ control, ref, entry }: LocatedEntry): Promise<boolean> {
  try {
    const batch = await control.store.payload(ref);
    Batch.admit(entry.signal, batch.bytes);
    return batch.count > 1 || control.prepare?.(entry, batch, true).error === undefined;
  } catch (error) {
    if (isMalformed(error) || isEntryGone(error)) return false;
    throw error;
  }
}
