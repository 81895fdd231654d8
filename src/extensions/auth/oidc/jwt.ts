import { constants, type KeyObject, verify } from "node:crypto";
import { AuthError } from "#contract";

/** A parsed JSON Web Token that is not verified yet. */
export interface Jwt {
  readonly algorithm: string;
  readonly keyId: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The signed bytes, and the signature. */
  readonly signed: Buffer;
  readonly signature: Buffer;
}

interface Algorithm {
  /** The kind of key that the algorithm requires. No other key is tried, whatever a token says. */
  readonly keyType: readonly string[];
  readonly curve?: string;
  readonly digest: string | null;
  readonly options?: { readonly padding?: number; readonly saltLength?: number; readonly dsaEncoding?: "ieee-p1363" };
}

const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
const EC = { dsaEncoding: "ieee-p1363" } as const;

/**
 * The accepted algorithms, all with public keys. `none` signs nothing, and with HS* the public key would be a password
 * that everybody knows.
 */
const ALGORITHMS: Readonly<Record<string, Algorithm>> = {
  RS256: { keyType: ["rsa"], digest: "sha256" },
  RS384: { keyType: ["rsa"], digest: "sha384" },
  RS512: { keyType: ["rsa"], digest: "sha512" },
  PS256: { keyType: ["rsa", "rsa-pss"], digest: "sha256", options: PSS },
  PS384: { keyType: ["rsa", "rsa-pss"], digest: "sha384", options: PSS },
  PS512: { keyType: ["rsa", "rsa-pss"], digest: "sha512", options: PSS },
  ES256: { keyType: ["ec"], curve: "prime256v1", digest: "sha256", options: EC },
  ES384: { keyType: ["ec"], curve: "secp384r1", digest: "sha384", options: EC },
  ES512: { keyType: ["ec"], curve: "secp521r1", digest: "sha512", options: EC },
  EdDSA: { keyType: ["ed25519", "ed448"], digest: null },
};

const MIN_RSA_BITS = 2048;

/** Parses a token. Throws an `AuthError` if it is not a token, or if its algorithm is not accepted. */
export function parseJwt(token: string): Jwt {
  const parts = token.split(".");
  if (parts.length !== 3 || !parts.every((part) => /^[A-Za-z0-9_-]+$/.test(part))) throw invalidToken();
  const header = parsePart(parts[0]!);
  const claims = parsePart(parts[1]!);
  const { alg: algorithm, kid: keyId } = header;
  if (typeof algorithm !== "string" || !Object.hasOwn(ALGORITHMS, algorithm)) throw invalidToken();
  // Extensions of the format that must be understood are not supported.
  if ("crit" in header || (keyId !== undefined && typeof keyId !== "string")) throw invalidToken();
  const signed = Buffer.from(`${parts[0]}.${parts[1]}`, "latin1");
  return { algorithm, keyId, claims, signed, signature: Buffer.from(parts[2]!, "base64url") };
}

/** Whether a key is of the kind that an algorithm needs. */
export function fitsAlgorithm(key: KeyObject, algorithm: string): boolean {
  const { keyType, curve } = ALGORITHMS[algorithm]!;
  const { asymmetricKeyType: type = "", asymmetricKeyDetails: details = {} } = key;
  if (!keyType.includes(type)) return false;
  if (type.startsWith("rsa") && (details.modulusLength ?? 0) < MIN_RSA_BITS) return false;
  return curve === undefined || details.namedCurve === curve;
}

/** Whether the key has signed the token. The key must fit the algorithm. */
export function isSignedBy({ algorithm, signed, signature }: Jwt, key: KeyObject): boolean {
  const { digest, options } = ALGORITHMS[algorithm]!;
  try {
    return verify(digest, signed, { key, ...options }, signature);
  } catch {
    return false;
  }
}

/** The message gives no details, because they would help an attacker who forges a token. */
export function invalidToken(): AuthError {
  return new AuthError("unauthenticated", "the token is not valid");
}

function parsePart(part: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Not JSON.
  }
  throw invalidToken();
}
