import { hash, randomFillSync } from "node:crypto";
import type { Clock, ComponentContext, Counter } from "#contract";
import { AuthError, type AuthenticatedClient, isAuthError, limitedLog, type ServerAuthRequest } from "#contract";
import { FailureDelays } from "./failure-delays.js";

/** The client that credentials belong to. `forMs` is set if the verification expires by itself. */
export interface VerifiedCredentials {
  readonly client: AuthenticatedClient;
  readonly forMs?: number;
}

interface Verified {
  readonly client: AuthenticatedClient;
  /** Monotonic time. */
  readonly until: number;
}

/** The last credentials of a connection: its next request usually has the same. */
interface LastShown {
  readonly credentials: string;
  readonly verified: Verified;
}

const MAX_VERIFIED = 10_000;
/** How long verified credentials are accepted without another check. A revoked password works at most this long. */
const VERIFIED_MS = 300_000;
/** Longer credentials are rejected without being hashed. */
const MAX_CREDENTIALS_LENGTH = 16 * 1024;

const KEY_BYTES = 32;
/** Bytes of a UTF-16 code unit in UTF-8, at most. */
const MAX_BYTES_OF_CHARACTER = 3;

/**
 * Shared by all authenticators that check credentials. Verified clients are recognised at negligible cost. After
 * repeated failures from an address, further attempts from it are delayed. Failures are counted, and logged without the
 * credentials.
 *
 * - Credentials are stored as a hash keyed with a secret of this process; in plain form only together with the open
 *   connection that sent them.
 * - A recognised client is never delayed: it may share its address with an attacker.
 * - Identical credentials are verified once at a time, however many connections send them.
 */
export class CredentialGate {
  private readonly clock: Clock;
  private readonly failures: (reason: AuthFailureReason) => Counter;
  private readonly delays: FailureDelays;
  private readonly logFailure: (failure: { address: string | undefined; reason: string }) => void;
  /**
   * The key of the hashes, followed by space for the hashed credentials: hashing bytes takes half as long as hashing a
   * string.
   */
  private readonly keyed = Buffer.alloc(KEY_BYTES + MAX_CREDENTIALS_LENGTH * MAX_BYTES_OF_CHARACTER);
  private verified = new Map<string, Verified>();
  private lastShown = new WeakMap<object, LastShown>();
  private readonly pending = new Map<string, Promise<VerifiedCredentials>>();

  constructor({ id, clock, metrics, logger }: ComponentContext) {
    this.clock = clock;
    randomFillSync(this.keyed, 0, KEY_BYTES);
    this.delays = new FailureDelays(clock);
    this.failures = (reason) =>
      metrics.counter("sluice_auth_failures", { description: DESCRIPTION }, { authenticator: id, reason });
    this.logFailure = limitedLog(clock, (failure, suppressed) =>
      logger.warn({ ...failure, suppressed }, "a client was not authenticated"),
    );
  }

  /** Throws or rejects with an `AuthError`, as `verify` does. */
  authenticate(
    request: ServerAuthRequest,
    credentials: string,
    verify: (credentials: string) => VerifiedCredentials | Promise<VerifiedCredentials>,
  ): AuthenticatedClient | Promise<AuthenticatedClient> {
    const now = this.clock.monotonic();
    const last = this.lastShown.get(request.connection);
    if (last !== undefined && last.credentials === credentials && now < last.verified.until)
      return last.verified.client;
    if (credentials.length > MAX_CREDENTIALS_LENGTH) throw this.failed(request, "invalid", TOO_LONG);
    const hashed = this.hash(credentials);
    const known = this.verified.get(hashed);
    if (known !== undefined && now < known.until) return this.recognised(request, credentials, known);
    const waitMs = this.delays.waitMs(request.remoteAddress);
    if (waitMs > 0) throw this.failed(request, "held_back", heldBack(waitMs));
    return this.verify(request, credentials, hashed, verify);
  }

  /** For a request without credentials. It does not count as an attempt to guess. */
  missing(request: ServerAuthRequest, message: string): AuthError {
    return this.failed(request, "missing", new AuthError("unauthenticated", message));
  }

  /** For credentials that cannot be verified at all. */
  invalid(request: ServerAuthRequest, message: string): AuthError {
    this.delays.failed(request.remoteAddress);
    return this.failed(request, "invalid", new AuthError("unauthenticated", message));
  }

  /** Forgets all verified clients, because the accepted credentials have changed. */
  forget(): void {
    this.verified = new Map();
    this.lastShown = new WeakMap();
  }

  private verify(
    request: ServerAuthRequest,
    credentials: string,
    hashed: string,
    verify: (credentials: string) => VerifiedCredentials | Promise<VerifiedCredentials>,
  ): AuthenticatedClient | Promise<AuthenticatedClient> {
    const { verified } = this;
    // A verification that was under way during `forget` is not remembered.
    const accept = (found: VerifiedCredentials) =>
      verified === this.verified ? this.recognised(request, credentials, this.remember(hashed, found)) : found.client;
    const refuse = (error: unknown): never => {
      throw this.refused(request, error);
    };
    try {
      const found = this.pending.get(hashed) ?? verify(credentials);
      if (!(found instanceof Promise)) return accept(found);
      if (!this.pending.has(hashed)) {
        this.pending.set(hashed, found);
        const end = () => void this.pending.delete(hashed);
        found.then(end, end);
      }
      return found.then(accept, refuse);
    } catch (error) {
      return refuse(error);
    }
  }

  /** Clears its buffer, so that no credentials stay in memory. */
  private hash(credentials: string): string {
    const end = KEY_BYTES + this.keyed.write(credentials, KEY_BYTES, "utf8");
    const hashed = hash("sha256", this.keyed.subarray(0, end), "base64");
    this.keyed.fill(0, KEY_BYTES, end);
    return hashed;
  }

  private remember(hashed: string, { client, forMs = VERIFIED_MS }: VerifiedCredentials): Verified {
    const earlier = this.verified.get(hashed);
    const now = this.clock.monotonic();
    // Several requests may have waited for one verification: they get the same client object.
    if (earlier !== undefined && now < earlier.until) return earlier;
    const known = { client, until: now + Math.min(forMs, VERIFIED_MS) };
    this.verified.delete(hashed);
    this.verified.set(hashed, known);
    for (const [oldest, { until }] of this.verified) {
      if (this.verified.size <= MAX_VERIFIED && now < until) break;
      this.verified.delete(oldest);
    }
    return known;
  }

  private recognised(request: ServerAuthRequest, credentials: string, verified: Verified): AuthenticatedClient {
    this.lastShown.set(request.connection, { credentials, verified });
    return verified.client;
  }

  private refused(request: ServerAuthRequest, error: unknown): unknown {
    if (!isAuthError(error)) return error;
    if (error.kind === "unavailable") return this.failed(request, "unavailable", error);
    this.delays.failed(request.remoteAddress);
    return this.failed(request, "invalid", error);
  }

  private failed({ remoteAddress }: ServerAuthRequest, reason: AuthFailureReason, error: AuthError): AuthError {
    this.failures(reason).add(1);
    this.logFailure({ address: remoteAddress, reason: error.message });
    return error;
  }
}

type AuthFailureReason = "missing" | "invalid" | "held_back" | "unavailable";

const DESCRIPTION = "Requests whose client was not authenticated.";

const TOO_LONG = new AuthError("unauthenticated", "the credentials are too long");

function heldBack(retryAfterMs: number): AuthError {
  return new AuthError("unavailable", "too many failed attempts; try again later", { retryAfterMs });
}
