import { ERROR_CODES, isRefusal, Refusal, type RefusalCategory } from "#contract/errors";
import { describeConnectionError } from "../connection-error.js";
import { GRPC_STATUS, grpcStatusName, RETRYABLE_GRPC_STATUSES } from "./grpc-status.js";
import type { RpcStatus } from "./rpc-status.js";

/**
 * The refusal for an HTTP error response. 429, 5xx and 408 are retryable, not before Retry-After if given. Everything
 * else is permanent, including redirects that were not followed.
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

/**
 * Codes by which a server refuses the data of a request. UNKNOWN and INTERNAL are not among them: a handler that throws
 * answers with those.
 */
const DATA_STATUSES: ReadonlySet<number> = new Set([
  GRPC_STATUS.INVALID_ARGUMENT,
  GRPC_STATUS.FAILED_PRECONDITION,
  GRPC_STATUS.UNKNOWN,
  GRPC_STATUS.INTERNAL,
]);

/** The refusal for a gRPC error status, by OTLP's table. */
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

/** Any connection error: refused, reset, unknown host, timeout, bad certificate. Always retryable. */
export function refusalOfConnection(peer: string, error: unknown): Refusal {
  const { code, message } = describeConnectionError(error);
  const blame = isProgrammingError(error) ? "entry" : "backend";
  return new Refusal("transient", `${peer}: ${message}`, { ...(code && { status: code }), blame, cause: error });
}

/** Errors thrown before anything was sent, such as for an invalid header: another entry may succeed. */
function isProgrammingError(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

/**
 * A success whose response could not be read completely: the missing part may have reported rejected records. It is
 * sent again, although it may then arrive twice.
 */
export function refusalOfUnreadable(peer: string, why: string): Refusal {
  const message = `${peer}: answered with success, but it is unknown whether it accepted all records: ${why}`;
  return new Refusal("transient", message, { code: ERROR_CODES.SLUICE_UNREADABLE_ANSWER });
}

/** The sender stopped waiting. Uses the abort reason if that is a refusal. */
export function refusalOfAbort(peer: string, abort: AbortSignal): Refusal {
  const reason: unknown = abort.reason;
  if (isRefusal(reason)) return reason;
  const hasMessage = reason instanceof Error && reason.name !== "AbortError";
  return new Refusal(
    "transient",
    `${peer}: ${hasMessage ? reason.message : "the sender stopped waiting before an answer came"}`,
    {
      code: ERROR_CODES.SLUICE_ABORTED,
      cause: reason,
    },
  );
}

function categoryOfHttp(status: number): RefusalCategory {
  return status === 400 || status === 422 ? "schema" : "integration";
}

/** An error response for both of OTLP's transports. */
export interface ErrorAnswer extends RpcStatus {
  readonly httpStatus: number;
}

const DEFAULT_RETRY_MS = 1000;

/**
 * The response to a client for a refusal. A client without a queue behind it gets the backend's status where clients
 * know what to do about it, as in the Collector.
 *
 * Retryable ones always say when to retry. Over gRPC they are UNAVAILABLE with RetryInfo, the one code that every client
 * retries; OTLP also allows retrying RESOURCE_EXHAUSTED, but not all clients do.
 */
export function answerOfRefusal(refusal: Refusal): ErrorAnswer {
  const { kind, message, status = "" } = refusal;
  if (kind === "permanent") return { ...(ANSWERS_BY_STATUS.get(status) ?? BAD_DATA), message };
  const retryAfterMs = refusal.retryAfterMs ?? DEFAULT_RETRY_MS;
  const isThrottled = status === "" ? kind === "throttled" : THROTTLING_STATUSES.has(status);
  return { httpStatus: isThrottled ? 429 : 503, code: GRPC_STATUS.UNAVAILABLE, message, retryAfterMs };
}

type AnswerStatus = Pick<ErrorAnswer, "httpStatus" | "code">;

const BAD_DATA: AnswerStatus = { httpStatus: 400, code: GRPC_STATUS.INVALID_ARGUMENT };
const UNAUTHENTICATED: AnswerStatus = { httpStatus: 401, code: GRPC_STATUS.UNAUTHENTICATED };
const FORBIDDEN: AnswerStatus = { httpStatus: 403, code: GRPC_STATUS.PERMISSION_DENIED };
const NOT_FOUND: AnswerStatus = { httpStatus: 404, code: GRPC_STATUS.UNIMPLEMENTED };

/** By a backend's status over HTTP or gRPC. */
const ANSWERS_BY_STATUS: ReadonlyMap<string, AnswerStatus> = new Map([
  ["HTTP 401", UNAUTHENTICATED],
  ["UNAUTHENTICATED", UNAUTHENTICATED],
  ["HTTP 403", FORBIDDEN],
  ["PERMISSION_DENIED", FORBIDDEN],
  ["HTTP 404", NOT_FOUND],
  ["UNIMPLEMENTED", NOT_FOUND],
]);

const THROTTLING_STATUSES: ReadonlySet<string> = new Set(["HTTP 429", "RESOURCE_EXHAUSTED"]);

/** Value of a Retry-After header: whole seconds, at least one. */
export function retryAfterSeconds(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)));
}

/** Parses a Retry-After header, seconds or an HTTP date, to milliseconds. Undefined when it is neither. */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(text)) return Number(text) * 1000;
  const date = /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
