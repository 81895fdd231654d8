import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Server as TlsServer } from "node:https";
import process from "node:process";
import type { Dedup } from "#brokers";
import { SUPPORTED_ENCODINGS } from "#codecs/compression";
import { type AuthenticatedClient, isAuthError, type ServerAuthenticator, waitAtMost } from "#contract";
import { limitConnections, listen, listenAddress, loadServerTls, reloadServerTls } from "#net";
import { type AuthOutcome, answerOfAuthError, authenticate, httpAuthRequest, serverAuthenticator } from "#net/auth";
import { type ErrorAnswer, GRPC_STATUS } from "#net/otlp";
import { type Clock, type Counter, type ReceiverContext, SIGNALS, type Signal } from "../../plugin.js";
import type { HttpConfig, HttpServerConfig, ReceiverLimits } from "./config.js";
import { Cors } from "./cors.js";
import { answerEarly, errorAnswer, type HeaderList } from "./http-answer.js";
import { HttpExchange } from "./http-exchange.js";
import { InFlightCounter, STOP_GRACE_MS } from "./in-flight-counter.js";
import { createRefusedCounters, onRefusedConnection } from "./refused-requests.js";
import {
  type BodyEncoding,
  createRequestIntakes,
  noPipelineMessage,
  OTLP_FORMAT,
  type RequestFormat,
  type RequestIntake,
} from "./request-intake.js";
import { SHUTTING_DOWN, tooLarge } from "./upload.js";
import type { UploadRoom } from "./upload-room.js";

const DEFAULT_MAX_BYTES = 20 * 1024 * 1024;
/** Up to this many bytes from a rejected client are discarded to keep its connection. */
const MAX_UNREAD_BYTES = 16 * 1024;

/** One format over HTTP: its config key and the path of each signal. */
export interface HttpProtocol {
  readonly key: string;
  readonly format: RequestFormat;
  readonly paths: Partial<Record<Signal, string>>;
}

/** Serves OTLP or another format over HTTP on one port. Decides from a request's head whether to read it. */
export class HttpEndpoint {
  readonly config: HttpServerConfig;
  readonly clock: Clock;
  readonly maxBytes: number;
  readonly uploadRoom: UploadRoom;
  readonly open = new Set<HttpExchange>();
  readonly handedIn = new InFlightCounter();
  isStopping = false;
  /** The port, once the endpoint has started. */
  port = 0;
  private readonly context: ReceiverContext;
  private readonly limits: ReceiverLimits;
  private readonly protocol: HttpProtocol;
  /** By path: the intake, or the reason there is none. */
  private readonly routes: ReadonlyMap<string, RequestIntake | string>;
  private readonly compressions: ReadonlySet<string>;
  private readonly cors: Cors | undefined;
  private readonly fixedHeaders: HeaderList;
  private readonly authenticator: ServerAuthenticator | undefined;
  private readonly refusedCounter: (reason: string) => Counter;
  private server: Server | TlsServer | undefined;
  private stopReloading = () => {};

  constructor(
    config: HttpServerConfig,
    limits: ReceiverLimits,
    uploadRoom: UploadRoom,
    context: ReceiverContext,
    protocol: HttpProtocol,
    dedup?: Dedup,
  ) {
    this.config = config;
    this.protocol = protocol;
    this.limits = limits;
    this.uploadRoom = uploadRoom;
    this.context = context;
    this.clock = context.clock;
    this.maxBytes = config.max_request_body_size || DEFAULT_MAX_BYTES;
    this.routes = routesOf(protocol, context, dedup);
    this.compressions = new Set(config.compression_algorithms ?? ["", ...SUPPORTED_ENCODINGS]);
    this.cors = Cors.of(config.cors);
    this.fixedHeaders = Object.entries(config.response_headers ?? {}).flat();
    this.refusedCounter = createRefusedCounters(context, "http");
    this.authenticator = config.auth && serverAuthenticator(config.auth, context);
  }

