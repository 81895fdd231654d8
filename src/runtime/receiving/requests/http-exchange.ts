import type { IncomingMessage, ServerResponse } from "node:http";
import type { AuthenticatedClient, Clock, Outcome } from "#contract";
import {
  answerOfRefusal,
  contentTypeOf,
  type ErrorAnswer,
  encodeResponse,
  encodeStatus,
  type OtlpEncoding,
  retryAfterSeconds,
} from "#net/otlp";
import type { HttpEndpoint } from "./http-endpoint.js";
import { IncomingRequest } from "./incoming-request.js";
import {
  type BodyEncoding,
  type FormatAnswer,
  type OtherEncoding,
  type RequestFormat,
  TOO_FRAGMENTED,
} from "./request-format.js";
import type { RequestIntake } from "./request-intake.js";

/** One POST request with records. */
export class HttpExchange extends IncomingRequest<HttpEndpoint> {
  private readonly request: IncomingMessage;
  private readonly response: ServerResponse;
  private readonly compression: string | undefined;
  /** The answer to a client whose request was taken, if the format has its own. */
  private success: FormatAnswer | undefined;

  constructor(
    endpoint: HttpEndpoint,
    request: IncomingMessage,
    response: ServerResponse,
    requestIntake: RequestIntake,
    encoding: BodyEncoding,
    compression: string | undefined,
    client: AuthenticatedClient | undefined,
  ) {
    super(endpoint, requestIntake, encoding, client, request.socket);
    this.request = request;
    this.response = response;
    this.compression = compression;
  }

  read(): void {
    this.readBody(this.request);
    this.request.on("error", () => {
      if (this.state === "reading") this.finish();
    });
  }

  protected override onChunk(chunk: Buffer): void {
    const { maxBytes, refusals } = this.endpoint;
    if (this.upload.body.size + chunk.length > maxBytes) this.refuse(refusals.tooLarge(maxBytes));
    else if (!this.upload.add(chunk)) this.refuse(refusals.overloaded);
  }

  protected override onEnd(): void {
    const { body } = this.upload;
    if (this.compression === undefined) this.handIn(body.takePieces());
    else this.handInCompressed(this.compression, body.take());
  }

  protected override handIn(body: readonly Buffer[]): void {
    if (this.upload.requestIntake.format.toBatches === undefined) super.handIn(body);
    else this.handInBatches(body).catch((error: unknown) => this.refuseBadUpload(error));
  }

  private async handInBatches(body: readonly Buffer[]): Promise<void> {
    if (this.state !== "reading") return;
    const read = await this.upload.toBatches(this.request, this.encoding, body, this.endpoint.maxBytes);
    this.success = read.success;
    this.acceptAll(read.batches);
  }

  /**
   * Removes the request from the endpoint's set: a large set that changes all the time keeps its former members in
   * memory for long.
   */
  protected override onHandedIn(): void {
    this.endpoint.open.delete(this);
  }

  protected override answerRefused(error: ErrorAnswer): void {
    const { format } = this.upload.requestIntake;
    const answer = errorAnswer(error, format, this.encoding, this.extraHeaders());
    this.endpoint.answerEarly(this.request, this.response, answer, error === TOO_FRAGMENTED);
  }

  protected override answerOutcome(outcome: Outcome): void {
    answerComplete(this.response, this.outcomeAnswer(outcome), this.endpoint.config.write_timeout);
  }

  private outcomeAnswer(outcome: Outcome): HttpAnswer {
    const { encoding } = this;
    const { signal, format } = this.upload.requestIntake;
    const extra = this.extraHeaders();
    if (!outcome.ok) return errorAnswer(answerOfRefusal(outcome.refusal), format, encoding, extra);
    if (this.success !== undefined) return formatAnswer(this.success, extra);
    if (extra.length === 0 && outcome.rejected === 0 && outcome.message === "")
      return isOther(encoding) ? EMPTY_TEXT : EMPTY_SUCCESS[encoding];
    if (isOther(encoding)) return textAnswer(202, format.successText?.(outcome) ?? "", extra);
    return successAnswer(encodeResponse(signal, encoding, outcome), encoding, extra);
  }

  private extraHeaders(): HeaderList {
    if (this.endpoint.closesConnections) this.response.shouldKeepAlive = false;
    return this.endpoint.extraHeaders(this.request);
  }

  protected override header(name: string): string | readonly string[] | undefined {
    return this.request.headers[name];
  }

  protected override keptHeaders() {
    if (!this.endpoint.config.include_metadata) return undefined;
    const headers = Object.entries(this.request.headersDistinct).map(([name, values]) => [name, values ?? []] as const);
    return { headers, socket: this.request.socket };
  }
}

function successAnswer(body: Buffer, encoding: OtlpEncoding, extra: HeaderList): HttpAnswer {
  const headers = ["Content-Type", contentTypeOf(encoding), "Content-Length", String(body.length), ...extra];
  return { status: 200, headers, body };
}

const EMPTY_SUCCESS: Readonly<Record<OtlpEncoding, HttpAnswer>> = {
  proto: successAnswer(encodeResponse("logs", "proto"), "proto", []),
  json: successAnswer(encodeResponse("logs", "json"), "json", []),
};
const EMPTY_TEXT = textAnswer(202, "", []);

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

/**
 * An error as google.rpc.Status in the request's encoding, or as plain text if that is unknown or not OTLP's; or as the
 * format says.
 */
export function errorAnswer(
  error: ErrorAnswer,
  format: Pick<RequestFormat, "answerError">,
  encoding: BodyEncoding | undefined,
  extraHeaders: HeaderList = [],
): HttpAnswer {
  const { httpStatus: status, message, retryAfterMs } = error;
  const extra =
    retryAfterMs === undefined ? extraHeaders : [...extraHeaders, "Retry-After", retryAfterSeconds(retryAfterMs)];
  if (format.answerError !== undefined) return formatAnswer(format.answerError(error), extra);
  if (encoding === undefined || isOther(encoding)) return textAnswer(status, message, extra);
  const body = encodeStatus(error, encoding);
  const headers = ["Content-Type", contentTypeOf(encoding), "Content-Length", String(body.length), ...extra];
  return { status, headers, body };
}

/** The status of answers that never have a body, nor say how long it is. */
const NO_CONTENT = 204;

/** An answer in the words of the receiver's own protocol. */
export function formatAnswer({ status, headers = [], contentType, body: text }: FormatAnswer, extra: HeaderList) {
  const body = Buffer.from(text);
  const type = contentType === undefined ? [] : ["Content-Type", contentType];
  const length = status === NO_CONTENT ? [] : ["Content-Length", String(body.length)];
  return { status, headers: [...type, ...length, ...headers, ...extra], body };
}

/** An answer without a body if the text is empty. */
function textAnswer(status: number, text: string, extra: HeaderList): HttpAnswer {
  if (text === "") return { status, headers: ["Content-Length", "0", ...extra], body: Buffer.alloc(0) };
  const body = Buffer.from(`${text}\n`);
  const type = "text/plain; charset=utf-8";
  return { status, headers: ["Content-Type", type, "Content-Length", String(body.length), ...extra], body };
}

/** Answers a request that was read to its end. A client that does not read its answer in time loses the connection. */
function answerComplete(response: ServerResponse, answer: HttpAnswer, writeTimeoutMs: number): void {
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

function isOther(encoding: BodyEncoding): encoding is OtherEncoding {
  return encoding !== "proto" && encoding !== "json";
}
