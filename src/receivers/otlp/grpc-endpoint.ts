import type { Http2SecureServer, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Server, Socket } from "node:net";
import process from "node:process";
import { SUPPORTED_ENCODINGS } from "#codecs/compression";
import { type AuthenticatedClient, isAuthError, type ServerAuthenticator, type ServerListener } from "#contract";
import type { BuiltInReceiverContext } from "#contract/built-in";
import { waitAtMost } from "#contract/time";
import {
  connectionLimits,
  isLoopbackHost,
  type LeasedServer,
  type ListenAddress,
  leaseServer,
  listenAddress,
  loadServerTls,
  portOf,
  reloadServerTls,
} from "#net";
import { type AuthOutcome, answerOfAuthError, authenticate, http2AuthRequest, serverAuthenticator } from "#net/auth";
import { GRPC_STATUS, grpcStatusName, type RpcStatus } from "#net/otlp";
import {
  createRefusedCounters,
  createRequestIntakes,
  InFlightCounter,
  onRefusedConnection,
  type ReceiverLimits,
  type RequestDedup,
  type RequestIntake,
  type RequestRefusals,
  STOP_GRACE_MS,
  type UploadRoom,
} from "#receiving/requests";
import { pause } from "#resilience";
import type { Clock, Counter, Signal } from "../../plugin.js";
import type { GrpcConfig } from "./config.js";
import type { GrpcFormat } from "./format.js";
import { answerError, answerNotGrpc } from "./grpc-answer.js";
import { GrpcCall } from "./grpc-call.js";
import { GrpcSessions } from "./grpc-sessions.js";

const MIB = 1024 * 1024;
const DEFAULT_MAX_MIB = 4;
const DEFAULT_MAX_STREAMS = 1000;
const STREAM_WINDOW = 4 * MIB;
const CHECK_INTERVAL_MS = 500;
/** How long calls may take that have begun when another receiver takes over, and how often that is checked. */
const MAX_FINISH_MS = 30_000;
const FINISH_CHECK_MS = 20;
const ACCEPTED_ENCODINGS: readonly string[] = [
  "identity",
  ...["gzip", "deflate", "zstd", "snappy", "lz4"].filter((name) => SUPPORTED_ENCODINGS.includes(name)),
];

/**
 * Serves OTLP or another format over gRPC on one port, directly on HTTP/2. Decides from a call's headers whether to
 * read it.
 */
export class GrpcEndpoint {
  readonly config: GrpcConfig;
  readonly clock: Clock;
  readonly maxBytes: number;
  readonly uploadRoom: UploadRoom;
  readonly open = new Set<GrpcCall>();
  readonly handedIn = new InFlightCounter();
  readonly refusals: RequestRefusals;
  /** The port, once the endpoint has started. */
  port = 0;
  private isStopping = false;
  private readonly context: BuiltInReceiverContext;
  private readonly limits: ReceiverLimits;
  private readonly format: GrpcFormat;
  private readonly requestIntakes: Partial<Record<Signal, RequestIntake>>;
  private readonly sessions: GrpcSessions;
  private readonly sockets = new Set<Socket>();
  private readonly refusedCounter: (status: string) => Counter;
  private readonly authenticator: ServerAuthenticator | undefined;
  private lease: LeasedServer | undefined;
  private stopReloading = () => {};
  private stopChecking = () => {};

  constructor(
    config: GrpcConfig,
    limits: ReceiverLimits,
    uploadRoom: UploadRoom,
    context: BuiltInReceiverContext,
    format: GrpcFormat,
    dedup?: RequestDedup,
  ) {
    this.config = config;
    this.limits = limits;
    this.uploadRoom = uploadRoom;
    this.context = context;
    this.clock = context.clock;
    this.maxBytes = Math.floor((config.max_recv_msg_size_mib || DEFAULT_MAX_MIB) * MIB);
    this.format = format;
    this.refusals = format.refusals;
    this.requestIntakes = createRequestIntakes(context, "grpc", format, dedup);
    this.sessions = new GrpcSessions(context.clock, config.keepalive?.server_parameters);
    this.refusedCounter = createRefusedCounters(context, "grpc");
    this.authenticator = config.auth && serverAuthenticator(config.auth, context);
  }

