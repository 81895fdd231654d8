/** Replaces secrets wherever config is shown. */
export const REDACTED = "[REDACTED]";

/** Removes user, password and secret-looking query parameters from a URL. */
export function withoutUrlSecrets(text: string): string {
  return text.replace(AUTHORITY, withoutCredentials).replace(SECRET_PARAMETER, `$1${REDACTED}`);
}

/** For http, credentials are recognised after any number of slashes or backslashes. */
const AUTHORITY = /(:\/\/|\bhttps?:[/\\]*)([^/?#\s]*)/gi;
// Linear: a name ends before the next character that may begin one.
const SECRET_PARAMETER =
  /([?&#;][\w.-]*(?:key|keyid|token|tok|secret|pass|password|pwd|auth|jwt|credentials?|sig|signature|code)=)[^&#\s]+/gi;

function withoutCredentials(whole: string, start: string, authority: string): string {
  const at = authority.lastIndexOf("@");
  return at > 0 ? `${start}${REDACTED}${authority.slice(at)}` : whole;
}
