import type { Admin } from "../operations/admin.js";
import type { AuditedAction } from "../operations/audit.js";

/** The rights of a caller of the API. */
export const ADMIN_ROLES = ["view", "reveal", "replay", "purge", "configure"] as const;

/**
 * `view`: see exporters and dead letters, with masked records. `reveal`: see unmasked records. `replay`: send dead
 * letters again and import them; together with `reveal` also edit them. `purge`: remove them. `configure`: pause
 * exporters and control breakers.
 */
export type AdminRole = (typeof ADMIN_ROLES)[number];

/** How the API offers a method of `Admin`, and under which name the audit records it. */
interface Operation {
  /** Method and path below the root of the API; `:name` stands for one segment. */
  readonly at: `${"GET" | "POST"} /${string}`;
  readonly role: AdminRole;
  readonly audit?: AuditedAction;
  /** For a method that takes an id and one value: the name of the value in the body and in the audit. */
  readonly value?: string;
  /** Whether lines are sent or received. */
  readonly lines?: true;
}

/**
 * The methods of `Admin` that the API offers. The routes, the command line's client, the audited admin and the calls
 * between workers are made from this table.
 */
export const OPERATIONS = {
  exporters: { at: "GET /exporters", role: "view" },
  pause: { at: "POST /exporters/:id/pause", role: "configure", audit: "pause" },
  resume: { at: "POST /exporters/:id/resume", role: "configure", audit: "resume" },
  retryNow: { at: "POST /exporters/:id/retry", role: "configure", audit: "retry" },
  forceBreaker: { at: "POST /exporters/:id/breaker", role: "configure", audit: "breaker", value: "state" },
  setReplayRate: { at: "POST /exporters/:id/replay-rate", role: "configure", audit: "replay_rate", value: "rate" },
  listDeadLetters: { at: "GET /dead-letters", role: "view", audit: "search" },
  deadLetterStats: { at: "GET /dead-letters/stats", role: "view", audit: "search" },
  deadLetterGroups: { at: "GET /dead-letters/groups", role: "view", audit: "search" },
  exportDeadLetters: { at: "POST /dead-letters/export", role: "reveal", audit: "export", lines: true },
  importDeadLetters: { at: "POST /dead-letters/import", role: "replay", audit: "import", lines: true },
  deleteDeadLetters: { at: "POST /dead-letters/purge", role: "purge", audit: "delete" },
  restoreDeadLetters: { at: "POST /dead-letters/restore", role: "purge", audit: "restore" },
  startReplay: { at: "POST /dead-letters/replay", role: "replay", audit: "replay" },
  deadLetter: { at: "GET /dead-letters/:id", role: "view" },
  payload: { at: "POST /dead-letters/:id/reveal", role: "reveal", audit: "reveal" },
  editDeadLetter: { at: "POST /dead-letters/:id/edit", role: "replay", audit: "edit" },
  replays: { at: "GET /replays", role: "view" },
  replayJob: { at: "GET /replays/:id", role: "view" },
  controlReplay: { at: "POST /replays/:id/:change", role: "replay", audit: "replay", value: "change" },
  audit: { at: "GET /audit", role: "view" },
} as const satisfies Partial<Readonly<Record<keyof Admin, Operation>>>;

export type OperationName = keyof typeof OPERATIONS;
