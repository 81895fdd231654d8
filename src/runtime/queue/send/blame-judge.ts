import type { Blame } from "#contract";
import type { AttemptError } from "#contract/operations";
import type { QueueItem } from "../entry/queue-item.js";
import type { EntryRef } from "../store/store.js";
import type { Successes } from "./recent-calls.js";

/** If this many other entries failed and none got through, an answer such as HTTP 500 is the backend's failure. */
const OUTAGE_ENTRIES = 20;

/**
 * Decides who is to blame for a failed call: the entry or the backend. The table of failures
 * (runtime/contract/blame.ts) decides most cases. Two kinds of failure depend on the calls of other entries:
 *
 * - **Timeouts.** The entry is to blame if other entries get through: another call has succeeded since the entry was
 *   last tried, and no other entry has failed since that success. Otherwise the backend may hang.
 * - **Answers** for which the table blames the entry, such as HTTP 500. The backend is to blame if no call has succeeded
 *   since the entry was last tried, and at least OUTAGE_ENTRIES other entries failed since the last success. Fewer may
 *   all be bad.
 */
export class BlameJudge {
  private readonly successes: Successes;
  /** Number of successes when the last failure was noted. */
  private noted = 0;
  /** The first entry that failed since the last success, unless its failure was an answer that blames the entry. */
  private failed: EntryRef | undefined;
  private hasSeveral = false;
  /** One entry of each call that failed since the last success, up to as many as the decision needs. */
  private readonly failedEntries = new Set<EntryRef>();

  constructor(successes: Successes) {
    this.successes = successes;
  }

  /** Counts a failed call of this entry. */
  decide(item: QueueItem, error: AttemptError): Blame {
    const { ref } = item;
    if (this.noted !== this.successes.calls) this.forget();
    const isOnlyOne = !this.hasSeveral && (this.failed ?? ref) === ref;
    const othersSucceed = this.hasSucceededSince(item);
    this.noteFailure(ref, error);
    if (error.blame === undefined) return isOnlyOne && othersSucceed ? "entry" : "backend";
    const isAnswer = error.blame === "entry" && error.status !== undefined;
    return isAnswer && !othersSucceed && this.failedEntries.size > OUTAGE_ENTRIES ? "backend" : error.blame;
  }

  /** Whether a call of another entry has succeeded since this one was last tried. */
  hasSucceededSince({ lastTriedAt, queuedSince }: QueueItem): boolean {
    const { lastAt } = this.successes;
    return lastAt > lastTriedAt && lastAt >= queuedSince;
  }

  /** Forgets the failures before the last success. */
  private forget(): void {
    this.noted = this.successes.calls;
    this.failed = undefined;
    this.hasSeveral = false;
    this.failedEntries.clear();
  }

  private noteFailure(ref: EntryRef, { blame }: AttemptError): void {
    // The set includes the entry that is judged.
    if (this.failedEntries.size <= OUTAGE_ENTRIES) this.failedEntries.add(ref);
    // A failure that the backend's answer blames on the entry is no sign that the backend hangs.
    if (blame === "entry") return;
    this.hasSeveral ||= (this.failed ?? ref) !== ref;
    this.failed ??= ref;
  }
}
