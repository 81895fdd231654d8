const SECRET_WORDS = new Set(
  (
    "password passwd passphrase pwd pass secret token apikey authorization auth cookie credential credentials " +
    "cvv cvc otp jwt bearer dsn htpasswd"
  ).split(" "),
);
const SECRET_WORD_PAIRS =
  /(?:^|_)(?:(?:api|auth|private|access|secret|encryption|signing|ingestion|license|licence|account|storage|shared|master|session)_key|access_key_id|set_cookie|connection_string|client_secret|secret_access_key|pin_code|security_code|card_verification)$/;

/** Words that are no part of another word, so that they need not stand alone: PGPASSWORD, userpassword. */
const SECRET_ENDINGS = /(?:password|passwd|passphrase)$/;

/**
 * Does a field of this name hold a secret? The last word decides: `db.password`, `X-Api-Key`, `APIToken`, `cookies` and
 * `password[0]` do, `token_count`, `tokens`, `password_changed_at` and `process_token_renewal_completed` do not.
 */
export function isSecretKey(key: string): boolean {
  const folded = key
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .replace(/[^a-zA-Z\d]+/g, "_")
    .toLowerCase()
    .replace(/^(.*(?:passw(?:or)?d|secret|token|key|cookie))_?\d*_*$/, "$1");
  return (
    isSecretName(folded) || (folded.endsWith("s") && !folded.endsWith("tokens") && isSecretName(folded.slice(0, -1)))
  );
}

function isSecretName(folded: string): boolean {
  return (
    SECRET_WORDS.has(folded.slice(folded.lastIndexOf("_") + 1)) ||
    SECRET_WORD_PAIRS.test(folded) ||
    SECRET_ENDINGS.test(folded)
  );
}
