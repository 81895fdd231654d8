import type { Blame } from "#contract";
import type { AttemptError } from "#contract/operations";
import type { QueueItem } from "../entry/queue-item.js";
import type { EntryRef } from "../store/store.js";

/**
 * Decides who is to blame for a failed call: the entry or the backend. The table of failures
 * (runtime/contract/blame.ts) decides most cases; calls that timed out are decided here. The entry is to blame if other
 * entries get through: another call has succeeded since the entry was last tried, and no other entry has failed since
 * that success. Otherwise the backend may hang, and the entry keeps its attempts.
 */
export class BlameJudge {
  /** The first entry that failed since the last success. */
  private failed: EntryRef | undefined;
  private hasSeveral = false;
  /** Monotonic time of the last success of any entry: the wall clock may be set back meanwhile. */
  private succeededAt = Number.NEGATIVE_INFINITY;

  decide({ ref, lastTriedAt, queuedSince }: QueueItem, error: AttemptError): Blame {
    const isOnlyOne = !this.hasSeveral && (this.failed ?? ref) === ref;
    const haveOthersSucceeded = this.succeededAt >= Math.max(lastTriedAt, queuedSince);
    const blame = error.blame ?? (isOnlyOne && haveOthersSucceeded ? "entry" : "backend");
    // A failure that the backend's answer blames on the entry is no sign of an outage.
    if (error.blame !== "entry") this.noteFailure(ref);
    return blame;
  }

  succeeded(at: number): void {
    this.succeededAt = at;
    this.failed = undefined;
    this.hasSeveral = false;
  }

  private noteFailure(ref: EntryRef): void {
    this.hasSeveral ||= (this.failed ?? ref) !== ref;
    this.failed ??= ref;
  }
}
