import type { AuthenticatedClient } from "#contract";
import type { ProviderConfig } from "./config.js";
import { invalidToken, type UnverifiedToken } from "./token.js";

/** Tolerated difference from the issuer's clock. */
const SKEW_MS = 60_000;
const MAX_ATTRIBUTES = 32;
const MAX_VALUE_LENGTH = 1024;
/** Claims about the token, not about the client. */
const TOKEN_CLAIMS = new Set(["iss", "aud", "exp", "nbf", "iat", "jti", "nonce", "at_hash", "azp"]);

/**
 * Attributes for the identity of a client, its groups and its tenant. They come only from the claims that the config
 * names.
 */
const RESERVED_ATTRIBUTES = new Set(["subject", "tenant", "authenticator", "membership"]);

/**
 * Returns the client of a token and how long the token is valid. Throws an `AuthError` if it is not for this agent, or
 * not valid now. `now` is in milliseconds.
 */
export function clientOfClaims(
  { claims }: UnverifiedToken,
  provider: ProviderConfig,
  authenticator: string,
  now: number,
): { readonly client: AuthenticatedClient; readonly forMs: number } {
  const { exp, nbf = 0, iat = 0, iss } = claims;
  if (iss !== provider.issuer_url) throw invalidToken();
  if (!isTime(exp) || !isTime(nbf) || !isTime(iat)) throw invalidToken();
  const forMs = exp * 1000 + SKEW_MS - now;
  if (forMs <= 0 || Math.max(nbf, iat) * 1000 - SKEW_MS > now) throw invalidToken();
  if (!provider.ignore_audience && !textsOf(claims["aud"]).includes(provider.audience ?? "")) throw invalidToken();
  const subject = claims[provider.username_claim ?? "sub"];
  if (typeof subject !== "string" || subject === "") throw invalidToken();
  const tenant = provider.tenant_claim === undefined ? undefined : claims[provider.tenant_claim];
  if (tenant !== undefined && typeof tenant !== "string") throw invalidToken();
  const attributes = attributesOf(claims, provider.groups_claim);
  return { client: { authenticator, subject, ...(tenant !== undefined && { tenant }), attributes }, forMs };
}

function attributesOf(
  claims: UnverifiedToken["claims"],
  groupsClaim: string | undefined,
): AuthenticatedClient["attributes"] {
  const attributes: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(claims).slice(0, MAX_ATTRIBUTES)) {
    const isOurs = TOKEN_CLAIMS.has(name) || RESERVED_ATTRIBUTES.has(name.toLowerCase());
    const text = isOurs ? undefined : attributeOf(value);
    if (text !== undefined) attributes[name] = text;
  }
  if (groupsClaim !== undefined) attributes["membership"] = textsOf(claims[groupsClaim]);
  return attributes;
}

function attributeOf(value: unknown): string | readonly string[] | undefined {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "string") return value.slice(0, MAX_VALUE_LENGTH);
  return Array.isArray(value) ? textsOf(value) : undefined;
}

/** A single text counts as a list of one. */
function textsOf(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value.slice(0, 100) : [value];
  return list.filter((each) => typeof each === "string").map((text) => text.slice(0, MAX_VALUE_LENGTH));
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
