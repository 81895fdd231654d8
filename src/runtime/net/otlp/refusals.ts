import { ERROR_CODES, isRefusal, Refusal, type RefusalCategory } from "#contract/errors";
import { describeConnectionError } from "../connection-error.js";
import { GRPC_STATUS, grpcStatusName, RETRYABLE_GRPC_STATUSES } from "./grpc-status.js";
import type { RpcStatus } from "./rpc-status.js";

/**
 * The refusal behind an HTTP answer that is no success. 429, 5xx and 408 can be tried again, and with Retry-After not
 * before that; everything else (redirects too: OTLP clients do not follow them) stays refused however often it is sent.
 */
export function refusalOfHttp(status: number, detail: string, retryAfterMs: number | undefined): Refusal {
  const message = detail === "" ? `HTTP ${status}` : `HTTP ${status}: ${detail}`;
  const options = { status: `HTTP ${status}` };
  if (status === 429 || status === 408 || status >= 500) {
    if (retryAfterMs === undefined) return new Refusal("transient", message, options);
    return new Refusal("throttled", message, { ...options, retryAfterMs });
  }
  if (status === 413)
    return new Refusal("permanent", message, { ...options, code: ERROR_CODES.SLUICE_TOO_LARGE, category: "schema" });
  return new Refusal("permanent", message, { ...options, category: categoryOfHttp(status) });
}

/** Codes with which a server refuses the data of a request; a handler that throws answers UNKNOWN or INTERNAL. */
const DATA_STATUSES: ReadonlySet<number> = new Set([
  GRPC_STATUS.INVALID_ARGUMENT,
  GRPC_STATUS.FAILED_PRECONDITION,
  GRPC_STATUS.UNKNOWN,
  GRPC_STATUS.INTERNAL,
]);

/** The refusal behind a gRPC status that is not OK, by OTLP's table. */
export function refusalOfGrpc({ code, message: detail, retryAfterMs }: RpcStatus): Refusal {
  const name = grpcStatusName(code);
  const message = detail === "" ? name : `${name}: ${detail}`;
  const canRetry =
    RETRYABLE_GRPC_STATUSES.has(code) || (code === GRPC_STATUS.RESOURCE_EXHAUSTED && retryAfterMs !== undefined);
  if (canRetry && retryAfterMs !== undefined) {
    return new Refusal("throttled", message, { status: name, retryAfterMs });
  }
  if (canRetry) return new Refusal("transient", message, { status: name });
  if (code === GRPC_STATUS.RESOURCE_EXHAUSTED && /larger than max/i.test(detail)) {
    return new Refusal("permanent", message, { status: name, code: ERROR_CODES.SLUICE_TOO_LARGE, category: "schema" });
  }
  const category = DATA_STATUSES.has(code) ? "schema" : "integration";
  return new Refusal("permanent", message, { status: name, category });
}

/** Whatever went wrong on the way: refused, reset, no such host, timed out, bad certificate. Always worth a retry. */
export function refusalOfConnection(peer: string, error: unknown): Refusal {
  const { code, message } = describeConnectionError(error);
  const blame = isProgrammingError(error) ? "entry" : "backend";
  return new Refusal("transient", `${peer}: ${message}`, { ...(code && { status: code }), blame, cause: error });
}

/** Thrown before anything was sent, such as for a header that cannot be written: another entry may pass. */
function isProgrammingError(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

/**
 * The answer says success, but not all of it could be read: records may have been rejected in what is missing. So it is sent
 * again, at the price of arriving twice.
 */
export function refusalOfUnreadable(peer: string, why: string): Refusal {
  const message = `${peer}: answered with success, but whether it took all records is not known: ${why}`;
  return new Refusal("transient", message, { code: ERROR_CODES.SLUICE_UNREADABLE_ANSWER });
}

/** The sender gave up waiting. Keeps the refusal that the signal was aborted with, if it was one. */
export function refusalOfAbort(peer: string, abort: AbortSignal): Refusal {
  const reason: unknown = abort.reason;
  if (isRefusal(reason)) return reason;
  const hasMessage = reason instanceof Error && reason.name !== "AbortError";
  return new Refusal("transient", `${peer}: ${hasMessage ? reason.message : "given up before an answer came"}`, {
    code: ERROR_CODES.SLUICE_ABORTED,
    cause: reason,
  });
}

function categoryOfHttp(status: number): RefusalCategory {
  return status === 400 || status === 422 ? "schema" : "integration";
}

/** An error answer in both of OTLP's transports. */
export interface ErrorAnswer extends RpcStatus {
  readonly httpStatus: number;
}

const DEFAULT_RETRY_MS = 1000;

/**
 * What a client is told of a refusal. Retryable ones always say when to come back. Over gRPC both are UNAVAILABLE with
 * RetryInfo, the one code that every client retries; OTLP lets it retry RESOURCE_EXHAUSTED too, but not all do.
 */
export function answerOfRefusal(refusal: Refusal): ErrorAnswer {
  const { kind, message } = refusal;
  if (kind === "permanent") return { httpStatus: 400, code: GRPC_STATUS.INVALID_ARGUMENT, message };
  const retryAfterMs = refusal.retryAfterMs ?? DEFAULT_RETRY_MS;
  return { httpStatus: kind === "throttled" ? 429 : 503, code: GRPC_STATUS.UNAVAILABLE, message, retryAfterMs };
}

/** A Retry-After header: whole seconds, at least one. */
export function retryAfterSeconds(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)));
}

/** Milliseconds that a Retry-After header asks for: seconds or an HTTP date. Undefined when it is neither. */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(text)) return Number(text) * 1000;
  const date = /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
