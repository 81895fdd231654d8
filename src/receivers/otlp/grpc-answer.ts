import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { encodeGrpcMessage, encodeStatus, GRPC_STATUS, grpcFrame, type RpcStatus } from "#net/otlp";
import { withoutEnd } from "#text";
import type { Clock } from "../../plugin.js";

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
 * Answers with only a status. If the client keeps sending, it is told to stop (RST_STREAM with NO_ERROR), which does
 * not affect the connection's other calls.
 */
export function answerError(
  stream: ServerHttp2Stream,
  status: RpcStatus,
  clock: Clock,
  more: OutgoingHttpHeaders = {},
): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return;
  const headers: OutgoingHttpHeaders = {
    ...ERROR_HEADERS,
    ...more,
    "grpc-status": String(status.code),
    "grpc-message": encodeGrpcMessage(status.message),
  };
  if (status.retryAfterMs !== undefined) {
    headers["grpc-status-details-bin"] = withoutEnd(encodeStatus(status, "proto").toString("base64"), "=");
  }
  sendHeadersAndClose(stream, headers, clock);
}

/** Answers a request that is not gRPC with a plain HTTP status and text. */
export function answerNotGrpc(stream: ServerHttp2Stream, httpStatus: number, message: string, clock: Clock): void {
  if (stream.destroyed || stream.closed) return;
  const status = { code: GRPC_STATUS.UNKNOWN, message: encodeGrpcMessage(message) };
  const headers = { ":status": httpStatus, "grpc-status": String(status.code), "grpc-message": status.message };
  sendHeadersAndClose(stream, headers, clock);
}

/** The RST_STREAM code for a stream that was answered before it was read to its end. */
const NO_ERROR = 0;
/** How long a client may keep sending after its answer, and how many bytes of that are read. */
const LINGER_MS = 1000;
const MAX_REST_BYTES = 64 * 1024;
const MAX_REST_FRAMES = 256;

/**
 * Some clients, such as curl, lose an answer that arrives together with the end of the stream while they are sending.
 * So the client gets a moment to end the stream itself, as most do. Data it sends meanwhile is discarded, and beyond a
 * small amount not even read.
 */
function sendHeadersAndClose(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders, clock: Clock): void {
  stream.respond(headers, { endStream: true });
  if (stream.readableEnded) return;
  let bytes = 0;
  let frames = 0;
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_REST_BYTES || ++frames > MAX_REST_FRAMES) stream.pause();
  });
  const cancel = clock.after(LINGER_MS, () => {
    stream.resume();
    stream.close(NO_ERROR);
  });
  stream.once("close", cancel);
  stream.resume();
}
