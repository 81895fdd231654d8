import { type PasswordCheck, passwordCheck } from "./password-check.js";

/** Users and how their passwords are checked. */
export type Htpasswd = ReadonlyMap<string, PasswordCheck>;

/**
 * Reads lines of `user:password`, as htpasswd writes them; blank lines and those that begin with # say nothing. Throws for the
 * first line that cannot be used: a user who is left out in silence would look for the reason elsewhere.
 */
export function parseHtpasswd(text: string, mayBePlain: boolean): Htpasswd {
  const users = new Map<string, PasswordCheck>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    const colon = trimmed.indexOf(":");
    if (colon < 1) throw new Error(`line ${index + 1}: expected user:password`);
    const check = passwordCheck(trimmed.slice(colon + 1), mayBePlain);
    if (typeof check === "object") throw new Error(`line ${index + 1}: ${check.problem}`);
    users.set(trimmed.slice(0, colon), check);
  }
  return users;
}
