import type { ReloadReport } from "../operations/config-control.js";
import type { RehearsalReport } from "./rehearsal-report.js";

/** The settings of a rehearsal in a running agent. */
export interface RehearsalRequest {
  /** How long traffic is sampled. */
  readonly seconds: number;
  /** The share of batches to take, above 0 and at most 1. */
  readonly share: number;
  /** The sample ends early when it has this size. */
  readonly maxBytes: number;
  /** The sample ends early when it has so many records; without a limit by default. */
  readonly maxRecords?: number;
  /** Conditions such as `drop>1%` under which the rehearsal counts as failed. */
  readonly failOn: readonly string[];
  /** The user who asked for it. */
  readonly by: string;
}

/** A change of the config that runs, in place of the config files. */
export interface RehearsedChange {
  /** The change in a few words, masked: `drop service checkout`. */
  readonly title: string;
  /** A config that is merged after the running one. The caller must escape every `$` that is no substitution. */
  readonly yaml: string;
}

/**
 * `sampling`: traffic is taken. `comparing`: both configs run on the sample. `done`: there is a report. `failed`: there
 * is none; `problems` or `error` say why. `cancelled`: a user ended it.
 */
type RehearsalState = "sampling" | "comparing" | "done" | "failed" | "cancelled";

/** A rehearsal of the files of the config against the config that runs. Times are milliseconds since the epoch. */
export interface RehearsalStatus extends Omit<RehearsalRequest, "failOn"> {
  readonly id: string;
  /** The title of the change that is rehearsed; undefined if the files are. */
  readonly change?: string;
  readonly state: RehearsalState;
  readonly startedAt: number;
  readonly endedAt?: number;
  /** When the sample is complete, at the latest. */
  readonly sampleEndsAt: number;
  /** The sample so far. `skipped` records were left out because of a limit. */
  readonly sample: {
    readonly batches: number;
    readonly records: number;
    readonly bytes: number;
    readonly skipped: number;
  };
  /** How much of the comparison is done, from 0 to 1. */
  readonly progress: number;
  /** Hashes of both configs. `after` is known once the files are loaded. */
  readonly generation: { readonly before: string; readonly after?: string };
  readonly failOn: readonly string[];
  /** The conditions of `failOn` that hold. */
  readonly failed: readonly string[];
  /** Errors and warnings of the new config. */
  readonly problems: ReloadReport["problems"];
  /** Plugins whose files have changed: both configs were rehearsed with the new version. */
  readonly changedPlugins: readonly string[];
  readonly error?: string;
  readonly report?: RehearsalReport;
}

/**
 * Rehearses the files of a running agent's config against the config that runs, in a process of its own. One rehearsal
 * runs at a time, and the last one is kept in memory.
 */
export interface RehearsalControl {
  /** The rehearsal that runs, or the last one; undefined before the first. */
  readonly current: RehearsalStatus | undefined;
  /**
   * Rehearses the files, or the change. Throws an `AdminError`: `conflict` if one runs, `bad_request` if a condition
   * cannot be read.
   */
  start(request: RehearsalRequest, change?: RehearsedChange): RehearsalStatus;
  /** Ends the rehearsal that runs, if any. */
  cancel(): void;
}
