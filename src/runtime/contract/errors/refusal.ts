import { isMalformed } from "#otlp/signals";
import { ERROR_CODES, type ErrorCode } from "./error-codes.js";
import { errorMessage } from "./error-message.js";

/**
 * Why something was not taken, and what the one who offered it should do.
 *
 * - `transient`: try again later; nothing is wrong with the data.
 * - `throttled`: the same, but not before `retryAfterMs`.
 * - `permanent`: the same data will be refused again; never retry it unchanged.
 */
export type RefusalKind = "transient" | "throttled" | "permanent";

/** What is wrong with data that is refused for good. */
export type RefusalCategory = "schema" | "business" | "integration";

/** What else is known of a refusal. */
export interface RefusalOptions {
  readonly code?: string;
  readonly retryAfterMs?: number;
  readonly category?: RefusalCategory;
  /** The peer's own word for it, such as "HTTP 503" or "UNAVAILABLE". */
  readonly status?: string;
  readonly cause?: unknown;
  // Whose failure it is, where status and code do not tell: the backend's spends no attempt of what was sent.
  readonly blame?: "backend" | "entry";
  /** Nobody meant to refuse: a component threw, or did not answer. It is reported with the component's name. */
  readonly unexpected?: boolean;
  /** @internal The component that failed on this very batch. Nothing says so when a batch was refused with others. */
  readonly failedIn?: string;
  /** @internal See `Undelivered`. */
  readonly undelivered?: Undelivered | undefined;
}

/**
 * @internal What an exporter that sends to several servers tells when some of them did not take their share: what the others
 * took must not be sent again, and that one of several is down says nothing of the rest.
 */
export interface Undelivered {
  /** One for each record of the request, in order: 0, it was delivered; any other number, that of the share it belongs to. */
  readonly marks: Uint16Array;
  /** The servers that did not take theirs are known to be down: the data is not to blame, however often it is tried. */
  readonly isOutage: boolean;
}

const BRAND = Symbol.for("sluice.refusal");

/** The codes of refusals that were given none: they only repeat the kind. */
const GENERIC_CODES = {
  transient: ERROR_CODES.SLUICE_TRANSIENT,
  throttled: ERROR_CODES.SLUICE_THROTTLED,
  permanent: ERROR_CODES.SLUICE_PERMANENT,
} as const satisfies Readonly<Record<RefusalKind, ErrorCode>>;

/** Whether a code says no more than the kind of its refusal. */
export function isGenericCode(code: string): boolean {
  return Object.values<string>(GENERIC_CODES).includes(code);
}

/** How long a sender is asked to wait when the agent has no room at the moment, or is stopping. */
export const BUSY_RETRY_AFTER_MS = 1000;

/** The refusal of what comes while the agent stops, or before it runs. */
export function shutdownRefusal(): Refusal {
  const code = ERROR_CODES.SLUICE_SHUTTING_DOWN;
  return new Refusal("transient", "shutting down", { code, retryAfterMs: BUSY_RETRY_AFTER_MS });
}

/**
 * The one error that travels through a pipeline: why data was not taken, and whether its sender should try again.
 * Anything else that is thrown counts as transient. Recognise it with `isRefusal`, so that one of a second copy of the
 * package counts too.
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
    this.undelivered = options.undelivered;
  }
}

/** Whether it is a `Refusal`: told by its brand, so that one of another copy of the package counts too. */
export function isRefusal(error: unknown): error is Refusal {
  return typeof error === "object" && error !== null && (error as Record<symbol, unknown>)[BRAND] === true;
}

/** The same refusal for somebody whose mistake it was not. */
export function expectedRefusal(refusal: Refusal): Refusal {
  return refusal.unexpected ? copyRefusal(refusal, { unexpected: false }) : refusal;
}

/** The same refusal, but for what is given. */
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

/** Any thrown value as a refusal: malformed data is permanent, everything unknown is transient. Never throws. */
export function toRefusal(error: unknown): Refusal {
  return asKnownRefusal(error) ?? new Refusal("transient", errorMessage(error), { cause: error, unexpected: true });
}

/** A refusal that was thrown as such; undefined for all that only looks like one, or cannot even be looked at. */
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

const BLAMES: ReadonlySet<unknown> = new Set(["backend", "entry"]);
const KINDS: ReadonlySet<unknown> = new Set(["transient", "throttled", "permanent"]);

/** Of several refusals of one delivery the one to answer with: a retry loses nothing, so a retryable one wins. */
export function chooseRefusal(a: Refusal, b: Refusal): Refusal {
  if (a.kind === "permanent") return b;
  if (b.kind === "permanent") return a;
  return (b.retryAfterMs ?? 0) > (a.retryAfterMs ?? 0) ? b : a;
}

/** A plugin may give a number, such as the status of an HTTP answer. */
function optionalText(given: unknown): string | undefined {
  return given === undefined || given === null ? undefined : errorMessage(given);
}

/** A sender can only be told to wait for a finite time that is not negative. */
function validDelay(ms: unknown): number | undefined {
  return typeof ms === "number" && Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}
