import type { Signal } from "#otlp/signals";
import type { Rehydrations } from "../rehydration/rehydration.js";
import type { AuditPage, AuditQuery, AuditRecord, Operator } from "./audit.js";
import type { DeadLetterGroups } from "./dead-letter-groups.js";
import type { Entry } from "./entry.js";
import type { FailureReason } from "./failure-reasons.js";
import type { OrphanedQueues } from "./orphaned-queues.js";
import type { ReplayJob, ReplayReport } from "./replay-job.js";
import type { PartialAnswer } from "./workers.js";

/**
 * The operators' interface to a running agent, used by the HTTP API, the command line and the health check. Methods
 * reject with an `AdminError` whose `code` tells what is wrong with the request.
 */
export interface Admin {
  /** Returns the same interface for one operator, whose reveals and changes are recorded in the audit. */
  actingAs(operator: Operator): Admin;
  /** In an agent with several workers, the answer is what they last reported; see `Host.refresh`. */
  exporters(): readonly ExporterStatus[];
  /** @internal Queues that nothing in the config uses; absent if that is not known. */
  readonly orphans?: OrphanedQueues | undefined;
  /** @internal Sends archived records again; absent without a running agent. */
  readonly rehydrations?: Rehydrations | undefined;
  /**
   * Pauses or resumes sending. Data that comes in meanwhile is queued. This and the following four resolve when all
   * workers of the agent have done it.
   */
  pause(exporter: string): void | Promise<void>;
  resume(exporter: string): void | Promise<void>;
  /** Makes all waiting retries of its queue due now, even if the backend asked for a delay. */
  retryNow(exporter: string): void | Promise<void>;
  /** Holds the breaker open or closed, whatever happens. "auto" lets it decide again. */
  forceBreaker(exporter: string, state: "open" | "closed" | "auto"): void | Promise<void>;
  /** Sets the rate of replays, in entries per second. */
  setReplayRate(exporter: string, rate: number): void | Promise<void>;

  /** Lists dead letters, newest first by default. Pass the `cursor` of the previous page to get the next one. */
  listDeadLetters(query: DeadLetterQuery): Promise<DeadLetterPage>;
  deadLetter(id: string): Promise<Entry | undefined>;
  /** Returns the records of an entry as OTLP/JSON, masked unless revealed; undefined if there is no such entry. */
  payload(id: string, options?: RevealOptions): Promise<string | undefined>;
  /** Groups dead letters by cause. Answers at once with the last count and continues counting in the background. */
  deadLetterGroups(query: DeadLetterQuery): Promise<DeadLetterGroups>;
  /** Groups dead letters by signature, reason and exporter. */
  deadLetterStats(query: DeadLetterQuery): Promise<DeadLetterStats>;
  /**
   * Replaces the payload of a dead letter; the previous one is kept in the history. Rejects if the payload is not OTLP
   * of the entry's signal, or if another user has changed the entry since it was read.
   */
  editDeadLetter(id: string, edit: DeadLetterEdit): Promise<Entry>;
  /**
   * Puts dead letters back into their queues. They are sent in the background; `onProgress` reports how many were put
   * back.
   */
  replay(selection: Selection, options: ReplayOptions): Promise<ReplayReport>;
  /** Starts a replay in the background. Resolves with the replay when it is done, or after a short time. */
  startReplay(selection: Selection, options: ReplayOptions): Promise<ReplayJob>;
  /** Lists replays, the newest first, including those of earlier runs. */
  replays(limit?: number): Promise<readonly ReplayJob[]>;
  /** Returns a replay with the outcomes of its entries; undefined if there is none. */
  replayJob(id: string): Promise<ReplayJob | undefined>;
  /** Controls a running replay. Entries that a cancelled replay has put back stay in their queues. */
  controlReplay(id: string, change: "pause" | "resume" | "cancel"): void | Promise<void>;
  /** Calls the listener whenever the replay changes. Returns a function that ends this. */
  watchReplay(id: string, listener: () => void): () => void;
  /**
   * Deletes the selected dead letters, permanently or restorable for `dead_letter.keep_deleted`. Returns their number.
   */
  deleteDeadLetters(selection: Selection, options?: { readonly dryRun?: boolean }): Promise<number>;
  /** Restores deleted dead letters while they are still kept. Returns their number. */
  restoreDeadLetters(selection: Selection): Promise<number>;
  /**
   * Exports one line of JSON per entry, including its payload. An import accepts revealed lines and refuses masked
   * ones.
   */
  exportDeadLetters(query: DeadLetterQuery, options?: RevealOptions): AsyncIterable<string>;
  importDeadLetters(lines: AsyncIterable<string>): Promise<ImportReport>;
  /**
   * @internal How dead letters get from one worker of the agent to another: as lines that the other one imports, with
   * everything they have. Then they are discarded here.
   */
  readonly transfers?: {
    lines(selection: Selection): AsyncIterable<string>;
    discard(ids: readonly string[]): Promise<void>;
  };

