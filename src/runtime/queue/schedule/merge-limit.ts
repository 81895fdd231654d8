import type { AttemptError } from "#contract/operations";
import { BACKLOG_BATCHING, type QueueItem, type SendGroup } from "../entry/queue-item.js";
import { isWorthBisecting } from "../send/bisect.js";
import type { AttemptResult } from "../send/sender.js";

/** The limit is lifted when it reaches this number. */
const MAX_ENTRIES = 4096;
/**
 * Once a request was not taken completely, this many complete ones in a row are needed before the limit grows again, and
 * ten times as many whenever requests turn out to fail because of their size.
 */
const SUCCESSES_TO_GROW = 100;
const GROW_LATER = 10;

/**
 * Limits how many waiting entries are merged into one request. The user did not ask for large requests, so they must do
 * no harm:
 *
 * - The limit starts at one and doubles with every request that is taken completely.
 * - A merged request that is refused permanently halves it.
 * - A request with some rejected records sets it to one. It is not known which records these were, so all entries of
 *   such a request become dead letters.
 * - A merged request that fails sets it to what was taken meanwhile, if a merged request failed before and smaller ones
 *   were taken since: a proxy may reset connections over large requests without a word. In an outage nothing is taken, so
 *   an outage changes nothing.
 * - After any of these, it doubles only with every hundredth request that has as many entries as it allows and is taken
 *   completely.
 */
export class MergeLimit {
  /** Whether a request that is taken completely still changes the limit. Others only read it. */
  isLearning = true;
  private current = 1;
  private takenInRow = 0;
  private takenToGrow = 1;
  /** Entries of the last merged request that failed, until one as large is taken. */
  private failedEntries: number | undefined;
  /** Entries of the largest request that was taken since then. */
  private takenSince = 0;

  /**
   * The maximum number of entries in a request that starts with this item. Batching asked for by the config is not
   * limited here.
   */
  maxEntriesWith({ batching }: QueueItem): number {
    return batching === BACKLOG_BATCHING ? this.current : Number.POSITIVE_INFINITY;
  }

  /** Adjusts the limit to the result of a request. */
  onResult(group: SendGroup, result: AttemptResult): void {
    this.learn(group, result);
    this.isLearning = this.current !== Number.POSITIVE_INFINITY || this.failedEntries !== undefined;
  }

  private learn(group: SendGroup, result: AttemptResult): void {
    const { length } = group.items;
    if (result.kind === "delivered") this.onDelivered(length, result.partial?.rejected ?? 0);
    if (result.kind !== "failed" || !isMerged(group)) return;
    if (isWorthBisecting(result.error)) this.lower(Math.ceil(length / 2));
    else if (mayBeTooLarge(result.error)) this.onFailed(length);
  }

  private onDelivered(entries: number, rejected: number): void {
    if (rejected > 0) return this.lower(1);
    this.noteTaken(entries);
    const isTooSmallToTell = this.takenToGrow > 1 && entries < this.current;
    if (this.current === Number.POSITIVE_INFINITY || isTooSmallToTell) return;
    this.takenInRow += 1;
    if (this.takenInRow < this.takenToGrow) return;
    this.takenInRow = 0;
    this.current = this.current * 2 < MAX_ENTRIES ? this.current * 2 : Number.POSITIVE_INFINITY;
  }

  private noteTaken(entries: number): void {
    if (this.failedEntries === undefined) return;
    if (entries >= this.failedEntries) this.failedEntries = undefined;
    else this.takenSince = Math.max(this.takenSince, entries);
  }

  private onFailed(entries: number): void {
    if (this.takenSince > 0 && entries > this.takenSince) {
      const takenToGrow = this.takenToGrow * GROW_LATER;
      this.lower(this.takenSince);
      this.takenToGrow = Math.max(this.takenToGrow, takenToGrow);
    }
    this.failedEntries = entries;
    this.takenSince = 0;
  }

  private lower(to: number): void {
    this.current = Math.min(this.current, to);
    this.takenInRow = 0;
    this.takenToGrow = Math.max(this.takenToGrow, SUCCESSES_TO_GROW);
  }
}

/** Whether a smaller request may succeed. An answer that blames the entry is about its content. */
function mayBeTooLarge({ kind, blame }: AttemptError): boolean {
  return kind !== "permanent" && blame !== "entry";
}

/** Parts of a refused request are excluded, because its refusal has been counted already. */
function isMerged({ items, bisection }: SendGroup): boolean {
  return bisection === undefined && items.length > 1 && items[0]!.batching === BACKLOG_BATCHING;
}
