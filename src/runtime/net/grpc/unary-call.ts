import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { singleFrame } from "../otlp/grpc-frame.js";
import { decodeGrpcMessage, GRPC_STATUS, grpcCodeOfHttp } from "../otlp/grpc-status.js";
import { parseRetryAfter } from "../otlp/refusals.js";
import { decodeStatus, type RpcStatus } from "../otlp/rpc-status.js";
import { MAX_ANSWER_BYTES } from "../otlp/sending.js";

/** Result of a call: its status, and, if that is OK, the response's bytes or what is wrong with them. */
export interface UnaryCallResult {
  readonly status: RpcStatus;
  readonly response: Buffer | string;
}

/** The call ended without a status, before or after the response headers. */
export class BrokenCallError extends Error {
  override readonly name = "CallBroken";
  readonly answerBegun: boolean;

  constructor(cause: Error, answerBegun: boolean) {
    super(cause.message, { cause });
    this.answerBegun = answerBegun;
  }
}

/**
 * Makes one unary call. Rejects with a `BrokenCallError` when the connection or stream breaks, and at once when `abort`
 * fires, which also cancels the stream. Leaves no listener and no stream behind.
 */
export function unaryCall(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  chunks: readonly Uint8Array[],
  abort: AbortSignal,
): Promise<UnaryCallResult> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers);
    const response = new ResponseCollector(stream);
    let broken: Error | undefined;
    const onAbort = () => {
      stream.close(HTTP2_CANCEL);
      reject(new BrokenCallError(new Error("aborted"), response.begun));
    };
    abort.addEventListener("abort", onAbort, { once: true });
    stream.on("error", (error) => {
      broken = error;
    });
    stream.on("close", () => {
      abort.removeEventListener("abort", onAbort);
      const result = response.result();
      if (result) resolve(result);
      else
        reject(new BrokenCallError(broken ?? new Error(`stream closed with code ${stream.rstCode}`), response.begun));
    });
    stream.cork();
    for (const piece of chunks) stream.write(piece);
    stream.end();
  });
}

/** Collects the response. */
class ResponseCollector {
  private headers: IncomingHttpHeaders | undefined;
  private trailers: IncomingHttpHeaders | undefined;
  private chunks: Buffer[] = [];
  private size = 0;

  constructor(stream: ClientHttp2Stream) {
    stream.on("response", (headers) => {
      this.headers = headers;
    });
    stream.on("trailers", (trailers) => {
      this.trailers = trailers;
    });
    stream.on("data", (chunk: Buffer) => {
      this.size += chunk.length;
      // beyond the limit it is read only for the trailing status
      if (this.size <= MAX_ANSWER_BYTES) this.chunks.push(chunk);
    });
  }

  get begun(): boolean {
    return this.headers !== undefined;
  }

  /** Undefined when no status was received. */
  result(): UnaryCallResult | undefined {
    if (this.headers === undefined) return undefined;
    const fields = this.headers["grpc-status"] === undefined ? this.trailers : this.headers;
    const code = statusCode(fields?.["grpc-status"]);
    if (fields && Number.isInteger(code)) return { status: statusOf(code, fields), response: this.message() };
    const httpStatus = Number(this.headers[":status"]);
    return httpStatus === 200 ? undefined : { status: statusOfHttp(httpStatus, this.headers), response: EMPTY };
  }

  /** The message of the response frame, or what is wrong with it. An OK without a frame counts as an empty message. */
  private message(): Buffer | string {
    if (this.size > MAX_ANSWER_BYTES) return `is longer than ${MAX_ANSWER_BYTES} bytes`;
    const frame = singleFrame(this.chunks, this.size);
    if (frame === "none") return EMPTY;
    if (typeof frame === "string") return FRAME_FAULTS[frame];
    return frame.compressed ? "is compressed, which it was asked not to be" : frame.message;
  }
}

const EMPTY = Buffer.alloc(0);

const FRAME_FAULTS = {
  incomplete: "was cut off",
  several: "is followed by more than one answer",
  flag: "is in no known form",
} as const;

/** Code for closing a stream whose response is no longer wanted. */
const HTTP2_CANCEL = 8;

/** NaN for anything but a status: an empty string must not become 0, which means success. */
function statusCode(text: unknown): number {
  return /^-?\d+$/.test(String(text)) ? Number(text) : Number.NaN;
}

function statusOf(code: number, fields: IncomingHttpHeaders): RpcStatus {
  const message = decodeGrpcMessage(String(fields["grpc-message"] ?? ""));
  if (code === GRPC_STATUS.OK) return { code, message };
  const details = fields["grpc-status-details-bin"];
  const retryAfterMs = details && decodeStatus(Buffer.from(String(details), "base64"), "proto").retryAfterMs;
  return retryAfterMs === undefined || retryAfterMs === "" ? { code, message } : { code, message, retryAfterMs };
}

function statusOfHttp(httpStatus: number, headers: IncomingHttpHeaders): RpcStatus {
  const retryAfterMs = parseRetryAfter(headers["retry-after"], Date.now());
  return { code: grpcCodeOfHttp(httpStatus), message: `HTTP ${httpStatus} instead of a gRPC answer`, retryAfterMs };
}
