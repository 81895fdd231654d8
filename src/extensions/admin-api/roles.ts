import type { AdminRole } from "#contract/api";

/** The caller of a request. */
export interface Actor {
  /** The name in the log and in the history of dead letters. */
  readonly name: string;
  readonly roles: ReadonlySet<AdminRole>;
  /** True for the token from the token file. Its owner may claim any name. */
  readonly isOwner?: boolean;
}
