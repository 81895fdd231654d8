import { isMalformed } from "#otlp/signals";
import type { RefusalKind } from "./error-codes.js";
import { ERROR_CODES, type ErrorCode } from "./error-codes.js";
import { errorMessage } from "./error-message.js";

/** The kind of problem with permanently refused data. */
export type RefusalCategory = "schema" | "business" | "integration";

/** Further properties of a refusal. */
export interface RefusalOptions {
  readonly code?: string;
  readonly retryAfterMs?: number;
  readonly category?: RefusalCategory;
  /** The backend's own name for the failure, such as "HTTP 503" or "UNAVAILABLE". */
  readonly status?: string;
  readonly cause?: unknown;
  // The cause of the failure, if status and code do not show it. A failure of the backend does not count as an attempt.
  readonly blame?: "backend" | "entry";
  /**
   * Whether the refusal was not intended, because a component threw or did not answer. It is reported with the
   * component's name.
   */
  readonly unexpected?: boolean;
  /** @internal The component that failed on this very batch. Not set if the batch was refused together with others. */
  readonly failedIn?: string;
  /** @internal The exporter that refused the batch, if it has no queue. */
  readonly exporter?: string | undefined;
  /** @internal See `Undelivered`. */
  readonly undelivered?: Undelivered | undefined;
}

/**
 * @internal Set by an exporter that sends to several servers if some did not take their share. What the others took
 * must not be sent again, and one server being down says nothing about the rest.
 */
export interface Undelivered {
  /** One number per record of the request, in order: 0 if it was delivered, otherwise the number of its share. */
  readonly marks: Uint16Array;
  /**
   * Whether the servers that did not take their share are known to be down. Then the data is not to blame, however
   * often it is tried.
   */
  readonly isOutage: boolean;
}

const BRAND = Symbol.for("sluice.refusal");

/** Codes of refusals without their own code. They only repeat the kind. */
const GENERIC_CODES = {
  transient: ERROR_CODES.SLUICE_TRANSIENT,
  throttled: ERROR_CODES.SLUICE_THROTTLED,
  permanent: ERROR_CODES.SLUICE_PERMANENT,
} as const satisfies Readonly<Record<RefusalKind, ErrorCode>>;

/** Whether a code says no more than the kind of its refusal. */
export function isGenericCode(code: string): boolean {
  return Object.values<string>(GENERIC_CODES).includes(code);
}

/** How long a sender is asked to wait if the agent is out of capacity or stopping. */
export const BUSY_RETRY_AFTER_MS = 1000;

/** The refusal for data that comes while the agent stops or before it runs. */
export function shutdownRefusal(): Refusal {
  const code = ERROR_CODES.SLUICE_SHUTTING_DOWN;
  return new Refusal("transient", "shutting down", { code, retryAfterMs: BUSY_RETRY_AFTER_MS });
}

/**
 * The error that travels through a pipeline: why data was not taken, and whether its sender should retry. Any other
 * thrown value counts as transient. Recognise it with `isRefusal`, which also works for a second copy of the package.
 *
 * @example
 * throw new Refusal("throttled", "the backend asks for a pause", { status: "HTTP 429", retryAfterMs: 5000 });
 */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly [BRAND] = true;
  readonly kind: RefusalKind;
  readonly code: string;
  readonly retryAfterMs: number | undefined;
  readonly category: RefusalCategory | undefined;
  readonly status: string | undefined;
  readonly blame: "backend" | "entry" | undefined;
  readonly unexpected: boolean;
  /** @internal */
  readonly failedIn: string | undefined;
  /** @internal */
  readonly exporter: string | undefined;
  /** @internal */
  readonly undelivered: Undelivered | undefined;

  constructor(kind: RefusalKind, message: string, options: RefusalOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.code = optionalText(options.code) ?? GENERIC_CODES[kind];
    this.retryAfterMs = validDelay(options.retryAfterMs);
    this.category = options.category;
    this.status = optionalText(options.status);
    this.blame = BLAMES.has(options.blame) ? options.blame : undefined;
    this.unexpected = options.unexpected ?? false;
    this.failedIn = optionalText(options.failedIn);
    this.exporter = optionalText(options.exporter);
    this.undelivered = options.undelivered;
  }
}

