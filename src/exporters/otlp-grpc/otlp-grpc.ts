import type { ClientHttp2Session, OutgoingHttpHeaders } from "node:http2";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  type PartialRejection,
  type SendOptions,
  SIGNALS,
  type Signal,
} from "../../plugin.js";
import {
  type ClientAuthenticator,
  checkByEmptyExport,
  checkGrpcAuth,
  clientAuthenticator,
  compress,
  decodeResponse,
  formatAddress,
  GRPC_STATUS,
  type GrpcTarget,
  grpcFrameHeader,
  loadClientTls,
  NoAnswerError,
  OTLP_SERVICES,
  OutgoingRequest,
  refusalOfGrpc,
  refusalOfUnreadable,
  sendAuthorized,
  sendHeaders,
  sendTwiceIfStale,
} from "../../runtime/kit.js";
import { type OtlpGrpcConfig, otlpGrpcSchema } from "./config.js";
import { GrpcConnection } from "./grpc-connection.js";
import { BrokenCallError, type UnaryCallResult, unaryCall } from "./unary-call.js";

/** Sends OTLP over gRPC. */
export const otlpGrpcExporter = defineExporter<OtlpGrpcConfig>({
  type: "otlp_grpc",
  aliases: ["otlp"],
  summary: "Sends OTLP over gRPC.",
  signals: SIGNALS,
  schema: otlpGrpcSchema,
  create: (config, context) => new OtlpGrpcExporter(config, context),
});

class OtlpGrpcExporter implements Exporter {
  private readonly config: OtlpGrpcConfig;
  private readonly context: ExporterContext;
  private readonly headers: OutgoingHttpHeaders;
  private readonly peer: string;
  private readonly secure: boolean;
  /** Sessions that have carried a whole call: when one of these breaks, the server may just have closed it. */
  private readonly provenSessions = new WeakSet<ClientHttp2Session>();
  private connection: GrpcConnection | undefined;
  private authenticator: ClientAuthenticator | undefined;
  /** That of the last batch: the backend takes it, as far as is known. */
  private signal: Signal = "logs";

  constructor(config: OtlpGrpcConfig, context: ExporterContext) {
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

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    this.signal = batch.signal;
    const chunks = await this.frame(batch);
    const path = OTLP_SERVICES[batch.signal].grpcPath;
    const headers = { ...this.headers, ":path": path, ...sendHeaders(options) };
    const { authenticator } = this;
    if (authenticator === undefined) return this.export(batch.signal, headers, chunks, abort);
    const url = new URL(path, originOf(this.config.endpoint, this.secure));
    const request = new OutgoingRequest(url, textHeaders(headers), chunks, options);
    return sendAuthorized(authenticator, request, this.peer, abort, (more) =>
      this.export(batch.signal, { ...headers, ...more }, chunks, abort),
    );
  }

  private export(
    signal: Signal,
    headers: OutgoingHttpHeaders,
    chunks: readonly Uint8Array[],
    abort: AbortSignal,
  ): Promise<PartialRejection | undefined> {
    const call = () => this.call(headers, chunks, abort);
    return sendTwiceIfStale(this.peer, abort, call, ({ status, response }) => {
      if (status.code !== GRPC_STATUS.OK) throw refusalOfGrpc(status);
      if (typeof response === "string") throw refusalOfUnreadable(this.peer, `the message ${response}`);
      const partial = decodeResponse(signal, "proto", response);
      if (partial === "unreadable") throw refusalOfUnreadable(this.peer, "the message is no answer to an export");
      return partial;
    });
  }

  check(abort: AbortSignal): Promise<void> {
    return checkByEmptyExport(this.signal, (batch) => this.send(batch, abort));
  }

  async stop(): Promise<void> {
    this.connection?.close();
  }

  private findAuthenticator(): void {
    const { auth, endpoint } = this.config;
    const authenticator = clientAuthenticator(auth, this.context);
    if (authenticator === undefined) return;
    const host = "path" in endpoint.address ? undefined : endpoint.address.host;
    checkGrpcAuth(authenticator, { id: auth!.authenticator, isSecure: this.secure, host });
    this.authenticator = authenticator;
  }

  private async frame(batch: Batch): Promise<readonly Uint8Array[]> {
    const { compression } = this.config;
    if (compression === "none") return [grpcFrameHeader(batch.byteLength, false), ...batch.chunks];
    const compressed = await compress(compression === "snappy" ? "x-snappy-framed" : compression, batch.bytes);
    return [grpcFrameHeader(compressed.length, true), compressed];
  }

  private async call(
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
}

function headersOf(config: OtlpGrpcConfig): OutgoingHttpHeaders {
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

/** Those that are text, which the names of HTTP/2 itself are not. */
function textHeaders(headers: OutgoingHttpHeaders): Record<string, string> {
  const named = Object.entries(headers).filter(([name]) => !name.startsWith(":"));
  return Object.fromEntries(named.map(([name, value]) => [name, String(value)]));
}
