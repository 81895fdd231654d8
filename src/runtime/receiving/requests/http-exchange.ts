import type { IncomingMessage, ServerResponse } from "node:http";
import type { AuthenticatedClient, Outcome } from "#contract";
import { answerOfRefusal, contentTypeOf, type ErrorAnswer, encodeResponse, type OtlpEncoding } from "#net/otlp";
import { answerComplete, errorAnswer, type HeaderList, type HttpAnswer, textAnswer } from "./http-answer.js";
import type { HttpEndpoint } from "./http-endpoint.js";
import { IncomingRequest } from "./incoming-request.js";
import { type BodyEncoding, TOO_FRAGMENTED } from "./request-format.js";
import type { RequestIntake } from "./request-intake.js";

/** One POST request with records. */
export class HttpExchange extends IncomingRequest<HttpEndpoint> {
  private readonly request: IncomingMessage;
  private readonly response: ServerResponse;
  private readonly compression: string | undefined;

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

  /**
   * Removes the request from the endpoint's set: a large set that changes all the time keeps its former members in
   * memory for long.
   */
  protected override onHandedIn(): void {
    this.endpoint.open.delete(this);
  }

  protected override answerRefused(error: ErrorAnswer): void {
    const answer = errorAnswer(error, this.encoding, this.extraHeaders());
    this.endpoint.answerEarly(this.request, this.response, answer, error === TOO_FRAGMENTED);
  }

  protected override answerOutcome(outcome: Outcome): void {
    answerComplete(this.response, this.outcomeAnswer(outcome), this.endpoint.config.write_timeout);
  }

  private outcomeAnswer(outcome: Outcome): HttpAnswer {
    const { encoding } = this;
    const extra = this.extraHeaders();
    if (!outcome.ok) return errorAnswer(answerOfRefusal(outcome.refusal), encoding, extra);
    if (extra.length === 0 && outcome.rejected === 0 && outcome.message === "") return EMPTY_SUCCESS[encoding];
    const { signal, format } = this.upload.requestIntake;
    if (encoding === "other") return textAnswer(202, format.successText?.(outcome) ?? "", extra);
    return successAnswer(encodeResponse(signal, encoding, outcome), encoding, extra);
  }

  private extraHeaders(): HeaderList {
    if (this.endpoint.isStopping) this.response.shouldKeepAlive = false;
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

const EMPTY_SUCCESS: Readonly<Record<BodyEncoding, HttpAnswer>> = {
  proto: successAnswer(encodeResponse("logs", "proto"), "proto", []),
  json: successAnswer(encodeResponse("logs", "json"), "json", []),
  other: textAnswer(202, "", []),
};