  /**
   * Records in the audit that data other than dead letters is shown unmasked, and to whom. Rejects if that cannot be
   * recorded; then the data must not be shown.
   */
  noteReveal(target: string, filter: Readonly<Record<string, unknown>>): Promise<void>;
  /** @internal Records a reload of the config in the audit. If that cannot be written, it goes to the agent's log. */
  noteReload?(what: Readonly<Record<string, unknown>>, outcome: string): Promise<void>;
  /** @internal Records in the audit that a rehearsal has started. If that cannot be written, it goes to the agent's log. */
  noteRehearsal?(what: Readonly<Record<string, unknown>>): Promise<void>;
  /** @internal Records an action of this operator that several workers have carried out, or are about to. */
  noteAction?(noted: NotedAction): Promise<void>;
  /** Lists who did what, the newest first. Pass the `cursor` of the previous page to get the next one. */
  audit(query: AuditQuery): Promise<AuditPage>;
}

/**
 * @internal An action to be recorded. With `before`, the record must be written before the action, so a failure is
 * thrown; a query in it is checked first. With `after`, it goes to the agent's log if it cannot be written.
 */
type NotedAction =
  | { readonly when: "before" | "after"; readonly done: Omit<AuditRecord, "at" | keyof Operator> }
  | { readonly when: "search"; readonly query: DeadLetterQuery };

/** Whether payloads are returned unmasked. Otherwise values that the detectors of `pii` find are masked. */
export interface RevealOptions {
  readonly reveal?: boolean;
  /** @internal Which revision of the payload to return; the current one if left out. */
  readonly revision?: number | undefined;
}

/** A new payload for a dead letter. */
export interface DeadLetterEdit {
  readonly by: string;
  readonly reason?: string | undefined;
  /** A complete OTLP/JSON request. */
  readonly payload: string;
  /** The revision of the entry when it was read. */
  readonly revision: number;
}

/**
 * The status of an exporter. `refused` is set while its backend refuses all data of these signals. Times are
 * milliseconds since the epoch.
 */
export interface ExporterStatus {
  readonly id: string;
  readonly state: "UP" | "DEGRADED" | "DOWN";
  readonly paused: boolean;
  /** @internal True for an exporter that is not in the config any more. It runs until its queue is empty. */
  readonly removed?: boolean;
  readonly breaker: {
    readonly state: "closed" | "open" | "half_open";
    readonly forced: boolean;
    readonly since: number;
    /** When the backend is probed next, if the breaker opened by itself and there is something to send. */
    readonly probeAt?: number;
  };
  readonly refused?:
    | {
        readonly since: number;
        readonly signals: readonly Signal[];
        readonly class: string;
        readonly message: string;
        readonly advice: string;
      }
    | undefined;
  readonly queue: {
    readonly enabled: boolean;
    readonly entries: number;
    readonly items: number;
    readonly bytes: number;
    readonly inFlight: number;
    readonly oldestAt: number | undefined;
    /** Entries that wait for a retry, and the time of the first. Entries that are not in memory are not counted. */
    readonly retries?: { readonly entries: number; readonly nextAt: number };
    /** Why nothing can be written to the queue at the moment. All new data is refused then. */
    readonly writeError?: { readonly code: string; readonly message: string } | undefined;
  };
  readonly deadLetters: {
    readonly entries: number;
    readonly items: number;
    readonly bytes: number;
    readonly oldestAt: number | undefined;
  };
  readonly lastSentAt: number | undefined;
  readonly lastError: { readonly at: number; readonly class: string; readonly message: string } | undefined;
  readonly failureRate: number;
  /** @internal The number of calls in the last minute, which `failureRate` is a share of. */
  readonly recentCalls?: number;
  readonly failureTrend: "rising" | "steady" | "falling";
  readonly replayRate: number;
}

/**
 * Filters for dead letters; all of them must match. Deleted ones are found only with `deleted`, and then only they are.
 */
