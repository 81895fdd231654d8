import type { Batching } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import type { BatchingOf, QueueItem } from "../entry/queue-item.js";
import type { AttemptResult } from "../send/attempt-sender.js";
import { isWorthBisecting } from "../send/bisect.js";
import type { SendGroup } from "./send-group.js";

/**
 * How entries are merged that wait for a slot, where the config asks for no larger requests. None of them waits for others: a
 * slot that is free is given to what is there. A request stays under the 1 MiB that common proxies take by default.
 */
const BACKLOG_BATCHING: Batching = { timeoutMs: 0, minSize: 0, maxSize: 1024 * 1024, sizer: "bytes", metadataKeys: [] };

/**
 * What the config asks for, or else how a backlog is merged, if that is wanted. Without retries the first attempt is the last
 * one: no entry is to be given up for the company it was in, so each is sent alone.
 */
export function createSendBatchingOf(settings: CompleteSettings, configured: BatchingOf): BatchingOf {
  const { enabled, max_retries } = settings.retry_on_failure;
  const isMerging = settings.sending_queue.merge_backlog && enabled && max_retries > 0;
  return isMerging ? (pipeline) => configured(pipeline) ?? BACKLOG_BATCHING : configured;
}

/** With so many there is no limit any more. */
const MAX_ENTRIES = 4096;
/** Once a request was not taken whole, so many must be in a row before more entries are merged again. */
const TAKEN_TO_GROW = 100;

/**
 * How many waiting entries may be in one request. Nobody asked for large ones, so they must do no harm:
 *
 * - It begins with one, and doubles with every request that is taken whole.
 * - A merged request that is refused for good halves it.
 * - A request of which some records were rejected makes it one. Nobody knows which records those were, so all entries of such
 *   a request become dead letters.
 * - After either of these it doubles only with every hundredth request taken whole.
 */
export class MergeLimit {
  private current = 1;
  private takenInRow = 0;
  private takenToGrow = 1;

  /** How many entries may be in a request that begins with this one. What the config asks for is not limited here. */
  maxEntriesWith({ batching }: QueueItem): number {
    return batching === BACKLOG_BATCHING ? this.current : Number.POSITIVE_INFINITY;
  }

  /** Learns from the result of a request. */
  onResult(group: SendGroup, result: AttemptResult): void {
    if (result.kind === "delivered") this.onDelivered(result.partial?.rejected ?? 0);
    else if (result.kind === "failed" && isMerged(group) && isWorthBisecting(result.error))
      this.lower(Math.ceil(group.items.length / 2));
  }

  private onDelivered(rejected: number): void {
    if (rejected > 0) return this.lower(1);
    if (this.current === Number.POSITIVE_INFINITY) return;
    this.takenInRow += 1;
    if (this.takenInRow < this.takenToGrow) return;
    this.takenInRow = 0;
    this.current = this.current * 2 < MAX_ENTRIES ? this.current * 2 : Number.POSITIVE_INFINITY;
  }

  private lower(to: number): void {
    this.current = Math.min(this.current, to);
    this.takenInRow = 0;
    this.takenToGrow = TAKEN_TO_GROW;
  }
}

/** The parts of a refused request are no new finding. */
function isMerged({ items, bisection }: SendGroup): boolean {
  return bisection === undefined && items.length > 1 && items[0]!.batching === BACKLOG_BATCHING;
}
