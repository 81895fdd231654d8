import { type PasswordCheck, passwordCheck } from "./password-check.js";

/** The password check of each user. */
export type Htpasswd = ReadonlyMap<string, PasswordCheck>;

/**
 * Parses lines of `user:password`, as htpasswd writes them; blank lines and lines that begin with # are ignored. Throws
 * for the first line that cannot be used, because a silently ignored user would be hard to find.
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
