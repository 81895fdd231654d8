import type { PartialAnswer } from "./workers.js";

/** The outcome of one replayed entry. An entry that was split counts as failed if any part failed. */
export interface ReplayOutcome {
  readonly id: string;
  readonly outcome: "pending" | "delivered" | "failed_again" | "dropped";
  readonly at?: number | undefined;
  /** Why it failed again. */
  readonly error?: { readonly class: string; readonly message: string } | undefined;
}

/**
 * A replay and its progress. `state` is about putting entries back. When that is done, entries may still be pending in
 * their queues; `isSettled` means that none is. Times are milliseconds since the epoch.
 */
export interface ReplayJob extends PartialAnswer {
  readonly id: string;
  readonly state: "running" | "paused" | "done" | "cancelled" | "failed";
  readonly by: string;
  readonly reason?: string | undefined;
  readonly dryRun: boolean;
  /** The exporter they are sent to instead of the one where they failed. */
  readonly to?: string | undefined;
  /** OTTL statements that changed the entries first. */
  readonly transform?: readonly string[] | undefined;
  /** The limit that was asked for, in entries per second. 0: none; undefined: that of each exporter. */
  readonly rate?: number | undefined;
  /**
   * How entries had failed before they were put back: the first causes that were found, and how many entries had each.
   * Similar failures have the same signature.
   */
  readonly causes?:
    | readonly {
        readonly signature: string;
        readonly class: string;
        readonly message: string;
        readonly entries: number;
      }[]
    | undefined;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  /** Number of entries processed, of `total`. */
  readonly done: number;
  readonly total: number;
  readonly report?: ReplayReport | undefined;
  readonly error?: string | undefined;
  /** Number of entries that were put back into a queue, and their outcomes so far. */
  readonly queued: number;
  readonly delivered: number;
  readonly failedAgain: number;
  readonly pending: number;
  readonly isSettled: boolean;
  /** Outcomes of single entries, limited in number, failed ones first. Only set if one replay is requested. */
  readonly outcomes?: readonly ReplayOutcome[] | undefined;
}

/**
 * A dead letter as it is stored and as it would be sent, both as OTLP/JSON and masked unless revealed. Long parts that
 * are equal on both sides are left out. `note` says why there is nothing to compare.
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

/** How a replayed entry left its queue. */
export type ReplayEnd = Exclude<ReplayOutcome["outcome"], "pending">;

/** Why a dead letter was not replayed. */
export type ReplaySkip =
  `skip_${"approval" | "pipeline" | "schema" | "expired" | "downstream" | "max_replays" | "not_found" | "transform" | "destination" | "moving" | "source"}`;

/**
 * The result of a replay, or the expected one of a dry run. `replayed` counts entries that are queued again; their end
 * is not known yet.
 */
export interface ReplayReport {
  readonly selected: number;
  readonly replayed: number;
  readonly skipped: Readonly<Partial<Record<ReplaySkip, number>>>;
  /** The first skipped entries with their reasons. */
  readonly examples: readonly { readonly id: string; readonly reason: ReplaySkip; readonly message?: string }[];
  /** @internal The samples of a dry run, if requested. */
  readonly samples?: readonly ReplaySample[];
}
