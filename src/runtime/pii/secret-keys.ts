const SECRETS = new Set(
  (
    "password passwd passphrase pwd pass secret token apikey authorization auth cookie credential credentials " +
    "cvv cvc otp jwt bearer dsn htpasswd"
  ).split(" "),
);
const PAIRS =
  /(?:^|_)(?:(?:api|auth|private|access|secret|encryption|signing|ingestion|license|licence|account|storage|shared|master|session)_key|access_key_id|set_cookie|connection_string|client_secret|secret_access_key|pin_code|security_code|card_verification)$/;

/**
 * Does a field of this name hold a secret? The last word decides: `db.password`, `X-Api-Key` and `refreshToken` do,
 * `token_count`, `password_changed_at` and `process_token_renewal_completed` do not.
 */
export function isSecretKey(key: string): boolean {
  const folded = key
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .replace(/[-.\s/:]+/g, "_")
    .toLowerCase();
  return SECRETS.has(folded.slice(folded.lastIndexOf("_") + 1)) || PAIRS.test(folded);
}
