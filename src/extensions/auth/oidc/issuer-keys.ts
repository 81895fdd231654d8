import {
  type CryptoKey,
  compactVerify,
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWK,
  type ProtectedHeaderParameters,
} from "jose";
import { AuthError } from "#contract";
import { sendSmallRequest } from "#net/sending";
import { type Clock, type Logger, limitedLog } from "../../../plugin.js";
import { ALGORITHMS, invalidToken } from "./token.js";

interface IssuerKeysSettings {
  readonly issuer: string;
  readonly ca: string | undefined;
  /** The age of keys at which they are fetched again, and the age from which on they are not accepted. */
  readonly refreshMs: number;
  readonly maxStaleMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the issuer no longer publishes a key that it published before. */
  readonly onWithdrawn: () => void;
}

/** When a request for keys was sent, by both clocks: the monotonic one may stand still while the machine sleeps. */
interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

interface PublishedKeys {
  readonly ids: ReadonlySet<unknown>;
  /** Every key as text, to find out which are withdrawn. */
  readonly texts: ReadonlySet<string>;
  readonly find: ReturnType<typeof createLocalJWKSet>;
  readonly at: Moment;
}

/** Minimum time between two fetches, whatever tokens arrive. */
const MIN_INTERVAL_MS = 10_000;
const TIMEOUT_MS = 10_000;
const MAX_KEYS = 100;
const MAX_KEY_IDS = 1000;

/**
 * The signing keys of an issuer, found by its discovery document. jose chooses among them and verifies signatures.
 *
 * - Keys are fetched by one request at a time, at most every ten seconds: a flood of tokens with invented key ids is
 *   answered from the known keys.
 * - Keys older than `refreshMs` are fetched again while they are used. Keys older than `maxStaleMs` are never used, also
 *   if the issuer does not answer.
 * - A token is rejected only if keys were fetched after its key id was first requested. Until then its client gets a
 *   retryable error, so that nothing is lost while an issuer changes its keys or is down. The rejection is not
 *   permanent either: an issuer may sign with a key before it is published everywhere, and an attacker may have
 *   invented the id that the next key will have.
 */
export class IssuerKeys {
  private readonly settings: IssuerKeysSettings;
  private readonly clock: Clock;
  private readonly logFailure: (error: unknown) => void;
  private keys: PublishedKeys | undefined;
  private triedAt = Number.NEGATIVE_INFINITY;
  private fetching: Promise<void> | undefined;
  /** Key ids requested since the last fetch, and those that the last fetch did not contain. */
  private asked = new Set<string>();
  private absent = new Set<string>();

  constructor(settings: IssuerKeysSettings) {
    this.settings = settings;
    this.clock = settings.clock;
    const { issuer, logger } = settings;
    this.logFailure = limitedLog(this.clock, (error, suppressed) =>
      logger.warn({ issuer, reason: (error as Error).message, suppressed }, "the keys of the issuer cannot be fetched"),
    );
  }

  /**
   * Verifies the signature of a token. Returns for how many milliseconds the keys may still be used. Rejects with an
   * `AuthError`.
   */
  async verify(token: string, keyId: string | undefined): Promise<number> {
    if (await this.isSigned(token)) return this.remainingMs();
    const id = keyId ?? "";
    const isUnfit = this.keys?.ids.has(id) ?? false;
    if (isUnfit || (this.absent.has(id) && !this.mayFetch())) throw invalidToken();
    if (this.asked.size < MAX_KEY_IDS) this.asked.add(id);
    const fetched = this.fetch();
    if (fetched === undefined) throw this.retryLater();
    await fetched;
    if (await this.isSigned(token)) return this.remainingMs();
    throw this.absent.has(id) ? invalidToken() : this.retryLater();
  }

  /** Returns undefined if it is too early for another fetch. Never rejects. */
  fetch(): Promise<void> | undefined {
    if (this.fetching !== undefined) return this.fetching;
    if (!this.mayFetch()) return undefined;
    const at = { wall: this.clock.now(), monotonic: this.clock.monotonic() };
    this.triedAt = at.monotonic;
    const { asked } = this;
    this.asked = new Set();
    this.fetching = this.load(at)
      .then((keys) => {
        const withdrawn = [...(this.keys?.texts ?? [])].some((text) => !keys.texts.has(text));
        this.keys = keys;
        this.absent = new Set([...asked, ...this.asked].slice(0, MAX_KEY_IDS));
        if (withdrawn) this.settings.onWithdrawn();
      }, this.logFailure)
      .finally(() => {
        this.fetching = undefined;
      });
    return this.fetching;
  }

