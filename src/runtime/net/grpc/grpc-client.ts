import type { ClientHttp2Session, OutgoingHttpHeaders } from "node:http2";
import { compress } from "#codecs/compression";
import type { ClientAuthenticator, ExporterContext, SendOptions } from "#contract";
import { checkGrpcAuth, clientAuthenticator, OutgoingRequest, sendAuthorized } from "../auth/authorized-send.js";
import { NoAnswerError } from "../connection-error.js";
import { formatAddress, type GrpcTarget } from "../endpoint.js";
import { grpcFrameHeader } from "../otlp/grpc-frame.js";
import { GRPC_STATUS } from "../otlp/grpc-status.js";
import { refusalOfGrpc, refusalOfUnreadable } from "../otlp/refusals.js";
import { resendIfStale, sendHeaders } from "../otlp/sending.js";
import { loadClientTls } from "../tls-load.js";
import type { GrpcClientConfig } from "./client-keys.js";
import { GrpcConnection } from "./grpc-connection.js";
import { BrokenCallError, type UnaryCallResult, unaryCall } from "./unary-call.js";

/** Makes the calls of an exporter to one server, with its TLS, credentials and compression. */
export class GrpcClient {
  /** The server's name in messages. */
  readonly peer: string;
  private readonly config: GrpcClientConfig;
  private readonly context: ExporterContext;
  private readonly headers: OutgoingHttpHeaders;
  private readonly secure: boolean;
  /** Sessions that have completed a call. If one of these breaks, the server may simply have closed it. */
  private readonly provenSessions = new WeakSet<ClientHttp2Session>();
  private connection: GrpcConnection | undefined;
  private authenticator: ClientAuthenticator | undefined;

  constructor(config: GrpcClientConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    this.peer = peerName(config.endpoint);
    this.secure = config.endpoint.secure ?? !config.tls?.insecure;
    this.headers = headersOf(config);
  }

  get metadataKeys(): readonly string[] {
    return this.authenticator?.metadataKeys ?? [];
  }

  async start(): Promise<void> {
    const { endpoint: target, tls, keepalive: keepAlive } = this.config;
    this.findAuthenticator();
    const { clock } = this.context;
    const options = tls ? await loadClientTls(tls, ["tls"]) : { rejectUnauthorized: true };
    this.connection = new GrpcConnection({ target, tls: this.secure ? options : undefined, keepAlive, clock });
  }

  /** Closes everything at once. */
  stop(): void {
    this.connection?.close();
  }

  /**
   * Makes one unary call; the message is given in chunks. Resolves with the result of `read`; rejects with a refusal.
   */
  async call<Result>(
    path: string,
    message: readonly Uint8Array[],
    abort: AbortSignal,
    options: SendOptions | undefined,
    read: (response: Buffer) => Result,
  ): Promise<Result> {
    const chunks = await this.frame(message);
    const headers = { ...this.headers, ":path": path, ...sendHeaders(options) };
    const { authenticator } = this;
    if (authenticator === undefined) return this.exchange(headers, chunks, abort, read);
    const url = new URL(path, originOf(this.config.endpoint, this.secure));
    const request = new OutgoingRequest(url, textHeaders(headers), chunks, options);
    return sendAuthorized(authenticator, request, this.peer, abort, (more) =>
      this.exchange({ ...headers, ...more }, chunks, abort, read),
    );
  }

  private exchange<Result>(
    headers: OutgoingHttpHeaders,
    chunks: readonly Uint8Array[],
    abort: AbortSignal,
    read: (response: Buffer) => Result,
  ): Promise<Result> {
    const call = () => this.attempt(headers, chunks, abort);
    return resendIfStale(this.peer, abort, call, ({ status, response }) => {
      if (status.code !== GRPC_STATUS.OK) throw refusalOfGrpc(status);
      if (typeof response === "string") throw refusalOfUnreadable(this.peer, `the message ${response}`);
      return read(response);
    });
  }

  private async attempt(
    headers: OutgoingHttpHeaders,
    chunks: readonly Uint8Array[],
    abort: AbortSignal,
  ): Promise<UnaryCallResult> {
    const connection = this.connection!;
    const session = connection.session();
    const wasProven = this.provenSessions.has(session);
    connection.openCalls += 1;
    try {
      const result = await unaryCall(session, headers, chunks, abort);
      this.provenSessions.add(session);
      return result;
    } catch (error) {
      if (abort.aborted) connection.checkAlive(session);
      const isBroken = error instanceof BrokenCallError;
      throw new NoAnswerError(isBroken ? error.cause : error, wasProven && !(isBroken && error.answerBegun));
    } finally {
      connection.openCalls -= 1;
    }
  }

  private findAuthenticator(): void {
    const { auth, endpoint } = this.config;
    const authenticator = clientAuthenticator(auth, this.context);
    if (authenticator === undefined) return;
    const host = "path" in endpoint.address ? undefined : endpoint.address.host;
    checkGrpcAuth(authenticator, { id: auth!.authenticator, isSecure: this.secure, host });
    this.authenticator = authenticator;
  }

  private async frame(message: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
    const { compression } = this.config;
    if (compression === "none") {
      const length = message.reduce((sum, chunk) => sum + chunk.length, 0);
      return [grpcFrameHeader(length, false), ...message];
    }
    const whole = message.length === 1 ? message[0]! : Buffer.concat(message);
    const compressed = await compress(compression === "snappy" ? "x-snappy-framed" : compression, whole);
    return [grpcFrameHeader(compressed.length, true), compressed];
  }
}

function headersOf(config: GrpcClientConfig): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {
    ":method": "POST",
    "content-type": "application/grpc",
    te: "trailers",
    "user-agent": config.user_agent ?? "sluice",
    "grpc-accept-encoding": "identity",
  };
  if (config.compression !== "none") headers["grpc-encoding"] = config.compression;
  if (config.authority !== undefined) headers[":authority"] = config.authority;
  for (const [name, value] of Object.entries(config.headers ?? {})) {
    const lower = name.toLowerCase();
    headers[lower] = lower.endsWith("-bin") ? Buffer.from(value).toString("base64") : value;
  }
  return headers;
}

function peerName({ address }: GrpcTarget): string {
  return "path" in address ? address.path : `${address.host}:${address.port}`;
}

function originOf({ address }: GrpcTarget, isSecure: boolean): string {
  const authority = "path" in address ? "localhost" : formatAddress(address);
  return `${isSecure ? "https" : "http"}://${authority}`;
}

/** The ordinary headers, without HTTP/2's pseudo-headers. */
function textHeaders(headers: OutgoingHttpHeaders): Record<string, string> {
  const named = Object.entries(headers).filter(([name]) => !name.startsWith(":"));
  return Object.fromEntries(named.map(([name, value]) => [name, String(value)]));
}
