import type { Signal } from "#otlp/signals";
import type { AuditPage, AuditQuery, Operator } from "./audit.js";
import type { DeadLetterGroups } from "./dead-letter-groups.js";
import type { Entry } from "./entry.js";
import type { FailureReason } from "./failure-reasons.js";
import type { ReplayJob, ReplaySample } from "./replay-job.js";

/**
 * What can be seen and done from outside while the agent runs: what the HTTP API, the command line and the health check
 * are written against. Methods reject with an `AdminError` whose `code` says what is wrong with the request.
 */
export interface Admin {
  /** The same for somebody in particular: what they reveal and change is kept in the audit. */
  actingAs(operator: Operator): Admin;
  exporters(): readonly ExporterStatus[];
  /** Stops or goes on sending; what comes in meanwhile is queued. */
  pause(exporter: string): void;
  resume(exporter: string): void;
  /** Lets no entry of its queue wait any longer for the time of its retry, also if the backend asked for that. */
  retryNow(exporter: string): void;
  /** Holds the breaker open or closed whatever happens; "auto" lets it decide again. */
  forceBreaker(exporter: string, state: "open" | "closed" | "auto"): void;
  /** Entries per second. */
  setReplayRate(exporter: string, rate: number): void;

  /** Newest first unless asked otherwise; `cursor` of the page before gives the next. */
  listDeadLetters(query: DeadLetterQuery): Promise<DeadLetterPage>;
  deadLetter(id: string): Promise<Entry | undefined>;
  /** The records of an entry as OTLP/JSON, masked unless they are to be revealed; undefined when there is no such entry. */
  payload(id: string, options?: RevealOptions): Promise<string | undefined>;
  /** Those of one cause together: at once, from the last count, which goes on in the background. */
  deadLetterGroups(query: DeadLetterQuery): Promise<DeadLetterGroups>;
  /** Groups by signature, reason and exporter. */
  deadLetterStats(query: DeadLetterQuery): Promise<DeadLetterStats>;
  /**
   * Gives a dead letter another payload; the one before is kept in the history. Rejects when the payload is no OTLP of the
   * entry's signal, and when somebody else has changed the entry since it was read.
   */
  editDeadLetter(id: string, edit: DeadLetterEdit): Promise<Entry>;
  /** Puts dead letters back into their queues. Goes on in the background; `onProgress` is told how it goes. */
  replay(selection: Selection, options: ReplayOptions): Promise<ReplayReport>;
  /** The same in the background: resolves with the replay when it is done, or after a moment. */
  startReplay(selection: Selection, options: ReplayOptions): Promise<ReplayJob>;
  /** Replays, the newest first, also those of earlier runs. */
  replays(limit?: number): Promise<readonly ReplayJob[]>;
  /** One replay with what became of its entries; undefined when there is none. */
  replayJob(id: string): Promise<ReplayJob | undefined>;
  /** Changes one that runs. What a cancelled one has put back stays so. */
  controlReplay(id: string, change: "pause" | "resume" | "cancel"): void;
  /** Calls back whenever something of a replay has changed; gives what ends that. */
  watchReplay(id: string, listener: () => void): () => void;
  /** Removes the selected ones, for good or for `dead_letter.keep_deleted`; gives their number. */
  deleteDeadLetters(selection: Selection, options?: { readonly dryRun?: boolean }): Promise<number>;
  /** Undoes that for as long as they are kept; gives their number. */
  restoreDeadLetters(selection: Selection): Promise<number>;
  /** One line of JSON an entry, payload included. `import` reads those again that are revealed, and refuses masked ones. */
  exportDeadLetters(query: DeadLetterQuery, options?: RevealOptions): AsyncIterable<string>;
  importDeadLetters(lines: AsyncIterable<string>): Promise<ImportReport>;

  /** Who did what, the newest first; `cursor` of the page before gives the next. */
  audit(query: AuditQuery): Promise<AuditPage>;
}

/** Whether payloads are given as they are. Otherwise what the detectors of `pii` find in them is masked. */
export interface RevealOptions {
  readonly reveal?: boolean;
  /** @internal The payload as it was before the edit with the next number; without, as it is. */
  readonly revision?: number | undefined;
}

/** A new payload for a dead letter. */
export interface DeadLetterEdit {
  readonly by: string;
  readonly reason?: string | undefined;
  /** A whole OTLP/JSON request. */
  readonly payload: string;
  /** That of the entry when it was read: how often it had been changed. */
  readonly revision: number;
}

