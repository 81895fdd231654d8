/** Replaces secrets wherever config is shown. */
export const REDACTED = "[REDACTED]";

/** Removes user, password and secret-looking query parameters from a URL. */
export function withoutUrlSecrets(text: string): string {
  return text.replace(CREDENTIALS, `$1${REDACTED}@`).replace(SECRET_PARAMETER, `$1${REDACTED}`);
}

/** For http, credentials are recognised after any number of slashes or backslashes. */
const CREDENTIALS = /(:\/\/|\bhttps?:[/\\]*)[^/?#\s]+@/gi;
const SECRET_PARAMETER =
  /([?&#;][\w.-]*(?:key|keyid|token|tok|secret|pass|password|pwd|auth|jwt|credentials?|sig|signature|code)=)[^&#\s]+/gi;
