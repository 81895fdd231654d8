import { blameOf } from "#contract";
import type { Refusal, RefusalCategory, RefusalKind } from "#contract/errors";
import { errorClass, toRefusal } from "#contract/errors";
import type { AttemptError } from "#contract/operations";
import { maskText } from "#text";
import { MAX_ERROR_MESSAGE } from "../entry/queue-errors.js";

interface ClassifyRules {
  readonly retry_on: readonly string[];
  readonly permanent_on: readonly string[];
  /**
   * Rules that override the table of failures. If rules of both lists match, the backend is blamed, because then
   * nothing is lost.
   */
  readonly blame_backend_on?: readonly string[];
  readonly blame_entry_on?: readonly string[];
  /** The category of permanent errors, by rules of the same form. */
  readonly categories?: Readonly<Record<RefusalCategory, readonly string[]>>;
  /** Whether errors keep their stack. */
  readonly keepStack?: boolean;
}

/**
 * Turns the error of an attempt into the form that is kept with the entry. Without `blame`, the error is permanent or a
 * timeout.
 */
export type Classify = (error: unknown) => AttemptError;

interface HoldRules extends Pick<ClassifyRules, "permanent_on"> {
  readonly hold_on: readonly string[];
}

/**
 * Names errors and decides their kind. The exporter's own classification holds (anything unknown is transient), unless
 * a rule of the config matches. A rule is a status ("HTTP 409", "409", "4xx", "UNAVAILABLE") or a code ("ECONNRESET"),
 * in upper or lower case. If rules of both lists match, retry_on wins, because a retry loses nothing.
 */
export function createClassifier(rules: ClassifyRules): Classify {
  const retry = rules.retry_on.map(ruleMatcher);
  const permanent = rules.permanent_on.map(ruleMatcher);
  const backend = (rules.blame_backend_on ?? []).map(ruleMatcher);
  const entry = (rules.blame_entry_on ?? []).map(ruleMatcher);
  const categories = Object.entries(rules.categories ?? {}) as [RefusalCategory, readonly string[]][];
  const categoryRules = categories.map(([category, texts]) => ({ category, matchers: texts.map(ruleMatcher) }));
  const toAttemptError = rules.keepStack === true ? describeWithStack : describe;
  return (error) => {
    const refusal = toRefusal(error);
    const name = errorClass(refusal);
    const matches = (match: RuleMatcher) => match(name, refusal);
    const kind = kindOf(refusal.kind, retry.some(matches), permanent.some(matches));
    const blame = backend.some(matches) ? "backend" : entry.some(matches) ? "entry" : blameOf(refusal);
    const attemptError = withBlame(toAttemptError(refusal, name, kind), blame);
    const rule = kind === "permanent" && categoryRules.find(({ matchers }) => matchers.some(matches));
    return rule ? { ...attemptError, category: rule.category } : attemptError;
  };
}

function withBlame(error: AttemptError, blame: ReturnType<typeof blameOf>): AttemptError {
  return error.kind === "permanent" || blame === "timeout" ? error : { ...error, blame };
}

/**
 * Returns a predicate for errors of a backend that refuses everything, for example because a token has expired. The
 * data is not to blame then. Errors named in `permanent_on` are permanent anyway.
 */
export function createHoldRule({ hold_on, permanent_on }: HoldRules): (error: AttemptError) => boolean {
  const hold = hold_on.map(ruleMatcher);
  const permanent = permanent_on.map(ruleMatcher);
  return (error) => {
    const matches = (match: RuleMatcher) => match(error.class, error);
    return error.kind === "permanent" && hold.some(matches) && !permanent.some(matches);
  };
}

function kindOf(kind: RefusalKind, isRetried: boolean, isPermanent: boolean): RefusalKind {
  if (kind === "permanent") return isRetried ? "transient" : "permanent";
  return isPermanent && !isRetried ? "permanent" : kind;
}

/** The stack of the original error says more than the stack of the refusal that wraps it. */
function describeWithStack(refusal: Refusal, name: string, kind: RefusalKind): AttemptError {
  const { cause } = refusal;
  const stack = (cause instanceof Error ? cause.stack : undefined) ?? refusal.stack;
  return { ...describe(refusal, name, kind), ...(stack !== undefined && { stack: maskedText(stack, MAX_STACK) }) };
}

/** The maximum number of characters of a stack kept with an entry. */
const MAX_STACK = 4000;

function describe(refusal: Refusal, name: string, kind: RefusalKind): AttemptError {
  const { code, status, retryAfterMs } = refusal;
  const category = refusal.category ?? (kind === "permanent" && refusal.kind !== kind ? "integration" : undefined);
  return {
    kind,
    class: maskText(name),
    message: maskedText(refusal.message, MAX_ERROR_MESSAGE),
    code,
    ...(status !== undefined && { status }),
    ...(kind === "permanent" && category !== undefined && { category }),
    ...(Number.isFinite(retryAfterMs) && { retryAfterMs: retryAfterMs! }),
  };
}

/** Masks more text than is kept, because a credential cut off at the end could not be recognised. */
function maskedText(text: string, length: number): string {
  return maskText(text.slice(0, length + MAX_SECRET)).slice(0, length);
}

/** The maximum number of characters of a credential, such as a long signed token. */
const MAX_SECRET = 4000;

type RuleMatcher = (name: string, refusal: Pick<Refusal, "code"> & { readonly status?: string | undefined }) => boolean;

function ruleMatcher(rule: string): RuleMatcher {
  const wanted = rule.trim().toUpperCase();
  const range = /^(?:HTTP )?([1-5])XX$/.exec(wanted)?.[1];
  if (range !== undefined) return (_name, { status }) => status?.startsWith(`HTTP ${range}`) ?? false;
  return (name, { code, status }) =>
    [name, code, status, status?.replace(/^HTTP /, "")].some((word) => word?.toUpperCase() === wanted);
}
