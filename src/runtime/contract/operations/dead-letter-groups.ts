import type { Signal } from "#otlp/signals";
import type { FailureReason } from "./failure-reasons.js";
import type { PartialAnswer } from "./workers.js";

/** Dead letters of one cause. Times are milliseconds since the epoch. */
export interface DeadLetterGroup {
  readonly signature: string;
  readonly exporter: string;
  readonly reason: FailureReason;
  readonly category: string;
  readonly signal: Signal;
  readonly error: { readonly class: string; readonly message: string };
  readonly entries: number;
  readonly items: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** The id of the last dead letter of the group. */
  readonly exampleId: string;
  /** Number of failures in each of the last buckets, the newest last. */
  readonly trend: readonly number[];
}

/** Groups of dead letters, the largest first. */
export interface DeadLetterGroups extends PartialAnswer {
  readonly groups: readonly DeadLetterGroup[];
  /** Number of groups. */
  readonly total: number;
  /** Number of dead letters of further causes, because there are too many causes to distinguish. */
  readonly others: number;
  /** False while the first count is still running, so that the numbers may be too small. */
  readonly isComplete: boolean;
  /** Number of dead letters counted so far. */
  readonly looked: number;
  /** Time of the count. */
  readonly at: number;
  /** Length of a bucket of the trends, in milliseconds. */
  readonly bucketMs: number;
}
