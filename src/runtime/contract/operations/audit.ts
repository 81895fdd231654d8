/** Who does something, from where (an address, a terminal), and why. */
export interface Operator {
  readonly actor: string;
  readonly from?: string | undefined;
  readonly reason?: string | undefined;
}

/** Everything that is kept in the audit: what changes something, and what shows what is masked for others. */
export const AUDITED_ACTIONS = [
  "reveal",
  "search",
  "export",
  "import",
  "edit",
  "replay",
  "delete",
  "restore",
  "pause",
  "resume",
  "retry",
  "breaker",
  "replay_rate",
] as const;

/** One of `AUDITED_ACTIONS`. */
export type AuditedAction = (typeof AUDITED_ACTIONS)[number];

/** One thing that somebody did. Times are milliseconds since the epoch. */
export interface AuditRecord extends Operator {
  readonly at: number;
  readonly action: AuditedAction;
  /** What it was done to: an exporter, or the id of an entry. */
  readonly target?: string | undefined;
  /** What selected the entries: filters, or the first of the ids. */
  readonly filter?: Readonly<Record<string, unknown>> | undefined;
  /** How many entries it was about. */
  readonly count?: number | undefined;
  /** `done`, or `failed: ` and why. */
  readonly outcome: string;
}

/** All given conditions must hold. */
export interface AuditQuery {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The newest first. Has fewer than asked for, or none, when a filter finds little: then there is a cursor to go on with. */
export interface AuditPage {
  readonly records: readonly AuditRecord[];
  /** Absent on the last page. */
  readonly cursor?: string;
}
