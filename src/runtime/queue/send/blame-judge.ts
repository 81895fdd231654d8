import type { Blame } from "#contract";
import type { AttemptError } from "#contract/operations";
import type { QueueItem } from "../entry/queue-item.js";
import type { EntryRef } from "../store/store.js";

/**
 * Says whose failure a call is. The table of failures (runtime/contract/blame.ts) has decided most of them; a call without an
 * answer in time is decided here. It is the entry's when others get through: another call has succeeded since the entry was
 * tried before, and no other entry has failed since that success. Otherwise the backend may hang, and the entry keeps its attempts.
 */
export class BlameJudge {
  /** The first entry that failed since the last success, and whether another one did. */
  private failed: EntryRef | undefined;
  private hasSeveral = false;

  /** `lastSentAt`: wall-clock time of the last success of any entry. */
  decide({ ref, entry }: QueueItem, error: AttemptError, lastSentAt = Number.NEGATIVE_INFINITY): Blame {
    const isOnlyOne = !this.hasSeveral && (this.failed ?? ref) === ref;
    const areOthersTaken = lastSentAt >= (entry.lastAttemptAt ?? entry.enqueuedAt);
    const blame = error.blame ?? (isOnlyOne && areOthersTaken ? "entry" : "backend");
    // A failure that an answer told about its entry is no sign of an outage.
    if (error.blame !== "entry") this.noteFailure(ref);
    return blame;
  }

  succeeded(): void {
    this.failed = undefined;
    this.hasSeveral = false;
  }

  private noteFailure(ref: EntryRef): void {
    this.hasSeveral ||= (this.failed ?? ref) !== ref;
    this.failed ??= ref;
  }
}
