import { type Clock, type Logger, limitedLog } from "#contract";
import { Refusal, toRefusal } from "#contract/errors";
import { backoff, type Delays } from "#resilience";

/** Fetched credentials. Without `lifetimeMs` they are valid until they are refused. */
export interface FetchedCredentials<T extends object> {
  readonly value: T;
  readonly lifetimeMs?: number;
}

interface RenewedCredentialsSettings<T extends object> {
  /** Throws a `Refusal` that tells whether a retry is useful. */
  readonly fetch: () => Promise<FetchedCredentials<T>>;
  /** Credentials are renewed this long before they end, or halfway through their life, whichever is later. */
  readonly bufferMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

interface FailedFetch {
  readonly refusal: Refusal;
  readonly retryAt: number;
}

/** Credentials that end within this time are not used, because they could end on the way. */
const MARGIN_MS = 2000;
const MIN_BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 30_000;
/**
 * Credentials fetched this recently are not fetched again when they are refused, because their age is not the reason.
 */
const MIN_AGE_MS = 10_000;

/**
 * Credentials with an end. They are fetched on first use, and again in the background before they end, while everyone
 * still gets the valid ones. There is one fetch at a time for all waiting callers. After a failed fetch there is a
 * pause, during which callers without valid credentials are refused with the reason of that failure.
 */
export class RenewedCredentials<T extends object> {
  private readonly settings: RenewedCredentialsSettings<T>;
  private readonly logFailure: (refusal: Refusal) => void;
  private readonly delays: Delays;
  private current:
    | { readonly value: T; readonly since: number; readonly renewAt: number; readonly endsAt: number }
    | undefined;
  private fetching: Promise<T> | undefined;
  private failures = 0;
  private lastFailure: FailedFetch | undefined;

  constructor(settings: RenewedCredentialsSettings<T>) {
    this.settings = settings;
    this.delays = backoff({ first: MIN_BACKOFF_MS, max: MAX_BACKOFF_MS }, settings);
    this.logFailure = limitedLog(settings.clock, ({ message }, suppressed) =>
      settings.logger.warn({ reason: message, suppressed }, "new credentials cannot be fetched"),
    );
  }

  /** Returns valid credentials, synchronously if there are any. Throws, or rejects with, a `Refusal`. */
  get(): T | Promise<T> {
    const { current } = this;
    const now = this.settings.clock.monotonic();
    if (current === undefined || now >= current.endsAt) return this.fetch(now);
    if (now >= current.renewAt && !this.isWaiting(now)) this.fetch(now).catch(() => {}); // The failure was logged, and the present ones are still valid.
    return current.value;
  }

  /** Call this when credentials were refused. They are fetched again, unless others have replaced them already. */
  forget(value: T): void {
    if (this.current?.value !== value) return;
    if (this.settings.clock.monotonic() - this.current.since >= MIN_AGE_MS) this.current = undefined;
  }

  private isWaiting(now: number): boolean {
    return this.lastFailure !== undefined && now < this.lastFailure.retryAt;
  }

  private fetch(now: number): Promise<T> {
    if (this.fetching !== undefined) return this.fetching;
    if (this.isWaiting(now)) return Promise.reject(untilRetry(this.lastFailure!, now));
    this.fetching = this.settings
      .fetch()
      .then(
        (fetched) => this.onFetched(fetched),
        (error: unknown) => this.onFailed(toRefusal(error)),
      )
      .finally(() => {
        this.fetching = undefined;
      });
    return this.fetching;
  }

  private onFetched({ value, lifetimeMs = Number.POSITIVE_INFINITY }: FetchedCredentials<T>): T {
    const since = this.settings.clock.monotonic();
    const bufferMs = Math.min(this.settings.bufferMs, lifetimeMs / 2);
    const marginMs = Math.min(MARGIN_MS, lifetimeMs / 2);
    const renewAt = since + lifetimeMs - bufferMs;
    this.current = { value, since, renewAt, endsAt: since + lifetimeMs - marginMs };
    if (this.failures > 0)
      this.settings.logger.info({ failures: this.failures }, "new credentials could be fetched again");
    this.failures = 0;
    this.lastFailure = undefined;
    return value;
  }

  private onFailed(refusal: Refusal): never {
    this.failures += 1;
    const waitMs = Math.max(this.delays(this.failures), Math.min(refusal.retryAfterMs ?? 0, MAX_BACKOFF_MS));
    this.lastFailure = { refusal, retryAt: this.settings.clock.monotonic() + waitMs };
    this.logFailure(refusal);
    throw refusal;
  }
}

/** A retry before the next fetch would fail in the same way, so the sender waits for that fetch. */
function untilRetry({ refusal, retryAt }: FailedFetch, now: number): Refusal {
  if (refusal.kind === "permanent") return refusal;
  return new Refusal("throttled", refusal.message, { blame: "backend", retryAfterMs: retryAt - now, cause: refusal });
}
