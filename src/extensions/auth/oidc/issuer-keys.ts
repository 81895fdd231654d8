import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import process from "node:process";
import { AuthError } from "#contract";
import { readAnswer } from "#net";
import { type Clock, type Logger, limitedLog } from "../../../plugin.js";
import { fitsAlgorithm, invalidToken, type Jwt } from "./jwt.js";

interface IssuerKey {
  readonly id: string | undefined;
  readonly algorithm: string | undefined;
  readonly key: KeyObject;
}

interface IssuerKeysServices {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Minimum time between two fetches, whatever tokens arrive. */
const MIN_INTERVAL_MS = 10_000;
/** Maximum age of keys before they are fetched again. A withdrawn key works at most this long. */
const MAX_AGE_MS = 3_600_000;
const MAX_KEYS = 100;
const MAX_KEY_IDS = 1000;

/**
 * The signing keys of an issuer, found by its discovery document.
 *
 * - Keys are fetched by one request at a time, at most every ten seconds: a flood of tokens with invented key ids is
 *   answered from the known keys.
 * - While the issuer does not answer, the last fetched keys stay valid.
 * - A token is rejected only if keys were fetched after its key id was first requested. Until then its client gets a
 *   retryable error, so that nothing is lost while an issuer changes its keys or is down. The rejection is not
 *   permanent either: an issuer may sign with a key before it is published everywhere, and an attacker may have
 *   invented the id that the next key will have.
 */
export class IssuerKeys {
  private readonly issuer: string;
  private readonly ca: string | undefined;
  private readonly clock: Clock;
  private readonly logFailure: (error: unknown) => void;
  private keys: readonly IssuerKey[] | undefined;
  private fetchedAt = Number.NEGATIVE_INFINITY;
  private triedAt = Number.NEGATIVE_INFINITY;
  private fetching: Promise<void> | undefined;
  /** Key ids requested since the last fetch, and those that the last fetch did not contain. */
  private asked = new Set<string>();
  private absent = new Set<string>();

  constructor(issuer: string, ca: string | undefined, { clock, logger }: IssuerKeysServices) {
    this.issuer = issuer;
    this.ca = ca;
    this.clock = clock;
    this.logFailure = limitedLog(clock, (error, suppressed) =>
      logger.warn({ issuer, reason: (error as Error).message, suppressed }, "the keys of the issuer cannot be fetched"),
    );
  }

  /**
   * Returns the keys that may have signed a token, at least one; synchronously if they are known. Throws, or rejects
   * with, an `AuthError`.
   */
  find(jwt: Jwt): readonly KeyObject[] | Promise<readonly KeyObject[]> {
    const found = this.known(jwt);
    if (found.length > 0) {
      if (this.clock.monotonic() - this.fetchedAt > MAX_AGE_MS) void this.fetch();
      return found;
    }
    const id = jwt.keyId ?? "";
    const isUnfit = this.keys?.some((key) => key.id === id) ?? false;
    if (isUnfit || (this.keys !== undefined && this.absent.has(id) && !this.mayFetch())) throw invalidToken();
    if (this.asked.size < MAX_KEY_IDS) this.asked.add(id);
    const fetched = this.fetch();
    if (fetched === undefined) throw this.retryLater();
    return fetched.then(() => {
      const now = this.known(jwt);
      if (now.length > 0) return now;
      throw this.absent.has(id) ? invalidToken() : this.retryLater();
    });
  }

  /** Returns undefined if it is too early for another fetch. Never rejects. */
  fetch(): Promise<void> | undefined {
    if (this.fetching !== undefined) return this.fetching;
    if (!this.mayFetch()) return undefined;
    this.triedAt = this.clock.monotonic();
    const { asked } = this;
    this.asked = new Set();
    this.fetching = this.load()
      .then((keys) => {
        this.keys = keys;
        this.fetchedAt = this.clock.monotonic();
        this.absent = new Set([...asked, ...this.asked].slice(0, MAX_KEY_IDS));
      }, this.logFailure)
      .finally(() => {
        this.fetching = undefined;
      });
    return this.fetching;
  }

  private mayFetch(): boolean {
    return this.fetching !== undefined || this.clock.monotonic() - this.triedAt >= MIN_INTERVAL_MS;
  }

  private known({ keyId, algorithm }: Jwt): KeyObject[] {
    const fits = (key: IssuerKey) =>
      (keyId === undefined || key.id === undefined || key.id === keyId) &&
      (key.algorithm === undefined || key.algorithm === algorithm) &&
      fitsAlgorithm(key.key, algorithm);
    return (this.keys ?? []).filter(fits).map(({ key }) => key);
  }

  private retryLater(): AuthError {
    const wait = this.triedAt + MIN_INTERVAL_MS - this.clock.monotonic();
    const retryAfterMs = Math.max(1000, Math.min(MIN_INTERVAL_MS, wait));
    return new AuthError("unavailable", "tokens of this kind cannot be verified right now", { retryAfterMs });
  }

  private async load(): Promise<IssuerKey[]> {
    const discovery = new URL(`${this.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
    const { issuer, jwks_uri: address } = await getJson(discovery, this.ca);
    if (issuer !== this.issuer) throw new Error("the discovery document names another issuer");
    const url = new URL(String(address));
    if (url.protocol !== "https:" && url.protocol !== discovery.protocol)
      throw new Error("its keys are not served over https");
    const { keys } = await getJson(url, this.ca);
    if (!Array.isArray(keys)) throw new Error("it publishes no keys");
    return keys.slice(0, MAX_KEYS).flatMap(readKey);
  }
}

/** Returns nothing for a key that is not a public signing key, or of a kind that Node.js does not support. */
function readKey(jwk: unknown): IssuerKey[] {
  if (typeof jwk !== "object" || jwk === null) return [];
  const { kid, alg, use, kty } = jwk as Record<string, unknown>;
  if ((use !== undefined && use !== "sig") || kty === "oct") return [];
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
    return [{ id: textOrNone(kid), algorithm: textOrNone(alg), key }];
  } catch {
    return [];
  }
}

function textOrNone(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;

/** Fetches a document of the issuer. Follows no redirects, and accepts no more than a megabyte and ten seconds. */
async function getJson(url: URL, ca: string | undefined): Promise<Record<string, unknown>> {
  const text = await getText(url, ca);
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null)
    throw new Error(`${url.origin} answered with something other than a JSON object`);
  return value as Record<string, unknown>;
}

function getText(url: URL, ca: string | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    const { get } = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const options = { agent: false, signal, headers: { accept: "application/json" }, ...(ca !== undefined && { ca }) };
    const request = get(url, options, (response) => {
      readAnswer(response, MAX_BYTES)
        .then((bytes) => {
          if (response.statusCode === 200) resolve(bytes.toString("utf8"));
          else reject(new Error(`${url.origin} answered with ${response.statusCode}`));
        })
        .catch((error: Error) => reject(new Error(`${url.origin}: ${error.message}`, { cause: error })));
    });
    request.on("error", reject);
  });
}
