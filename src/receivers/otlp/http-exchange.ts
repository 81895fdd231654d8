import type { IncomingMessage, ServerResponse } from "node:http";
import { IDEMPOTENCY_HEADER, type Origin, type Outcome } from "../../plugin.js";
import {
  answerOfRefusal,
  contentTypeOf,
  type ErrorAnswer,
  encodeResponse,
  type OtlpEncoding,
} from "../../runtime/kit.js";
import { answerComplete, answerEarly, errorAnswer, type HeaderList, type HttpAnswer } from "./http-answer.js";
import type { HttpEndpoint } from "./http-endpoint.js";
import type { RequestIntake } from "./request-intake.js";
import { answerOfBadUpload, OVERLOADED, tooLarge, Upload } from "./upload.js";

/**
 * One request that may be read: its body comes in, goes to the intake, and the outcome goes out.
 *
 * It is in `endpoint.reading` from the start until it is handed in or refused, and counts in `endpoint.handedIn` from
 * there until it is answered. What it reserved is released when it leaves `reading`, however it leaves.
 */
export class HttpExchange {
  private readonly endpoint: HttpEndpoint;
  private readonly request: IncomingMessage;
  private readonly response: ServerResponse;
  private readonly upload: Upload;
  private readonly encoding: OtlpEncoding;
  private readonly compression: string | undefined;
  private isReading = true;

  constructor(
    endpoint: HttpEndpoint,
    request: IncomingMessage,
    response: ServerResponse,
    requestIntake: RequestIntake,
    encoding: OtlpEncoding,
    compression: string | undefined,
  ) {
    this.endpoint = endpoint;
    this.request = request;
    this.response = response;
    this.upload = new Upload(requestIntake);
    this.encoding = encoding;
    this.compression = compression;
  }

  read(): void {
    this.endpoint.reading.add(this);
    const { request } = this;
    request.on("data", (chunk: Buffer) => {
      if (this.isReading) this.onChunk(chunk);
    });
    request.on("end", () => {
      if (this.isReading) this.onEnd();
    });
    request.on("error", () => this.stopReading());
  }

  /** Ends the request with an error before it was handed in. */
  refuse(error: ErrorAnswer): void {
    if (!this.stopReading()) return;
    this.endpoint.countRefused(error);
    const answer = errorAnswer(error, this.encoding, this.extraHeaders());
    answerEarly(this.request, this.response, answer, this.endpoint.clock);
  }

  private onChunk(chunk: Buffer): void {
    const { maxBytes } = this.endpoint;
    if (this.upload.size + chunk.length > maxBytes) this.refuse(tooLarge(maxBytes));
    else if (!this.upload.add(chunk)) this.refuse(OVERLOADED);
  }

  private onEnd(): void {
    const { chunks, size } = this.upload;
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size);
    if (this.compression === undefined) this.handIn(body);
    else this.decompress(this.compression, body);
  }

  private decompress(compression: string, compressed: Buffer): void {
    try {
      const body = this.upload.decompress(compression, compressed, this.endpoint.maxBytes);
      if (!(body instanceof Promise)) this.handIn(body);
      else body.then((bytes) => this.handIn(bytes)).catch((error: unknown) => this.refuseBadUpload(error));
    } catch (error) {
      this.refuseBadUpload(error);
    }
  }

  private handIn(body: Buffer): void {
    if (!this.isReading) return;
    let accepted: Promise<Outcome>;
    try {
      const batch = this.upload.toBatch(this.encoding, body);
      this.stopReading();
      accepted = this.upload.requestIntake.accept(batch, this.metadata(), this.idempotencyKey());
    } catch (error) {
      this.refuseBadUpload(error);
      return;
    }
    this.endpoint.handedIn.begin();
    accepted.then((outcome) => this.onOutcome(outcome));
  }

  private onOutcome(outcome: Outcome): void {
    answerComplete(this.response, this.answer(outcome), this.endpoint.config.write_timeout);
    this.endpoint.handedIn.end();
  }

  private answer(outcome: Outcome): HttpAnswer {
    const { encoding } = this;
    const extra = this.extraHeaders();
    if (!outcome.ok) return errorAnswer(answerOfRefusal(outcome.refusal), encoding, extra);
    if (extra.length === 0 && outcome.rejected === 0 && outcome.message === "") return EMPTY_SUCCESS[encoding];
    return successAnswer(encodeResponse(this.upload.requestIntake.service.signal, encoding, outcome), encoding, extra);
  }

  private refuseBadUpload(error: unknown): void {
    this.refuse(answerOfBadUpload(error, this.endpoint.maxBytes));
  }

  private stopReading(): boolean {
    if (!this.isReading) return false;
    this.isReading = false;
    this.endpoint.reading.delete(this);
    this.upload.release();
    return true;
  }

  private extraHeaders(): HeaderList {
    if (this.endpoint.isStopping) this.response.shouldKeepAlive = false;
    return this.endpoint.extraHeaders(this.request);
  }

  private idempotencyKey(): string | undefined {
    const key = this.request.headers[IDEMPOTENCY_HEADER];
    return typeof key === "string" && key !== "" ? key : undefined;
  }

  private metadata(): Origin["metadata"] {
    if (!this.endpoint.config.include_metadata) return undefined;
    return new Map(Object.entries(this.request.headersDistinct).map(([name, values]) => [name, values ?? []]));
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