/** How an exporter is; `refused` while its backend refuses all of these signals. Times are milliseconds since the epoch. */
export interface ExporterStatus {
  readonly id: string;
  readonly state: "UP" | "DEGRADED" | "DOWN";
  readonly paused: boolean;
  readonly breaker: {
    readonly state: "closed" | "open" | "half_open";
    readonly forced: boolean;
    readonly since: number;
    /** @internal While it is open by itself: when the backend is tried next, if there is something to send. */
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
    /** What waits for the time of its retry, and when that is for the first; those that are not in memory are not counted. */
    readonly retries?: { readonly entries: number; readonly nextAt: number };
    /** Why nothing can be written to it at the moment: everything that comes is refused. */
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
  readonly failureTrend: "rising" | "steady" | "falling";
  readonly replayRate: number;
}

/** All given conditions must hold. Deleted ones are found only with `deleted`, and then only they. */
export interface DeadLetterQuery {
  readonly exporter?: string;
  readonly reason?: FailureReason;
  readonly category?: string;
  readonly signature?: string;
  readonly signal?: Signal;
  /** Failed at or after, and before; milliseconds since the epoch. */
  readonly since?: number;
  readonly until?: number;
  /** An event, span or metric name; `*` matches any text. */
  readonly event?: string;
  /** @internal With a record for which this OTTL condition holds. */
  readonly where?: string;
  /** @internal With a record, or its resource, that has this attribute: `key` or `key=value`, `*` is any text. */
  readonly attribute?: string;
  /** @internal With this text anywhere in its records. */
  readonly text?: string;
  readonly deleted?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
  readonly order?: "oldest" | "newest";
}

/** What each key of a query holds: a record, so that none is forgotten. */
export const DEAD_LETTER_QUERY: Readonly<Record<keyof DeadLetterQuery, "text" | "time" | "number" | "flag">> = {
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

/** They ask the records themselves: whoever tries values with them learns what is masked. */
export const RECORD_FILTERS = ["where", "attribute", "text"] as const satisfies readonly (keyof DeadLetterQuery)[];

/** Has fewer entries than asked for, or none, when a filter finds little: then there is a cursor to go on with. */
export interface DeadLetterPage {
  readonly entries: readonly Entry[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

/** Dead letters counted, and grouped by signature: those of one cause are one line. */
export interface DeadLetterStats {
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

/** Named ones, or all that a query finds. */
export type Selection = { readonly ids: readonly string[] } | { readonly query: DeadLetterQuery };

/** How dead letters are replayed; `rate` in entries per second, the exporter's own without. */
export interface ReplayOptions {
  /** Who asked for it, and with what generation (by default that of the config); kept in the entry's history. */
  readonly by: string;
  readonly generation?: string;
  /** @internal Why, for those who look at it later. */
  readonly reason?: string | undefined;
  readonly dryRun?: boolean;
  readonly rate?: number;
  /** Also what was replayed too often, is risky to send twice, or meets an open breaker. */
  readonly approved?: boolean;
  /** Whose steps those take whose own pipeline is not in the config; false: they go as they are. */
  readonly pipeline?: string | false;
  /** @internal The exporter they are sent to instead of the one they failed at. */
  readonly to?: string | undefined;
  /** @internal OTTL statements that change them first. */
  readonly transform?: readonly string[] | undefined;
  /** @internal Of a dry run: for how many it is shown what would be sent, and whether as it is. */
  readonly samples?: number | undefined;
  /** @internal See `samples`. */
  readonly revealSamples?: boolean | undefined;
  readonly onProgress?: (done: number, total: number) => void;
  readonly abort?: AbortSignal;
  /** @internal The replay it is part of, by which it is known what became of its entries. */
  readonly id?: string;
  /** @internal Asked before each chunk: it waits for what this gives. */
  readonly whenResumed?: () => Promise<void> | undefined;
}

/** Why a dead letter was not replayed. */
export type ReplaySkip =
  `skip_${"approval" | "pipeline" | "schema" | "expired" | "downstream" | "max_replays" | "not_found" | "transform" | "destination" | "moving"}`;

/** What came of a replay (of a dry run, what would): `replayed` are queued again, and their end is not known yet. */
export interface ReplayReport {
  readonly selected: number;
  readonly replayed: number;
  readonly skipped: Readonly<Partial<Record<ReplaySkip, number>>>;
  /** The first few skipped ones with their reasons. */
  readonly examples: readonly { readonly id: string; readonly reason: ReplaySkip; readonly message?: string }[];
  /** @internal Of a dry run that was asked for them. */
  readonly samples?: readonly ReplaySample[];
}

/** What came of an import, and which lines are damaged. */
export interface ImportReport {
  readonly imported: number;
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}

/** Why an admin call was not carried out. */
export type AdminErrorCode = "not_found" | "bad_request" | "conflict" | "unavailable";

/** An admin call that was not carried out; nothing was changed. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  readonly code: AdminErrorCode;

  constructor(code: AdminErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
