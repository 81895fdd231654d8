import { decodeJwt, decodeProtectedHeader } from "jose";
import { AuthError } from "#contract";

/** A parsed JSON Web Token that is not verified yet. */
export interface UnverifiedToken {
  readonly text: string;
  readonly keyId: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
}

/**
 * The accepted algorithms, all with public keys. `none` signs nothing, and with HS* the public key would be a password
 * that everybody knows.
 */
export const ALGORITHMS: string[] = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");

/** Parses a token. Throws an `AuthError` if it is not a token, or if its algorithm is not accepted. */
export function parseToken(text: string): UnverifiedToken {
  const parts = text.split(".");
  if (parts.length !== 3 || !parts.every((part) => /^[A-Za-z0-9_-]+$/.test(part))) throw invalidToken();
  const [{ alg, kid, crit }, claims] = decoded(text);
  if (alg === undefined || !ALGORITHMS.includes(alg)) throw invalidToken();
  // Extensions of the format that must be understood are not supported.
  if (crit !== undefined || (kid !== undefined && typeof kid !== "string")) throw invalidToken();
  return { text, keyId: kid, claims };
}

function decoded(text: string) {
  try {
    return [decodeProtectedHeader(text), decodeJwt(text)] as const;
  } catch (error) {
    throw invalidToken(error);
  }
}

/** The message gives no details, because they would help an attacker who forges a token. */
export function invalidToken(cause?: unknown): AuthError {
  return new AuthError("unauthenticated", "the token is not valid", cause === undefined ? undefined : { cause });
}