  /** Whether a usable key has signed the token; false if no key fits it. Rejects if one fits and has not. */
  private async isSigned(token: string): Promise<boolean> {
    const { find } = await this.usableKeys();
    try {
      await compactVerify(token, find, { algorithms: ALGORITHMS });
      return true;
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return false;
      if (error instanceof errors.JWKSMultipleMatchingKeys && (await isSignedByAny(token, error))) return true;
      throw invalidToken();
    }
  }

  private async usableKeys(): Promise<PublishedKeys> {
    if (this.remainingMs() <= 0) await this.fetch();
    else if (this.ageMs() > this.settings.refreshMs) void this.fetch();
    if (this.keys === undefined || this.remainingMs() <= 0) throw this.retryLater();
    return this.keys;
  }

  private remainingMs(): number {
    return this.settings.maxStaleMs - this.ageMs();
  }

  private ageMs(): number {
    if (this.keys === undefined) return Number.POSITIVE_INFINITY;
    const { wall, monotonic } = this.keys.at;
    return Math.max(this.clock.now() - wall, this.clock.monotonic() - monotonic);
  }

  private mayFetch(): boolean {
    return this.fetching !== undefined || this.clock.monotonic() - this.triedAt >= MIN_INTERVAL_MS;
  }

  private retryLater(): AuthError {
    const wait = this.triedAt + MIN_INTERVAL_MS - this.clock.monotonic();
    const retryAfterMs = Math.max(1000, Math.min(MIN_INTERVAL_MS, wait));
    return new AuthError("unavailable", "tokens of this kind cannot be verified right now", { retryAfterMs });
  }

  private async load(at: Moment): Promise<PublishedKeys> {
    const wanted = this.settings.issuer;
    const discovery = new URL(`${wanted.replace(/\/$/, "")}/.well-known/openid-configuration`);
    const { issuer, jwks_uri: address } = await this.getJson(discovery);
    if (issuer !== wanted) throw new Error("the discovery document names another issuer");
    const url = new URL(String(address));
    if (url.protocol !== "https:" && url.protocol !== discovery.protocol)
      throw new Error("its keys are not served over https");
    const { keys: published } = await this.getJson(url);
    if (!Array.isArray(published)) throw new Error("it publishes no keys");
    const keys = published.slice(0, MAX_KEYS).filter(isPublicKey);
    const find = createLocalJWKSet({ keys } satisfies JSONWebKeySet);
    return {
      ids: new Set(keys.map(({ kid }) => kid)),
      texts: new Set(keys.map((key) => JSON.stringify(key))),
      find,
      at,
    };
  }

  /** Fetches a document of the issuer, through a proxy if one is configured. Follows no redirects. */
  private async getJson(url: URL): Promise<Readonly<Record<string, unknown>>> {
    const { ca } = this.settings;
    const tls = { rejectUnauthorized: true, ...(ca !== undefined && { ca }) };
    const request = { method: "GET", url, headers: {}, timeoutMs: TIMEOUT_MS, tls, clock: this.clock } as const;
    const { status, json } = await sendSmallRequest(request);
    if (status !== 200) throw new Error(`${url.origin} answered with ${status}`);
    return json;
  }
}

/** A token without a key id may fit several keys. */
async function isSignedByAny(token: string, keys: AsyncIterable<CryptoKey>): Promise<boolean> {
  for await (const key of keys) {
    const isSigned = await compactVerify(token, key, { algorithms: ALGORITHMS }).then(
      () => true,
      () => false,
    );
    if (isSigned) return true;
  }
  return false;
}

/** A key that the issuer should have kept secret may be known to others. */
function isPublicKey(key: unknown): key is JWK {
  if (typeof key !== "object" || key === null) return false;
  const { kty, d, k } = key as ProtectedHeaderParameters & JWK;
  return typeof kty === "string" && kty !== "oct" && d === undefined && k === undefined;
}
