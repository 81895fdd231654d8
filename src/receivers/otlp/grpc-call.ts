import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { IDEMPOTENCY_HEADER, type Origin, type Outcome } from "../../plugin.js";
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
} from "../../runtime/kit.js";
import { answerError, answerOk } from "./grpc-answer.js";
import type { GrpcEndpoint } from "./grpc-endpoint.js";
import type { RequestIntake } from "./request-intake.js";
import { answerOfBadUpload, OVERLOADED, tooLarge, Upload } from "./upload.js";

/** How long a client may take to send a message when it sets no deadline itself. */
const READ_TIMEOUT_MS = 60_000;

/**
 * One unary Export call: its message comes in, goes to the intake, and the outcome goes out.
 *
 * It is in `endpoint.calls` until it is answered or the client goes away. It counts in `endpoint.handedIn` from the
 * moment the batch is handed in until the outcome is known, even if the client has gone.
 */
export class GrpcCall {
  private readonly endpoint: GrpcEndpoint;
  private readonly stream: ServerHttp2Stream;
  private readonly headers: IncomingHttpHeaders;
  private readonly upload: Upload;
  /** Monotonic times: when the client stops waiting, and when the upload must be whole. */
  private readonly deadline: number;
  private readonly readUntil: number;
  private state: "reading" | "handed in" | "done" = "reading";

  constructor(
    endpoint: GrpcEndpoint,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    requestIntake: RequestIntake,
  ) {
    this.endpoint = endpoint;
    this.stream = stream;
    this.headers = headers;
    this.upload = new Upload(requestIntake);
    const timeout = parseGrpcTimeout(headers["grpc-timeout"] as string | undefined);
    const now = endpoint.clock.monotonic();
    this.deadline = now + (timeout ?? Number.POSITIVE_INFINITY);
    this.readUntil = Math.min(this.deadline, now + READ_TIMEOUT_MS);
  }

  get session(): ServerHttp2Session | undefined {
    return this.stream.session as ServerHttp2Session | undefined;
  }

  read(): void {
    this.endpoint.calls.add(this);
    const { stream } = this;
    stream.on("data", (chunk: Buffer) => {
      if (this.state === "reading") this.onChunk(chunk);
    });
    stream.on("end", () => {
      if (this.state === "reading") this.onEnd();
    });
    stream.on("close", () => this.finish());
  }

  /** Ends a call that was not handed in yet. */
  refuse(error: ErrorAnswer): void {
    if (this.state !== "reading") return;
    this.finish();
    this.endpoint.countRefused(error);
    answerError(this.stream, error);
  }

  /** Answers when time is up: the client's own deadline, or too slow an upload. */
  checkTime(now: number): void {
    if (now < (this.state === "reading" ? this.readUntil : this.deadline)) return;
    const message = this.state === "reading" ? "the request took too long to arrive" : "deadline exceeded";
    const error = { code: GRPC_STATUS.DEADLINE_EXCEEDED, httpStatus: 504, message };
    if (this.state === "reading") return this.refuse(error);
    this.finish();
    answerError(this.stream, error);
  }

  private onChunk(chunk: Buffer): void {
    const { maxBytes } = this.endpoint;
    if (!this.upload.add(chunk)) return this.refuse(OVERLOADED);
    if (this.upload.chunks.length === 1 || this.upload.size < 16) {
      const length = claimedLength(this.upload.chunks);
      if (length !== undefined && length > maxBytes) this.refuse(tooLarge(maxBytes));
    } else if (this.upload.size > maxBytes + GRPC_FRAME_HEADER) this.refuse(tooLarge(maxBytes));
  }

  private onEnd(): void {
    const frame = singleFrame(this.upload.chunks, this.upload.size);
    if (typeof frame === "string") return this.refuse(FRAME_FAULT_ANSWERS[frame]);
    if (!frame.compressed) return this.handIn(frame.message);
    const encoding = this.headers["grpc-encoding"];
    if (encoding !== "gzip")
      return this.refuse(grpcError(GRPC_STATUS.INTERNAL, "a compressed message without grpc-encoding"));
    try {
      const message = this.upload.decompress("gzip", frame.message, this.endpoint.maxBytes);
      if (!(message instanceof Promise)) this.handIn(message);
      else message.then((bytes) => this.handIn(bytes)).catch((fault: unknown) => this.refuseBadUpload(fault));
    } catch (fault) {
      this.refuseBadUpload(fault);
    }
  }

  private handIn(message: Buffer): void {
    if (this.state !== "reading") return;
    let accepted: Promise<Outcome>;
    try {
      const batch = this.upload.toBatch("proto", message);
      this.state = "handed in";
      this.upload.release();
      accepted = this.upload.requestIntake.accept(batch, this.metadata(), this.idempotencyKey());
    } catch (fault) {
      return this.refuseBadUpload(fault);
    }
    this.endpoint.handedIn.begin();
    accepted.then((outcome) => this.onOutcome(outcome));
  }

  private onOutcome(outcome: Outcome): void {
    if (this.state === "handed in") {
      if (outcome.ok) answerOk(this.stream, encodeResponse(this.upload.requestIntake.service.signal, "proto", outcome));
      else answerError(this.stream, answerOfRefusal(outcome.refusal));
      this.finish();
    }
    this.endpoint.handedIn.end();
  }

  private refuseBadUpload(fault: unknown): void {
    this.refuse(answerOfBadUpload(fault, this.endpoint.maxBytes));
  }

  private finish(): void {
    if (this.state === "done") return;
    this.state = "done";
    this.endpoint.calls.delete(this);
    this.upload.release();
  }

  private idempotencyKey(): string | undefined {
    const key = this.headers[IDEMPOTENCY_HEADER];
    return typeof key === "string" && key !== "" ? key : undefined;
  }

  private metadata(): Origin["metadata"] {
    if (!this.endpoint.config.include_metadata) return undefined;
    const entries = Object.entries(this.headers).filter(([name]) => !name.startsWith(":"));
    return new Map(entries.map(([name, value]) => [name, Array.isArray(value) ? value : [String(value)]]));
  }
}

function grpcError(code: number, message: string): ErrorAnswer {
  return { httpStatus: 400, code, message };
}

const FRAME_FAULT_ANSWERS: Readonly<Record<FrameFault, ErrorAnswer>> = {
  none: grpcError(GRPC_STATUS.UNIMPLEMENTED, "Export takes one message; none was sent"),
  several: grpcError(GRPC_STATUS.UNIMPLEMENTED, "Export takes one message; more than one was sent"),
  incomplete: grpcError(GRPC_STATUS.INVALID_ARGUMENT, "the message ends before its length says"),
  flag: grpcError(GRPC_STATUS.INTERNAL, "the message's compression flag is neither 0 nor 1"),
};
