/** What a caller of the API may do; a route names the one that it takes. */
export const ADMIN_ROLES = ["view", "reveal", "replay", "purge", "configure"] as const;

/**
 * `view`: exporters, and dead letters, whose records are masked. `reveal`: their records as they are. `replay`: sending them
 * again, and importing them; with `reveal` also editing them. `purge`: removing them. `configure`: pausing and breakers.
 */
export type AdminRole = (typeof ADMIN_ROLES)[number];

/** Who asks. */
export interface Actor {
  /** As it stands in the log and in the history of dead letters. */
  readonly name: string;
  readonly roles: ReadonlySet<AdminRole>;
  /** It has the token of the file: it is whoever may read that, and says itself who that is. */
  readonly isOwner?: boolean;
}