  /** The address, with the actual port once the endpoint has started. */
  get address(): ListenAddress {
    const asked = listenAddress(this.config.endpoint, this.config.transport);
    return "path" in asked ? asked : { ...asked, port: this.port };
  }

  async start(): Promise<void> {
    const { endpoint, transport, tls } = this.config;
    const address = listenAddress(endpoint, transport);
    const certificates = tls && (await loadServerTls(tls, ["protocols", "grpc", "tls"]));
    this.lease = await leaseServer({
      address,
      configPath: ["protocols", "grpc", "endpoint"],
      sockets: this.context.sockets,
      kind: `${certificates ? `http2 with TLS ${String(certificates.requestCert)}` : "http2"} ${this.maxStreams}`,
      create: () => this.createServer(certificates),
      listeners: (server) => this.listeners(server),
      update(server) {
        if (certificates) (server as Http2SecureServer).setSecureContext(certificates);
      },
    });
    const server = this.lease.server as Http2SecureServer;
    this.port = portOf(server);
    if (tls) this.stopReloading = reloadServerTls(server, tls, this.clock, this.context.logger);
    const warning = "path" in address || isLoopbackHost(address.host) ? undefined : http2Warning();
    if (warning !== undefined) this.context.logger.warn({}, warning);
    this.checkTimes();
  }

  private listeners(server: Server): readonly ServerListener[] {
    const { logger } = this.context;
    return [
      ["connection", (socket: Socket) => this.track(socket)],
      ["session", (session: ServerHttp2Session) => this.sessions.add(session)],
      ["sessionError", (error: Error) => logger.debug({ error: error.message }, "a gRPC connection broke")],
      [
        "stream",
        (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: unknown, rawHeaders: string[]) =>
          this.handle(stream, headers, rawHeaders),
      ],
      ["error", (error: Error) => logger.error({ error: error.message }, "gRPC server error")],
      ...connectionLimits(server, {
        maxConnections: this.limits.max_connections,
        maxConnectionsPerClient: this.limits.max_connections_per_client,
        onRefused: onRefusedConnection(this.context, "grpc"),
      }),
    ];
  }

  async stop(): Promise<void> {
    this.stopReloading();
    if (this.lease?.isCurrent === false) return this.finishCalls();
    this.isStopping = true;
    this.stopChecking();
    const server = this.lease?.server;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const call of [...this.open]) call.refuse(this.refusals.shuttingDown);
    this.sessions.closeAll();
    await this.handedIn.whenZero();
    await waitAtMost(STOP_GRACE_MS, closed, this.clock);
    this.sessions.destroyAll();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /**
   * Another receiver has taken the server over. Clients are told to open new connections; the calls of the old ones are
   * finished here.
   */
  private async finishCalls(): Promise<void> {
    this.sessions.closeAll();
    await this.waitWhile(() => this.open.size > 0, MAX_FINISH_MS);
    await this.handedIn.whenZero();
    await this.waitWhile(() => this.sockets.size > 0, STOP_GRACE_MS);
    this.stopChecking();
    this.sessions.destroyAll();
    for (const socket of this.sockets) socket.destroy();
  }

  private async waitWhile(isTrue: () => boolean, maxMs: number): Promise<void> {
    const until = this.clock.monotonic() + maxMs;
    while (isTrue() && this.clock.monotonic() < until) await pause(FINISH_CHECK_MS, this.clock);
  }

  countRefused(status: RpcStatus): void {
    this.refusedCounter(grpcStatusName(status.code)).add(1);
    this.context.logger.debug({ status: grpcStatusName(status.code), reason: status.message }, "refused a call");
  }

  private createServer(certificates: Awaited<ReturnType<typeof loadServerTls>> | undefined): Server {
    const settings = { initialWindowSize: STREAM_WINDOW, maxConcurrentStreams: this.maxStreams };
    const { createServer, createSecureServer } = process.getBuiltinModule("node:http2");
    if (!certificates) return createServer({ settings });
    return createSecureServer({ ...certificates, settings, allowHTTP1: false });
  }

  private get maxStreams(): number {
    return this.config.max_concurrent_streams || DEFAULT_MAX_STREAMS;
  }

