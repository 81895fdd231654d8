import type { PartialAnswer } from "./workers.js";

/** The person who does something, from where (an address, a terminal), and why. */
export interface Operator {
  readonly actor: string;
  readonly from?: string | undefined;
  readonly reason?: string | undefined;
}

/** All actions recorded in the audit: those that change something, and those that show what is masked for others. */
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
  "reload",
  "rehearse",
  "adopt",
  "rehydrate",
  "delete_queue",
] as const;

/** One of `AUDITED_ACTIONS`. */
export type AuditedAction = (typeof AUDITED_ACTIONS)[number];

/** One recorded action. Times are milliseconds since the epoch. */
export interface AuditRecord extends Operator {
  readonly at: number;
  readonly action: AuditedAction;
  /** The exporter, or the id of the entry, that the action was applied to. */
  readonly target?: string | undefined;
  /** How the entries were selected: filters, or the first of the ids. For a reload: what changed. */
  readonly filter?: Readonly<Record<string, unknown>> | undefined;
  /** Number of entries. */
  readonly count?: number | undefined;
  /** `done`, or `failed: ` and the reason. */
  readonly outcome: string;
}

/** Filters for the audit; all of them must match. */
export interface AuditQuery {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/**
 * A page of the audit, the newest records first. It has fewer records than requested, or none, if a filter finds
 * little; then `cursor` continues the search.
 */
export interface AuditPage extends PartialAnswer {
  readonly records: readonly AuditRecord[];
  /** Absent on the last page. */
  readonly cursor?: string;
}
