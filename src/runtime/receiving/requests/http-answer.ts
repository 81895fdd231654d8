import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "#contract";
import { contentTypeOf, type ErrorAnswer, encodeStatus, retryAfterSeconds } from "#net/otlp";
import type { BodyEncoding } from "./request-format.js";

/** Writes answers in a way that clients get to see them, even while they are still sending. */

/** How long a refused client may keep sending before the connection is cut. */
const LINGER_MS = 1000;

/** Headers as alternating names and values. */
export type HeaderList = string[];

export interface HttpAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

/** An error as google.rpc.Status in the request's encoding, or as plain text if that is unknown or not OTLP's. */
export function errorAnswer(
  error: ErrorAnswer,
  encoding: BodyEncoding | undefined,
  extraHeaders: HeaderList = [],
): HttpAnswer {
  const { httpStatus: status, message, retryAfterMs } = error;
  const extra =
    retryAfterMs === undefined ? extraHeaders : [...extraHeaders, "Retry-After", retryAfterSeconds(retryAfterMs)];
  if (encoding === undefined || encoding === "other") return textAnswer(status, message, extra);
  const body = encodeStatus(error, encoding);
  const headers = ["Content-Type", contentTypeOf(encoding), "Content-Length", String(body.length), ...extra];
  return { status, headers, body };
}

/** An answer without a body if the text is empty. */
export function textAnswer(status: number, text: string, extra: HeaderList): HttpAnswer {
  if (text === "") return { status, headers: ["Content-Length", "0", ...extra], body: Buffer.alloc(0) };
  const body = Buffer.from(`${text}\n`);
  const type = "text/plain; charset=utf-8";
  return { status, headers: ["Content-Type", type, "Content-Length", String(body.length), ...extra], body };
}

/** Answers a request that was read to its end. A client that does not read its answer in time loses the connection. */
export function answerComplete(response: ServerResponse, answer: HttpAnswer, writeTimeoutMs: number): void {
  if (response.destroyed) return;
  response.writeHead(answer.status, answer.headers);
  // An empty body would be one more buffer to write.
  if (answer.body.length === 0) response.end();
  else response.end(answer.body);
  const { socket } = response;
  if (writeTimeoutMs > 0 && socket !== null && socket.writableLength > 0) socket.setTimeout(writeTimeoutMs);
}

/**
 * Answers a request whose body is still arriving. A rest of up to `maxDiscardBytes` is discarded and the connection kept. Otherwise the
 * connection is closed, but not at once: closing a socket with unread bytes resets it, and the client would lose the
 * answer. With `isUnread` nothing more is read meanwhile, so only a client that reads while it sends gets the answer.
 */
export function answerEarly(
  request: IncomingMessage,
  response: ServerResponse,
  answer: HttpAnswer,
  clock: Clock,
  maxDiscardBytes: number,
  isUnread = false,
) {
  if (response.destroyed) return;
  const rest = request.complete ? 0 : Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY);
  if (rest <= maxDiscardBytes && response.shouldKeepAlive && !isUnread) {
    request.resume();
    response.writeHead(answer.status, answer.headers);
    response.end(answer.body);
    return;
  }
  response.shouldKeepAlive = false;
  response.writeHead(answer.status, answer.headers);
  if (rest === 0) {
    response.end(answer.body);
    return;
  }
  if (answer.body.length > 0) response.write(answer.body);
  else response.flushHeaders();
  linger(request, response, clock);
  if (isUnread) request.pause();
  else request.resume();
}

function linger(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  const finish = () => {
    cancel();
    response.end();
  };
  const cancel = clock.after(LINGER_MS, finish);
  request.once("end", finish).once("close", cancel);
}
