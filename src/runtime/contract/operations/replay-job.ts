import type { ReplayReport } from "./admin.js";

/** What became of one entry that was replayed. One that was taken apart counts as failed when a part of it did. */
export interface ReplayOutcome {
  readonly id: string;
  readonly outcome: "pending" | "delivered" | "failed_again" | "dropped";
  readonly at?: number | undefined;
  /** Why it failed again. */
  readonly error?: { readonly class: string; readonly message: string } | undefined;
}

/**
 * A replay, and how far it is. `state` is about putting entries back: a replay that is done may have entries that are still
 * pending in their queues; `isSettled` when none is. Times are milliseconds since the epoch.
 */
export interface ReplayJob {
  readonly id: string;
  readonly state: "running" | "paused" | "done" | "cancelled" | "failed";
  readonly by: string;
  readonly reason?: string | undefined;
  readonly dryRun: boolean;
  /** The exporter they are sent to instead of the one they failed at. */
  readonly to?: string | undefined;
  /** OTTL statements that changed them first. */
  readonly transform?: readonly string[] | undefined;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  /** Entries that were looked at, of so many. */
  readonly done: number;
  readonly total: number;
  readonly report?: ReplayReport | undefined;
  readonly error?: string | undefined;
  /** Entries that were put back into a queue, and what became of them since. */
  readonly queued: number;
  readonly delivered: number;
  readonly failedAgain: number;
  readonly pending: number;
  readonly isSettled: boolean;
  /** Of one replay that is asked for: what became of its entries, at most so many, failed ones first. */
  readonly outcomes?: readonly ReplayOutcome[] | undefined;
}

/**
 * A dead letter as it is and as it would be sent, both as OTLP/JSON, masked unless it was asked otherwise. What is long and
 * the same on both sides is left out; `note` says why there is nothing to compare.
 */
export interface ReplaySample {
  readonly id: string;
  readonly exporter: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly changed?: boolean;
  readonly masked: boolean;
  readonly note?: string;
}

/** How an entry that was replayed has left its queue. */
export type ReplayEnd = Exclude<ReplayOutcome["outcome"], "pending">;