export interface DeadLetterQuery {
  readonly exporter?: string;
  readonly reason?: FailureReason;
  readonly category?: string;
  readonly signature?: string;
  readonly signal?: Signal;
  /** Failed at or after `since`, and before `until`; milliseconds since the epoch. */
  readonly since?: number;
  readonly until?: number;
  /** An event, span or metric name; `*` matches any text. */
  readonly event?: string;
  /** @internal Whether `event` is compared with masked names, for operators who may not see others. */
  readonly matchesMasked?: boolean;
  /** @internal Matches if this OTTL condition holds for a record. */
  readonly where?: string;
  /** @internal Matches if a record or its resource has this attribute: `key` or `key=value`, where `*` is any text. */
  readonly attribute?: string;
  /** @internal Matches if the records contain this text anywhere. */
  readonly text?: string;
  readonly deleted?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
  readonly order?: "oldest" | "newest";
}

/**
 * The type of each key of a query that an operator may set. It is a record, so that no key can be forgotten.
 */
export const DEAD_LETTER_QUERY: Readonly<
  Record<Exclude<keyof DeadLetterQuery, "matchesMasked">, "text" | "time" | "number" | "flag">
> = {
  exporter: "text",
  reason: "text",
  category: "text",
  signature: "text",
  signal: "text",
  since: "time",
  until: "time",
  event: "text",
  where: "text",
  attribute: "text",
  text: "text",
  deleted: "flag",
  limit: "number",
  cursor: "text",
  order: "text",
};

/** Filters that search the records themselves. By trying values, an operator could find out masked data. */
export const RECORD_FILTERS = ["where", "attribute", "text"] as const satisfies readonly (keyof DeadLetterQuery)[];

/**
 * A page of dead letters. It has fewer entries than requested, or none, if a filter finds little; then `cursor`
 * continues the search.
 */
export interface DeadLetterPage extends PartialAnswer {
  readonly entries: readonly Entry[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

/** Numbers of dead letters, grouped by signature, so that those of one cause are one group. */
export interface DeadLetterStats extends PartialAnswer {
  readonly entries: number;
  readonly items: number;
  readonly bytes: number;
  readonly oldestAt: number | undefined;
  readonly byReason: Readonly<Record<string, number>>;
  readonly byCategory: Readonly<Record<string, number>>;
  readonly byExporter: Readonly<Record<string, number>>;
  readonly signatures: readonly {
    readonly signature: string;
    readonly exporter: string;
    readonly class: string;
    readonly message: string;
    readonly entries: number;
    readonly items: number;
    readonly firstAt: number;
    readonly lastAt: number;
    readonly exampleId: string;
  }[];
}

/** Dead letters by id, or all that match a query. */
export type Selection = { readonly ids: readonly string[] } | { readonly query: DeadLetterQuery };

/**
 * Options of a replay. `rate` is in entries per second; by default it is the exporter's own rate. With 0 there is no
 * limit: entries are put back as fast as the backend takes them.
 */
export interface ReplayOptions {
  /** Who asked for the replay, and the config generation (by default the current one). Kept in the entry's history. */
  readonly by: string;
  readonly generation?: string;
  /** @internal The operator's reason, for the records. */
  readonly reason?: string | undefined;
  readonly dryRun?: boolean;
  readonly rate?: number;
  /** Includes entries that were replayed too often, are risky to send twice, or meet an open breaker. */
  readonly approved?: boolean;
  /**
   * Replay steps for entries whose own pipeline is not in the config. Names a pipeline, or is false to send them
   * unchanged.
   */
  readonly pipeline?: string | false;
  /** @internal The exporter to send to instead of the one where they failed. */
  readonly to?: string | undefined;
  /** @internal OTTL statements that change the entries first. */
  readonly transform?: readonly string[] | undefined;
  /** @internal For a dry run: the number of entries for which the data to be sent is shown. */
  readonly samples?: number | undefined;
  /** @internal Whether samples are shown unmasked. */
  readonly revealSamples?: boolean | undefined;
  readonly onProgress?: (done: number, total: number) => void;
  readonly abort?: AbortSignal;
  /** @internal The id of the replay, for tracking its entries. By default one is made up. */
  readonly id?: string;
  /** @internal Called before each chunk. If it returns a promise, the replay waits for it. */
  readonly whenResumed?: () => Promise<void> | undefined;
}

/** The result of an import, with the damaged lines. */
export interface ImportReport {
  readonly imported: number;
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}

/** Why an admin call was not carried out. */
export type AdminErrorCode = "not_found" | "bad_request" | "conflict" | "unavailable";

/** An admin call that was not carried out. Nothing was changed. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  readonly code: AdminErrorCode;

  constructor(code: AdminErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