  async start(): Promise<void> {
    const server = await this.createServer();
    server.on("checkContinue", (request, response) => this.handle(request, response, true));
    limitConnections(server, {
      maxConnections: this.limits.max_connections,
      maxConnectionsPerClient: this.limits.max_connections_per_client,
      onRefused: onRefusedConnection(this.context, "http"),
    });
    this.server = server;
    const { endpoint, transport } = this.config;
    this.port = await listen(server, listenAddress(endpoint, transport), ["protocols", this.protocol.key, "endpoint"]);
    server.on("error", (error) => this.context.logger.error({ error: error.message }, "HTTP server error"));
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    this.stopReloading();
    const { server } = this;
    if (!server?.listening) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const exchange of [...this.open]) exchange.refuse(SHUTTING_DOWN);
    await this.handedIn.whenZero();
    await waitAtMost(STOP_GRACE_MS, closed, this.clock);
    server.closeAllConnections();
    await closed;
  }

  /** Headers of every answer to this request. */
  extraHeaders(request: IncomingMessage): HeaderList {
    if (this.cors === undefined) return this.fixedHeaders;
    return [...this.fixedHeaders, ...this.cors.answerHeaders(request)];
  }

  countRefused(error: ErrorAnswer): void {
    this.refusedCounter(String(error.httpStatus)).add(1);
    this.context.logger.debug({ status: error.httpStatus, reason: error.message }, "refused a request");
  }

  private async createServer(): Promise<Server | TlsServer> {
    const handler = (request: IncomingMessage, response: ServerResponse) => this.handle(request, response, false);
    const options = serverOptions(this.config);
    const { tls } = this.config;
    const server = tls
      ? process
          .getBuiltinModule("node:https")
          .createServer({ ...options, ...(await loadServerTls(tls, ["protocols", this.protocol.key, "tls"])) }, handler)
      : createServer(options, handler);
    if (tls) this.stopReloading = reloadServerTls(server as TlsServer, tls, this.clock, this.context.logger);
    if (!this.config.keep_alives_enabled) server.maxRequestsPerSocket = 1;
    return server;
  }

  private handle(request: IncomingMessage, response: ServerResponse, waitsForContinue: boolean): void {
    if (this.isStopping) return this.refuseUnread(request, response, SHUTTING_DOWN);
    // Browsers send no credentials with a preflight request.
    if (request.method === "OPTIONS" && this.cors && this.routeOf(request.url ?? "/") !== undefined)
      return this.preflight(request, response, this.cors);
    if (this.authenticator === undefined)
      return this.handleAuthenticated(request, response, waitsForContinue, undefined);
    const outcome = authenticate(this.authenticator, httpAuthRequest(request));
    if (!(outcome instanceof Promise)) return this.onAuthenticated(request, response, waitsForContinue, outcome);
    request.on("error", () => {});
    void outcome.then((late) => {
      if (!response.destroyed) this.onAuthenticated(request, response, waitsForContinue, late);
    });
  }

  /** Called before any of the body has been read. */
  private onAuthenticated(
    request: IncomingMessage,
    response: ServerResponse,
    waitsForContinue: boolean,
    outcome: AuthOutcome,
  ): void {
    if (!isAuthError(outcome)) return this.handleAuthenticated(request, response, waitsForContinue, outcome);
    const challenge = outcome.kind === "unauthenticated" ? ["WWW-Authenticate", this.authenticator!.challenge] : [];
    // Nothing is read from a rejected client, except a short body to keep the connection.
    if (!request.complete && !(Number(request.headers["content-length"] ?? Number.NaN) <= MAX_UNREAD_BYTES))
      response.shouldKeepAlive = false;
    this.refuseUnread(request, response, answerOfAuthError(outcome), challenge);
  }

  private handleAuthenticated(
    request: IncomingMessage,
    response: ServerResponse,
    waitsForContinue: boolean,
    client: AuthenticatedClient | undefined,
  ): void {
    const route = this.routeOf(request.url ?? "/");
    if (this.isStopping) return this.refuseUnread(request, response, SHUTTING_DOWN);
    if (route === undefined) return this.refuseUnread(request, response, this.notFound(request.url));
    if (request.method !== "POST") return this.refuseUnread(request, response, WRONG_METHOD, ["Allow", "POST"]);
    if (typeof route === "string")
      return this.refuseUnread(request, response, httpError(404, GRPC_STATUS.UNIMPLEMENTED, route));
    const encoding = this.encodingOf(request);
    if (encoding === undefined) return this.refuseUnread(request, response, this.wrongType());
    const compression = request.headers["content-encoding"]?.trim().toLowerCase() ?? "";
    const isCompressed = compression !== "" && compression !== "identity";
    if (isCompressed ? !this.canDecompress(compression) : !this.compressions.has("")) {
      return this.refuseUnread(request, response, this.unsupportedEncoding(compression), [
        "Accept-Encoding",
        this.acceptedEncodings(),
      ]);
    }
    if (Number(request.headers["content-length"] ?? 0) > this.maxBytes) {
      return this.refuseUnread(request, response, tooLarge(this.maxBytes));
    }
    if (waitsForContinue) response.writeContinue();
    new HttpExchange(this, request, response, route, encoding, isCompressed ? compression : undefined, client).read();
  }

  private routeOf(url: string): RequestIntake | string | undefined {
    return this.routes.get(url) ?? this.routes.get(url.split("?", 1)[0]!);
  }

  private preflight(request: IncomingMessage, response: ServerResponse, cors: Cors): void {
    const headers = [...this.fixedHeaders, ...cors.preflightHeaders(request)];
    answerEarly(request, response, { status: 204, headers, body: Buffer.alloc(0) }, this.clock);
  }

  /** Answers from the head alone without reading the body. */
  private refuseUnread(
    request: IncomingMessage,
    response: ServerResponse,
    answer: ErrorAnswer,
    extraHeaders: HeaderList = [],
  ) {
    this.countRefused(answer);
    // A client that asked for 100-continue may or may not send its body anyway.
    if (this.isStopping || request.headers.expect !== undefined) response.shouldKeepAlive = false;
    const encoding = this.encodingOf(request);
    const headers = [...this.extraHeaders(request), ...extraHeaders];
    request.on("error", () => {});
    answerEarly(request, response, errorAnswer(answer, encoding, headers), this.clock);
  }

  private encodingOf(request: IncomingMessage): BodyEncoding | undefined {
    return this.protocol.format.encodingOf(request.headers["content-type"]);
  }

  private notFound(url: string | undefined): ErrorAnswer {
    const taken = `${this.protocol.format.name} is taken at ${[...this.routes.keys()].join(", ")}`;
    return httpError(404, GRPC_STATUS.UNIMPLEMENTED, `404 nothing is at ${String(url).slice(0, 100)}; ${taken}`);
  }

  private wrongType(): ErrorAnswer {
    const message = `415 unsupported media type; use ${this.protocol.format.contentTypes}`;
    return httpError(415, GRPC_STATUS.INVALID_ARGUMENT, message);
  }

  private canDecompress(compression: string): boolean {
    return this.compressions.has(compression) && SUPPORTED_ENCODINGS.includes(compression);
  }

  private acceptedEncodings(): string {
    return [...this.compressions].map((name) => name || "identity").join(", ");
  }

  private unsupportedEncoding(compression: string): ErrorAnswer {
    const name = compression || "identity";
    return httpError(
      415,
      GRPC_STATUS.INVALID_ARGUMENT,
      `Content-Encoding ${name} is not accepted; use ${this.acceptedEncodings()}`,
    );
  }
}

