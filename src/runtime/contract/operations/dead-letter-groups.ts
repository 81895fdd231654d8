import type { Signal } from "#otlp/signals";
import type { FailureReason } from "./failure-reasons.js";

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
  /** The last one. */
  readonly exampleId: string;
  /** How many failed in each of the last buckets, the newest last. */
  readonly trend: readonly number[];
}

/** The largest first. */
export interface DeadLetterGroups {
  readonly groups: readonly DeadLetterGroup[];
  /** How many groups there are. */
  readonly total: number;
  /** Dead letters of further causes: there are too many to tell them apart. */
  readonly others: number;
  /** False while the first count goes on: there may be more of each. */
  readonly isComplete: boolean;
  /** How many dead letters have been looked at. */
  readonly looked: number;
  /** When they were counted. */
  readonly at: number;
  /** How long a bucket of the trends is. */
  readonly bucketMs: number;
}