/**
 * Whether a value is a `Refusal`. Checked by its brand, so that refusals of another copy of the package are recognised
 * too.
 */
export function isRefusal(error: unknown): error is Refusal {
  return typeof error === "object" && error !== null && (error as Record<symbol, unknown>)[BRAND] === true;
}

/** Returns the same refusal, without the mark that a component failed. */
export function expectedRefusal(refusal: Refusal): Refusal {
  return refusal.unexpected ? copyRefusal(refusal, { unexpected: false }) : refusal;
}

/** Returns the refusal with these changes. */
export function copyRefusal(
  refusal: Refusal,
  { kind = refusal.kind, message = refusal.message, ...changes }: RefusalChanges,
): Refusal {
  return new Refusal(kind, message, { ...(refusal as RefusalOptions), cause: refusal.cause, ...changes });
}

interface RefusalChanges extends RefusalOptions {
  readonly kind?: RefusalKind;
  readonly message?: string;
}

/**
 * Turns any thrown value into a refusal: malformed data is permanent, everything unknown is transient. Never throws.
 */
export function toRefusal(error: unknown): Refusal {
  return asKnownRefusal(error) ?? new Refusal("transient", errorMessage(error), { cause: error, unexpected: true });
}

/**
 * Returns a valid refusal that was thrown as such; undefined for everything else, including values that throw when
 * inspected.
 */
function asKnownRefusal(error: unknown): Refusal | undefined {
  try {
    if (isRefusal(error)) {
      if (!KINDS.has(error.kind) || typeof error.message !== "string") return undefined;
      const isOwn: boolean = error instanceof Refusal;
      return isOwn ? error : new Refusal(error.kind, error.message, error as RefusalOptions);
    }
    if (!isMalformed(error)) return undefined;
    return new Refusal("permanent", errorMessage(error), { code: error.code, category: "schema", cause: error });
  } catch {
    return undefined;
  }
}

/**
 * A stable name for the kind of failure: the backend's status, a code, or the name of the error. A refusal that says
 * nothing more than its kind has the code of its kind.
 */
export function errorClass({ status, code, cause }: Refusal): string {
  if (status !== undefined) return status;
  if (!isGenericCode(code) || !(cause instanceof Error)) return code;
  // `fetch` has the code of the socket one level below its own error.
  const codes = [cause, cause.cause].map((error) => (error as { code?: unknown } | undefined)?.code);
  return codes.find((each) => typeof each === "string") ?? cause.name;
}

const BLAMES: ReadonlySet<unknown> = new Set(["backend", "entry"]);
const KINDS: ReadonlySet<unknown> = new Set(["transient", "throttled", "permanent"]);

/**
 * Chooses the refusal to answer with if a delivery has several. A retryable one wins, because a retry loses nothing. A
 * dead letter loses, because its sender need not keep the data.
 */
export function chooseRefusal(a: Refusal, b: Refusal): Refusal {
  if (a.kind === "permanent") return b.code === ERROR_CODES.SLUICE_DEAD_LETTERED ? a : b;
  if (b.kind === "permanent") return a;
  return (b.retryAfterMs ?? 0) > (a.retryAfterMs ?? 0) ? b : a;
}

/** A plugin may pass a number, such as an HTTP status. */
function optionalText(given: unknown): string | undefined {
  return given === undefined || given === null ? undefined : errorMessage(given);
}

/** Only a finite, non-negative time can be sent to a sender. */
function validDelay(ms: unknown): number | undefined {
  return typeof ms === "number" && Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}
