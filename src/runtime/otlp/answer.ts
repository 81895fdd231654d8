import type { Refusal } from "../contract/refusal.js";
import { GRPC_STATUS } from "./grpc-status.js";
import type { RpcStatus } from "./status.js";

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
