import { isRefusal, Refusal, type RefusalCategory } from "../contract/refusal.js";
import { GRPC, grpcStatusName, RETRYABLE_GRPC } from "./grpc-status.js";
import type { RpcStatus } from "./status.js";

/** Code of a refusal that a smaller batch might not meet. */
export const TOO_LARGE = "SLUICE_TOO_LARGE";

/**
 * The refusal behind an HTTP answer that is no success. 429, 5xx and 408 can be tried again, and with Retry-After not
 * before that; everything else (redirects too: OTLP clients do not follow them) stays refused however often it is sent.
 */
export function refusalOfHttp(status: number, words: string, retryAfterMs: number | undefined): Refusal {
  const message = words === "" ? `HTTP ${status}` : `HTTP ${status}: ${words}`;
  const named = { status: `HTTP ${status}` };
  if (status === 429 || status === 408 || status >= 500) {
    if (retryAfterMs === undefined) return new Refusal("transient", message, named);
    return new Refusal("throttled", message, { ...named, retryAfterMs });
  }
  if (status === 413) return new Refusal("permanent", message, { ...named, code: TOO_LARGE, category: "schema" });
  return new Refusal("permanent", message, { ...named, category: categoryOfHttp(status) });
}

/** The refusal behind a gRPC status that is not OK, by OTLP's table. */
export function refusalOfGrpc({ code, message: words, retryAfterMs }: RpcStatus): Refusal {
  const name = grpcStatusName(code);
  const message = words === "" ? name : `${name}: ${words}`;
  const canRetry = RETRYABLE_GRPC.has(code) || (code === GRPC.RESOURCE_EXHAUSTED && retryAfterMs !== undefined);
  if (canRetry && retryAfterMs !== undefined) {
    return new Refusal("throttled", message, { status: name, retryAfterMs });
  }
  if (canRetry) return new Refusal("transient", message, { status: name });
  if (code === GRPC.RESOURCE_EXHAUSTED && /larger than max/i.test(words)) {
    return new Refusal("permanent", message, { status: name, code: TOO_LARGE, category: "schema" });
  }
  const category = code === GRPC.INVALID_ARGUMENT ? "schema" : "integration";
  return new Refusal("permanent", message, { status: name, category });
}

/** Whatever went wrong on the way: refused, reset, no such host, timed out, bad certificate. Always worth a retry. */
export function refusalOfConnection(peer: string, error: unknown): Refusal {
  const { code, message } = describe(error);
  return new Refusal("transient", `${peer}: ${message}`, { ...(code && { status: code }), cause: error });
}

/** The sender gave up waiting. Keeps the refusal that the signal was aborted with, if it was one. */
export function refusalOfAbort(peer: string, abort: AbortSignal): Refusal {
  const reason: unknown = abort.reason;
  if (isRefusal(reason)) return reason;
  const named = reason instanceof Error && reason.name !== "AbortError";
  return new Refusal("transient", `${peer}: ${named ? reason.message : "given up before an answer came"}`, {
    code: "SLUICE_ABORTED",
    cause: reason,
  });
}

function categoryOfHttp(status: number): RefusalCategory {
  return status === 400 || status === 422 ? "schema" : "integration";
}

function describe(error: unknown): { code: string | undefined; message: string } {
  if (error instanceof AggregateError && error.errors.length > 0) return describe(error.errors[0]);
  if (!(error instanceof Error)) return { code: undefined, message: String(error) };
  const code = (error as { code?: unknown }).code;
  if (code === "ERR_HTTP2_STREAM_CANCEL" && error.cause instanceof Error) return describe(error.cause);
  return { code: typeof code === "string" ? code : undefined, message: error.message || String(code ?? error.name) };
}