function httpError(httpStatus: number, code: number, message: string): ErrorAnswer {
  return { httpStatus, code, message };
}

const WRONG_METHOD = httpError(405, GRPC_STATUS.UNIMPLEMENTED, "405 method not allowed; records are POSTed");

export function otlpOverHttp(config: HttpConfig): HttpProtocol {
  const paths = { logs: config.logs_url_path, traces: config.traces_url_path, metrics: config.metrics_url_path };
  return { key: "http", format: OTLP_FORMAT, paths };
}

function routesOf(
  { paths, format }: HttpProtocol,
  context: ReceiverContext,
  dedup?: Dedup,
): Map<string, RequestIntake | string> {
  const requestIntakes = createRequestIntakes(context, "http", format, dedup);
  return new Map(
    SIGNALS.flatMap((signal) => {
      const path = paths[signal];
      return path === undefined ? [] : [[path, requestIntakes[signal] ?? noPipelineMessage(signal, context.id)]];
    }),
  );
}

function serverOptions(config: HttpServerConfig) {
  const requestTimeout = config.read_timeout;
  const headersTimeout = Math.min(
    config.read_header_timeout || requestTimeout,
    requestTimeout || Number.MAX_SAFE_INTEGER,
  );
  const checked = [requestTimeout, headersTimeout].filter((ms) => ms > 0);
  return {
    requestTimeout,
    headersTimeout,
    keepAliveTimeout: config.idle_timeout,
    connectionsCheckingInterval: Math.max(50, Math.min(5000, ...checked)),
    noDelay: true,
  };
}
