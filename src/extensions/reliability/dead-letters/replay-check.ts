import { Batch, isMalformed } from "../../../plugin.js";
import type { Entry, ReplaySkip } from "../../../runtime/kit.js";
import type { QueueControl } from "../operate/exporter-control.js";
import { isEntryGone } from "../store/store.js";
import type { LocatedEntry } from "./dead-letters.js";

export interface ReplayConditions {
  readonly now: number;
  readonly approved: boolean;
}

/**
 * Why a dead letter must not be replayed, or undefined when it may be. Asked in this order: is it approved, is its payload
 * still fit to be sent, is it not expired, is its backend healthy.
 */
export async function replaySkipReason(
  found: LocatedEntry,
  conditions: ReplayConditions,
): Promise<ReplaySkip | undefined> {
  const { entry, control } = found;
  if (!conditions.approved) {
    if (isPartlyDelivered(entry)) return "skip_approval";
    if (entry.replays >= control.settings.replay.max_replays) return "skip_max_replays";
  }
  if (!(await canBeSent(found))) return "skip_schema";
  if (isExpired(entry, control.settings.dead_letter.retention, conditions.now)) return "skip_expired";
  if (!conditions.approved && isDown(found, conditions.now)) return "skip_downstream";
  return undefined;
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

/** The backend has taken a part of its request already, and all of it would arrive again; unless it has rejected everything. */
function isPartlyDelivered({ failure, items }: Entry): boolean {
  if (failure?.reason !== "partial_success") return false;
  return (failure.rejected ?? 0) < (failure.requestItems ?? items);
}

/** True for a dead letter that the next cleaning removes because of its age. A retention of 0 is for ever. */
export function isExpired({ failure }: Entry, retentionMs: number, now: number): boolean {
  return retentionMs > 0 && failure !== undefined && failure.at + retentionMs <= now;
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
