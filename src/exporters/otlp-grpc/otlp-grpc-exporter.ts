import type { ClientHttp2Session, OutgoingHttpHeaders } from "node:http2";
import {
  type Batch,
  decodeResponse,
  defineExporter,
  type Exporter,
  type ExporterContext,
  GRPC,
  type GrpcTarget,
  grpcFrameHeader,
  gzip,
  IDEMPOTENCY_HEADER,
  loadClientTls,
  OTLP_SERVICES,
  type PartialRejection,
  type Refusal,
  refusalOfAbort,
  refusalOfConnection,
  refusalOfGrpc,
  type SendOptions,
  SIGNALS,
} from "../../plugin.js";
import { CallBroken, type CallResult, unaryCall } from "./call.js";
import { type OtlpGrpcConfig, otlpGrpcConfig } from "./config.js";
import { Connection } from "./connection.js";

/** Sends OTLP over gRPC. */
export const otlpGrpcExporter = defineExporter<OtlpGrpcConfig>({
  type: "otlp_grpc",
  aliases: ["otlp"],
  summary: "Sends OTLP over gRPC.",
  signals: SIGNALS,
  schema: otlpGrpcConfig,
  create: (config, context) => new OtlpGrpcExporter(config, context),
});

class OtlpGrpcExporter implements Exporter {
  private readonly config: OtlpGrpcConfig;
  private readonly context: ExporterContext;
  private readonly headers: OutgoingHttpHeaders;
  private readonly peer: string;
  private readonly secure: boolean;
  /** Sessions that have carried a whole call: when one of these breaks, the server may just have closed it. */
  private readonly proven = new WeakSet<ClientHttp2Session>();
  private connection: Connection | undefined;

  constructor(config: OtlpGrpcConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    this.peer = nameOf(config.endpoint);
    this.secure = config.endpoint.secure ?? !config.tls?.insecure;
    this.headers = headersOf(config);
  }

  async start(): Promise<void> {
    const { endpoint: target, tls, keepalive: keepAlive } = this.config;
    const { clock } = this.context;
    const options = tls ? await loadClientTls(tls, ["tls"]) : { rejectUnauthorized: true };
    this.connection = new Connection({ target, tls: this.secure ? options : undefined, keepAlive, clock });
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    const pieces = await this.frame(batch);
    const key = options?.idempotencyKey;
    const path = OTLP_SERVICES[batch.signal].grpcPath;
    const headers = { ...this.headers, ":path": path, ...(key && { [IDEMPOTENCY_HEADER]: key }) };
    const { status, response } = await this.call(headers, pieces, abort);
    if (status.code !== GRPC.OK) throw refusalOfGrpc(status);
    return decodeResponse(batch.signal, "proto", response);
  }

  async stop(): Promise<void> {
    this.connection?.close();
  }

  private async frame(batch: Batch): Promise<readonly Uint8Array[]> {
    if (this.config.compression === "none") return [grpcFrameHeader(batch.byteLength, false), ...batch.chunks];
    const packed = await gzip(batch.bytes);
    return [grpcFrameHeader(packed.length, true), packed];
  }

  private async call(headers: OutgoingHttpHeaders, pieces: readonly Uint8Array[], abort: AbortSignal) {
    const first = this.connection!.session();
    const wasProven = this.proven.has(first);
    try {
      return await this.attempt(first, headers, pieces, abort);
    } catch (error) {
      // A connection that worked and that the server closed meanwhile says nothing about the server: once more, on a
      // new one. The server may have got the first call; sending again is what any retry would do.
      const isStale = wasProven && !(error instanceof CallBroken && error.answerBegun);
      if (!isStale || abort.aborted) throw this.refusal(error, abort);
    }
    try {
      return await this.attempt(this.connection!.session(), headers, pieces, abort);
    } catch (error) {
      throw this.refusal(error, abort);
    }
  }

  private async attempt(
    session: ClientHttp2Session,
    headers: OutgoingHttpHeaders,
    pieces: readonly Uint8Array[],
    abort: AbortSignal,
  ): Promise<CallResult> {
    if (abort.aborted) throw refusalOfAbort(this.peer, abort);
    const connection = this.connection!;
    connection.openCalls += 1;
    try {
      const result = await unaryCall(session, headers, pieces, abort);
      this.proven.add(session);
      return result;
    } catch (error) {
      if (abort.aborted) connection.doubt(session);
      throw error;
    } finally {
      connection.openCalls -= 1;
    }
  }

  private refusal(error: unknown, abort: AbortSignal): Refusal {
    if (abort.aborted) return refusalOfAbort(this.peer, abort);
    return refusalOfConnection(this.peer, error instanceof CallBroken ? error.cause : error);
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
  if (config.compression === "gzip") headers["grpc-encoding"] = "gzip";
  if (config.authority !== undefined) headers[":authority"] = config.authority;
  for (const [name, value] of Object.entries(config.headers ?? {})) {
    const lower = name.toLowerCase();
    headers[lower] = lower.endsWith("-bin") ? Buffer.from(value).toString("base64") : value;
  }
  return headers;
}

function nameOf({ address }: GrpcTarget): string {
  return "path" in address ? address.path : `${address.host}:${address.port}`;
}
