import { errorMessage } from "#contract/errors";
import type { DeadLetterQuery, Entry, Failure, ReplaySkip } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import { Batch } from "#otlp";
import { isMalformed } from "#otlp/signals";
import { isEntryGone } from "../store/store.js";
import { type LocatedEntry, queryMatcher } from "./dead-letters.js";
import type { QueueControl } from "./exporter-control.js";

interface ReplayConditions {
  readonly now: number;
  readonly approved: boolean;
  /** The target exporter, if it is not the one where the entry failed. */
  readonly to?: QueueControl | undefined;
  /** Whether an entry is being moved to another queue, or its interrupted move cannot be settled. */
  readonly moving?: ((id: string) => "now" | "unsettled" | undefined) | undefined;
  /** See `ReplayOptions`. */
  readonly pipeline?: string | false | undefined;
}

interface SkippedReplay {
  readonly skip: ReplaySkip;
  readonly message?: string;
}

/**
 * Returns why a dead letter must not be replayed, or undefined if it may be. The checks, in order: approval, target
 * exporter, known pipeline, valid payload, expiry, healthy backend. `payload` reads the batch that would be sent.
 */
export async function replaySkipReason(
  found: LocatedEntry,
  conditions: ReplayConditions,
  payload: () => Promise<Batch> = () => found.control.store.payload(found.ref),
): Promise<SkippedReplay | undefined> {
  const { entry, control } = found;
  const destination = destinationOf(control, conditions.to);
  if (!conditions.approved) {
    if (needsApproval(entry, control.settings.replay)) return { skip: "skip_approval" };
    if (entry.replays >= control.settings.replay.max_replays) return { skip: "skip_max_replays" };
    if (entry.arriving !== undefined || conditions.moving?.(entry.id) !== undefined) return { skip: "skip_moving" };
  }
  if (conditions.moving?.(entry.id) === "now") return { skip: "skip_moving" };
  if (conditions.to !== undefined && !(await canBeMoved(found, conditions.to))) return { skip: "skip_destination" };
  if (conditions.pipeline === undefined && hasUnknownPipeline(found)) return { skip: "skip_pipeline" };
  const replayed = { ...found, entry: withPipeline(found, conditions.pipeline) };
  const problem = await sendProblem(replayed.entry, destination, payload);
  if (problem !== undefined) return { skip: "skip_schema", message: problem };
  if (expiryOf(entry, control.settings.dead_letter, conditions.now) <= conditions.now) return { skip: "skip_expired" };
  if (!conditions.approved && isDown(destination, conditions.now)) return { skip: "skip_downstream" };
  return undefined;
}

/**
 * Only entries that have passed their pipeline may go to another exporter. Dead letters of a journal have not, so for
 * example `pii` would be skipped. The target must be an exporter of a pipeline with the same signal.
 */
async function canBeMoved({ control, entry }: LocatedEntry, to: QueueControl): Promise<boolean> {
  if (control.pipelines === undefined) return false;
  if (!to.pipelines?.some(({ signal }) => signal === entry.signal)) return false;
  return (await to.store.find(entry.id)) === undefined;
}

/** Whether the entry's pipeline is not in the config. Without a config, this is found out when the entry is sent. */
export function hasUnknownPipeline({ control, entry }: LocatedEntry): boolean {
  return control.hasPipeline?.(entry.pipeline) === false;
}

/**
 * Returns a dead letter with the pipeline whose replay steps apply: its own, another one if its own does not exist, or
 * none.
 */
export function withPipeline(found: LocatedEntry, pipeline: string | false | undefined): Entry {
  const { goesAsItIs: _, ...entry } = found.entry;
  if (pipeline === undefined || !hasUnknownPipeline(found)) return entry;
  return pipeline === false ? { ...entry, goesAsItIs: true } : { ...entry, pipeline };
}

/** The queue that a replayed entry is put into. */
export function destinationOf(control: QueueControl, to: QueueControl | undefined): QueueControl {
  return to ?? control;
}

/** Whether the backend refuses everything, or its breaker is open and lets no probe through. */
function isDown(control: QueueControl, now: number): boolean {
  const { state, refused } = control.status();
  return isBreakerBlocking(control, now) || (state === "DOWN" && refused !== undefined);
}

/** Whether the breaker lets nothing through, not even a probe. */
export function isBreakerBlocking(control: QueueControl, now: number): boolean {
  const { state, forced, since } = control.status().breaker;
  return state === "open" && (forced || now < since + control.settings.circuit_breaker.reset_timeout);
}

/**
 * Approval is needed if the backend has already taken a part of the request, because all of it would arrive again, or
 * if the config asks for it.
 */
function needsApproval(entry: Entry, { require_approval }: CompleteSettings["replay"]): boolean {
  return isPartlyDelivered(entry) || require_approval.some((filter) => queryMatcher(filter as DeadLetterQuery)(entry));
}

/** False if the backend rejected everything. */
function isPartlyDelivered({ failure, items }: Entry): boolean {
  if (failure?.reason !== "partial_success") return false;
  return (failure.rejected ?? 0) < (failure.requestItems ?? items);
}

type RetentionSettings = Pick<CompleteSettings["dead_letter"], "retention" | "retention_by_category" | "keep_deleted">;

/**
 * The time when retention removes a dead letter: by the age limit of its category or of all, or some time after it was
 * deleted. A dead letter that was written while the clock was behind is not made old by a clock that is right again:
 * of `at` and the corrected time, the one nearer to now counts. A corrected time that is far in the future means that
 * the clock had been ahead before it was set back.
 */
export function expiryOf({ failure, deletedAt }: Entry, settings: RetentionSettings, now: number): number {
  const { retention, retention_by_category: byCategory, keep_deleted } = settings;
  const { category } = failure!;
  const at = writtenAt(failure!, now);
  const kept = Object.hasOwn(byCategory, category) ? byCategory[category]! : retention;
  const byAge = kept === 0 ? Number.POSITIVE_INFINITY : at + kept;
  return deletedAt === undefined ? byAge : Math.min(byAge, deletedAt + keep_deleted);
}

function writtenAt({ at, clockBehindMs = 0 }: Failure, now: number): number {
  const corrected = at + clockBehindMs;
  return Math.abs(now - corrected) < Math.abs(now - at) ? corrected : at;
}

/**
 * Returns why the entry cannot be sent: its payload does not decode, or the pipeline's replay steps refuse it. For several
 * records, the queue finds out later which are refused.
 */
async function sendProblem(
  entry: Entry,
  control: QueueControl,
  payload: () => Promise<Batch>,
): Promise<string | undefined> {
  try {
    const batch = await payload();
    Batch.admit(entry.signal, batch.bytes);
    return batch.count > 1 ? undefined : control.prepare?.(entry, batch, true).error?.message;
  } catch (error) {
    if (isMalformed(error) || isEntryGone(error)) return errorMessage(error);
    throw error;
  }
}