  private handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    stream.on("error", ignore);
    const type = headers["content-type"];
    if (!isGrpc(type)) return answerNotGrpc(stream, 415, "this port speaks gRPC; HTTP has its own", this.clock);
    if (headers[":method"] !== "POST") return answerNotGrpc(stream, 405, "gRPC calls are POSTed", this.clock);
    if (this.isStopping) return this.refuseUnread(stream, this.refusals.shuttingDown);
    if (this.authenticator === undefined) return this.handleAuthenticated(stream, headers, undefined);
    const outcome = authenticate(this.authenticator, http2AuthRequest(stream, rawHeaders));
    if (!(outcome instanceof Promise)) return this.onAuthenticated(stream, headers, outcome);
    void outcome.then((late) => this.onAuthenticated(stream, headers, late));
  }

  /** Called before any of the message has been read. */
  private onAuthenticated(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, outcome: AuthOutcome): void {
    if (stream.destroyed || stream.closed) return;
    if (isAuthError(outcome)) this.refuseUnread(stream, answerOfAuthError(outcome));
    else this.handleAuthenticated(stream, headers, outcome);
  }

  private handleAuthenticated(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    client: AuthenticatedClient | undefined,
  ): void {
    if (this.isStopping) return this.refuseUnread(stream, this.refusals.shuttingDown);
    const signal = this.format.signalOfGrpcPath(headers[":path"]);
    if (signal === undefined) return this.refuseUnread(stream, unimplementedStatus(`no method ${headers[":path"]}`));
    const requestIntake = this.requestIntakes[signal];
    if (requestIntake === undefined)
      return this.refuseUnread(stream, this.refusals.noPipeline(signal, this.context.id));
    const encoding = headers["grpc-encoding"] as string | undefined;
    if (encoding !== undefined && !ACCEPTED_ENCODINGS.includes(encoding)) {
      const message = `grpc-encoding ${encoding} is not supported; use ${ACCEPTED_ENCODINGS.join(", ")}`;
      return this.refuseUnread(stream, unimplementedStatus(message));
    }
    new GrpcCall(this, stream, headers, requestIntake, client).read();
  }

  private refuseUnread(stream: ServerHttp2Stream, status: RpcStatus): void {
    this.countRefused(status);
    answerError(stream, status, this.clock, { "grpc-accept-encoding": ACCEPTED_ENCODINGS.join(",") });
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    socket.on("close", () => this.sockets.delete(socket));
  }

  private checkTimes(): void {
    const now = this.clock.monotonic();
    for (const call of this.open) call.checkTime(now);
    const busy = new Set([...this.open].map((call) => call.session));
    this.sessions.checkTime(now, (session) => busy.has(session));
    this.stopChecking = this.clock.after(CHECK_INTERVAL_MS, () => this.checkTimes());
  }
}

function ignore(): void {}

function isGrpc(contentType: string | undefined): boolean {
  return contentType === "application/grpc" || /^application\/grpc(\+proto)?\s*(;|$)/i.test(contentType ?? "");
}

function unimplementedStatus(message: string): RpcStatus {
  return { code: GRPC_STATUS.UNIMPLEMENTED, message };
}

/**
 * The first release of each Node.js line with all known fixes for holes through which a client can harm an HTTP/2
 * server, according to the Node.js security working group. Older lines that are missing here get no more fixes.
 */
const HTTP2_FIXED: Readonly<Record<number, readonly [minor: number, patch: number]>> = {
  22: [23, 2],
  24: [18, 1],
  26: [5, 1],
};
const NEWEST_HTTP2_LINE = 26;

/** Returns a warning for users who expose HTTP/2 on this Node.js version, or undefined if it has no known holes. */
export function http2Warning(version: string = process.versions.node): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  if (major > NEWEST_HTTP2_LINE) return undefined;
  const fixed = HTTP2_FIXED[major];
  if (fixed !== undefined && (minor > fixed[0] || (minor === fixed[0] && patch >= fixed[1]))) return undefined;
  const releases = Object.entries(HTTP2_FIXED).map(([line, rest]) => [line, ...rest].join("."));
  return `Node.js ${version} has known HTTP/2 vulnerabilities that clients of a public port can exploit; use ${releases.join(", ")} or newer`;
}
