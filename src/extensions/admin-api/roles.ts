/** The rights of a caller. Each route requires one of them. */
export const ADMIN_ROLES = ["view", "reveal", "replay", "purge", "configure"] as const;

/**
 * `view`: see exporters and dead letters, with masked records. `reveal`: see unmasked records. `replay`: send dead
 * letters again and import them; together with `reveal` also edit them. `purge`: remove them. `configure`: pause
 * exporters and control breakers.
 */
export type AdminRole = (typeof ADMIN_ROLES)[number];

/** The caller of a request. */
export interface Actor {
  /** The name in the log and in the history of dead letters. */
  readonly name: string;
  readonly roles: ReadonlySet<AdminRole>;
  /** True for the token from the token file. Its owner may claim any name. */
  readonly isOwner?: boolean;
}
