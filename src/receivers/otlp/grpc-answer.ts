import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { encodeGrpcMessage, encodeStatus, GRPC_STATUS, grpcFrame, type RpcStatus } from "../../runtime/kit.js";

const ERROR_HEADERS: OutgoingHttpHeaders = { ":status": 200, "content-type": "application/grpc" };
const OK_HEADERS: OutgoingHttpHeaders = { ":status": 200, "content-type": "application/grpc" };
const OK_TRAILERS: OutgoingHttpHeaders = { "grpc-status": "0" };
const WITH_TRAILERS = { waitForTrailers: true };
const EMPTY_MESSAGE = grpcFrame(new Uint8Array(0));

/** Answers with an Export*ServiceResponse and status OK. */
export function answerOk(stream: ServerHttp2Stream, response: Buffer): void {
  if (stream.destroyed || stream.closed) return;
  stream.once("wantTrailers", sendOkTrailers);
  stream.respond(OK_HEADERS, WITH_TRAILERS);
  stream.end(response.length === 0 ? EMPTY_MESSAGE : grpcFrame(response));
}

function sendOkTrailers(this: ServerHttp2Stream): void {
  if (!this.destroyed) this.sendTrailers(OK_TRAILERS);
}

/**
 * Answers with a status alone. When the client is still sending, it is told to stop (RST_STREAM with NO_ERROR), which
 * leaves the connection and its other calls as they are.
 */
export function answerError(stream: ServerHttp2Stream, status: RpcStatus, more: OutgoingHttpHeaders = {}): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return;
  const headers: OutgoingHttpHeaders = {
    ...ERROR_HEADERS,
    ...more,
    "grpc-status": String(status.code),
    "grpc-message": encodeGrpcMessage(status.message),
  };
  if (status.retryAfterMs !== undefined) {
    headers["grpc-status-details-bin"] = encodeStatus(status, "proto").toString("base64").replace(/=+$/, "");
  }
  sendHeadersAndClose(stream, headers);
}

/** Answers a request that is no gRPC at all, in HTTP's own words. */
export function answerNotGrpc(stream: ServerHttp2Stream, httpStatus: number, message: string): void {
  if (stream.destroyed || stream.closed) return;
  const status = { code: GRPC_STATUS.UNKNOWN, message: encodeGrpcMessage(message) };
  sendHeadersAndClose(stream, {
    ":status": httpStatus,
    "grpc-status": String(status.code),
    "grpc-message": status.message,
  });
}

/** How a stream is closed that is not done with reading and has its answer. */
const NO_ERROR = 0;

function sendHeadersAndClose(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void {
  stream.respond(headers, { endStream: true });
  stream.resume();
  if (!stream.readableEnded) stream.close(NO_ERROR);
}
