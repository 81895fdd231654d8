import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { AuthenticatedClient } from "#contract";
import {
  answerOfRefusal,
  claimedLength,
  type ErrorAnswer,
  encodeResponse,
  type FrameFault,
  GRPC_FRAME_HEADER,
  GRPC_STATUS,
  parseGrpcTimeout,
  singleFrame,
} from "#net/otlp";
import { IncomingRequest, type RequestIntake } from "#receiving/requests";
import type { Outcome } from "../../plugin.js";
import { answerError, answerOk } from "./grpc-answer.js";
import type { GrpcEndpoint } from "./grpc-endpoint.js";

/** How long a client may take to send a message if it sets no deadline itself. */
const READ_TIMEOUT_MS = 60_000;

/** One unary call that carries records. */
export class GrpcCall extends IncomingRequest<GrpcEndpoint> {
  private readonly stream: ServerHttp2Stream;
  private readonly headers: IncomingHttpHeaders;
  /** Monotonic times: when the client stops waiting, and when the upload must be complete. */
  private readonly deadline: number;
  private readonly readUntil: number;
  /** The length from the message's header, once it has arrived. */
  private messageLength: number | undefined;

  constructor(
    endpoint: GrpcEndpoint,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    requestIntake: RequestIntake,
    client: AuthenticatedClient | undefined,
  ) {
    super(endpoint, requestIntake, "proto", client, stream.session?.socket as Socket | undefined);
    this.stream = stream;
    this.headers = headers;
    const timeout = parseGrpcTimeout(headers["grpc-timeout"] as string | undefined);
    const now = endpoint.clock.monotonic();
    this.deadline = now + (timeout ?? Number.POSITIVE_INFINITY);
    this.readUntil = Math.min(this.deadline, now + READ_TIMEOUT_MS);
  }

  get session(): ServerHttp2Session | undefined {
    return this.stream.session as ServerHttp2Session | undefined;
  }

  read(): void {
    this.readBody(this.stream);
    this.stream.on("close", () => this.finish());
  }

  /** Answers if the client's deadline has passed or the upload is too slow. */
  checkTime(now: number): void {
    if (now < (this.state === "reading" ? this.readUntil : this.deadline)) return;
    const message = this.state === "reading" ? "the request took too long to arrive" : "deadline exceeded";
    const error = { code: GRPC_STATUS.DEADLINE_EXCEEDED, httpStatus: 504, message };
    if (this.state === "reading") return this.refuse(error);
    this.finish();
    answerError(this.stream, error, this.endpoint.clock);
  }

  protected override onChunk(chunk: Buffer): void {
    const { maxBytes, refusals } = this.endpoint;
    if (!this.upload.add(chunk)) return this.refuse(refusals.overloaded);
    const { body } = this.upload;
    this.messageLength ??= claimedLength(body.list());
    if (Math.max(this.messageLength ?? 0, body.size - GRPC_FRAME_HEADER) > maxBytes)
      this.refuse(refusals.tooLarge(maxBytes));
  }

  protected override onEnd(): void {
    const { body } = this.upload;
    const frame = singleFrame(body.list(), body.size);
    body.clear();
    if (typeof frame === "string") this.refuse(FRAME_FAULT_ANSWERS[frame]);
    else if (!frame.compressed) this.handIn([frame.message]);
    else if (this.encodingName === undefined) this.refuse(NO_ENCODING);
    else this.handInCompressed(this.encodingName, frame.message);
  }

  /** The compression of a compressed message; the endpoint has checked that it is supported. */
  private get encodingName(): string | undefined {
    const name = this.headers["grpc-encoding"] as string | undefined;
    return name === "identity" ? undefined : name;
  }

  protected override answerRefused(error: ErrorAnswer): void {
    answerError(this.stream, error, this.endpoint.clock);
  }

  protected override answerOutcome(outcome: Outcome): void {
    if (outcome.ok) answerOk(this.stream, encodeResponse(this.upload.requestIntake.signal, "proto", outcome));
    else answerError(this.stream, answerOfRefusal(outcome.refusal), this.endpoint.clock);
  }

  protected override header(name: string): string | readonly string[] | undefined {
    return this.headers[name];
  }

  protected override keptHeaders() {
    if (!this.endpoint.config.include_metadata) return undefined;
    const entries = Object.entries(this.headers).filter(([name]) => !name.startsWith(":"));
    const headers = entries.map(([name, value]) => [name, Array.isArray(value) ? value : [String(value)]] as const);
    return { headers, socket: this.session?.socket as Socket | undefined };
  }
}

function grpcError(code: number, message: string): ErrorAnswer {
  return { httpStatus: 400, code, message };
}

const NO_ENCODING = grpcError(GRPC_STATUS.INTERNAL, "a compressed message without grpc-encoding");

const FRAME_FAULT_ANSWERS: Readonly<Record<FrameFault, ErrorAnswer>> = {
  none: grpcError(GRPC_STATUS.UNIMPLEMENTED, "the method takes one message; none was sent"),
  several: grpcError(GRPC_STATUS.UNIMPLEMENTED, "the method takes one message; more than one was sent"),
  incomplete: grpcError(GRPC_STATUS.INVALID_ARGUMENT, "the message ends before its length says"),
  flag: grpcError(GRPC_STATUS.INTERNAL, "the message's compression flag is neither 0 nor 1"),
};
