/** What stands in the place of a secret, wherever config is shown. */
export const REDACTED = "[REDACTED]";

/** A URL's user, password and secret-looking query parameters, taken out. */
export function withoutUrlSecrets(text: string): string {
  return text.replace(CREDENTIALS, `$1${REDACTED}@`).replace(SECRET_PARAMETER, `$1${REDACTED}`);
}

/** Those of http are read behind any number of slashes, of either kind. */
const CREDENTIALS = /(:\/\/|\bhttps?:[/\\]*)[^/?#\s]+@/gi;
const SECRET_PARAMETER =
  /([?&#;][\w.-]*(?:key|keyid|token|tok|secret|pass|password|pwd|auth|jwt|credentials?|sig|signature|code)=)[^&#\s]+/gi;
