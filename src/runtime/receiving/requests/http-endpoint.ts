import type { IncomingMessage, ServerResponse } from "node:http";
import { SUPPORTED_ENCODINGS } from "#codecs/compression";
import { type AuthenticatedClient, type Clock, type Counter, isAuthError, type ServerAuthenticator } from "#contract";
import type { BuiltInReceiverContext } from "#contract/built-in";
import { type ListenAddress, type ListeningServer, listenAddress, startHttpServer } from "#net";
import { type AuthOutcome, answerOfAuthError, authenticate, httpAuthRequest, serverAuthenticator } from "#net/auth";
import type { ErrorAnswer } from "#net/otlp";
import { SIGNALS, type Signal } from "#otlp/signals";
import { pause } from "#resilience";
import { Cors } from "./cors.js";
import {
  answerEarly,
  errorAnswer,
  formatAnswer,
  type HeaderList,
  type HttpAnswer,
  HttpExchange,
} from "./http-exchange.js";
import { createRefusedCounters, onRefusedConnection } from "./refused-requests.js";
import type { BodyEncoding, FormatAnswer, RequestFormat, RequestRefusals } from "./request-format.js";
import {
  createRequestIntakes,
  InFlightCounter,
  type RequestDedup,
  RequestIntake,
  STOP_GRACE_MS,
} from "./request-intake.js";
import type { HttpServerConfig, ReceiverLimits } from "./server-keys.js";
import type { UploadRoom } from "./upload.js";

const DEFAULT_MAX_BYTES = 20 * 1024 * 1024;
/** Up to this many bytes from a client that is not let in are discarded to keep its connection. */
const MAX_UNREAD_BYTES = 16 * 1024;
/** How long requests may take that have begun when another receiver takes over, and how often that is checked. */
const MAX_FINISH_MS = 30_000;
const FINISH_CHECK_MS = 20;
/** More is not worth the wait. */
const DEFAULT_MAX_DISCARD_BYTES = 1024 * 1024;

/** Everything that one receiver's HTTP server differs in from another's. */
export interface HttpEndpointSettings {
  readonly config: HttpServerConfig;
  /** The path of keys that `config` is at. */
  readonly configPath: readonly string[];
  readonly limits: Pick<ReceiverLimits, "max_connections" | "max_connections_per_client">;
  /** Shared by all endpoints of a receiver. */
  readonly uploadRoom: UploadRoom;
  readonly format: RequestFormat;
  /** The path of each signal. Several signals may have the same path if the format tells them apart. */
  readonly paths: Partial<Record<Signal, string>>;
  /** The signal of requests at all other paths; without it they are refused. */
  readonly anyPath?: Signal;
  readonly dedup?: RequestDedup | undefined;
  /** Up to this many bytes of a refused request are read and discarded to keep its connection; default 1 MiB. */
  readonly maxDiscardBytes?: number;
}

/**
 * The HTTP server of a receiver. It listens, with TLS if asked to, bounds connections and bodies, lets in only
 * authenticated clients, decompresses within bounds, hands in, answers, and drains when it stops. The receiver gives
 * the paths and the format. Whether a request is read is decided from its head.
 */
export class HttpEndpoint {
  readonly config: HttpServerConfig;
  readonly clock: Clock;
  readonly maxBytes: number;
  readonly uploadRoom: UploadRoom;
  readonly open = new Set<HttpExchange>();
  readonly handedIn = new InFlightCounter();
  readonly refusals: RequestRefusals;
  /** Set when requests are still processed, but not on the same connection as the ones before. */
  closesConnections = false;
  isStopping = false;
  private readonly context: BuiltInReceiverContext;
  private readonly settings: HttpEndpointSettings;
  /** By path: the intake, or the answer if there is none. */
  private readonly routes: ReadonlyMap<string, RequestIntake | ErrorAnswer>;
  private readonly compressions: ReadonlySet<string>;
  private readonly cors: Cors | undefined;
  private readonly fixedHeaders: HeaderList;
  private readonly authenticator: ServerAuthenticator | undefined;
  private readonly refusedCounter: (reason: string) => Counter;
  private server: ListeningServer | undefined;

  constructor(settings: HttpEndpointSettings, context: BuiltInReceiverContext) {
    const { config } = settings;
    this.settings = settings;
    this.config = config;
    this.uploadRoom = settings.uploadRoom;
    this.refusals = settings.format.refusals;
    this.context = context;
    this.clock = context.clock;
    this.maxBytes = config.max_request_body_size || DEFAULT_MAX_BYTES;
    this.routes = routesOf(settings, context);
    this.compressions = new Set(config.compression_algorithms ?? ["", ...SUPPORTED_ENCODINGS]);
    this.cors = Cors.of(config.cors);
    this.fixedHeaders = Object.entries(config.response_headers ?? {}).flat();
    this.refusedCounter = createRefusedCounters(context, "http");
    this.authenticator = config.auth && serverAuthenticator(config.auth, context);
  }

  /** The address, with the actual port once the endpoint has started. */
  get address(): ListenAddress {
    const asked = listenAddress(this.config.endpoint, this.config.transport);
    return "path" in asked ? asked : { ...asked, port: this.port };
  }

  /** The port, once the endpoint has started. */
  get port(): number {
    const { address } = this.server ?? {};
    return address !== undefined && "port" in address ? address.port : 0;
  }

  async start(): Promise<void> {
    const { config, context, settings } = this;
    const { configPath, limits } = settings;
    const { logger } = context;
    this.server = await startHttpServer({
      address: listenAddress(config.endpoint, config.transport),
      configPath: [...configPath, "endpoint"],
      tls: config.tls,
      tlsPath: [...configPath, "tls"],
      clock: this.clock,
      logger,
      sockets: context.sockets,
      timeouts: timeoutsOf(config),
      keepsAlive: config.keep_alives_enabled,
      connections: {
        maxConnections: limits.max_connections,
        maxConnectionsPerClient: limits.max_connections_per_client,
        onRefused: onRefusedConnection(context, "http"),
      },
      listener: (request, response) => this.handle(request, response, false),
      onContinue: (request, response) => this.handle(request, response, true),
      onError: (error) => logger.error({ error: error.message }, "HTTP server error"),
    });
  }

  /**
   * A worker first goes on for a moment, and closes connections with its answers: other workers take the next requests.
   * Then requests that are still being read get a retryable error; requests that were handed in get their answer. If
   * another receiver has taken the server over, requests that have begun are read to their end.
   */
  async stop(): Promise<void> {
    if (this.server?.isHandedOver) await this.finishOpen();
    this.closesConnections = true;
    await this.server?.retire();
    this.isStopping = true;
    await this.server?.drain(() => {
      for (const exchange of [...this.open]) exchange.refuse(this.refusals.shuttingDown);
      return this.handedIn.whenZero();
    }, STOP_GRACE_MS);
  }

  /** Waits for the requests that have begun, as long as a request may take by default. */
  private async finishOpen(): Promise<void> {
    const until = this.clock.monotonic() + MAX_FINISH_MS;
    while (this.open.size > 0 && this.clock.monotonic() < until) await pause(FINISH_CHECK_MS, this.clock);
  }

  /** Headers of every answer to this request. */
  extraHeaders(request: IncomingMessage): HeaderList {
    if (this.cors === undefined) return this.fixedHeaders;
    return [...this.fixedHeaders, ...this.cors.answerHeaders(request)];
  }

  /** Answers a request whose body is still arriving: see `answerEarly` of http-exchange.ts. */
  answerEarly(request: IncomingMessage, response: ServerResponse, answer: HttpAnswer, isUnread = false): void {
    const { maxDiscardBytes = DEFAULT_MAX_DISCARD_BYTES } = this.settings;
    answerEarly(request, response, answer, this.clock, maxDiscardBytes, isUnread);
  }

  countRefused(error: Pick<ErrorAnswer, "httpStatus" | "message">): void {
    this.refusedCounter(String(error.httpStatus)).add(1);
    this.context.logger.debug({ status: error.httpStatus, reason: error.message }, "refused a request");
  }

  private handle(request: IncomingMessage, response: ServerResponse, waitsForContinue: boolean): void {
    if (this.closesConnections) response.shouldKeepAlive = false;
    if (this.isStopping) return this.refuseUnread(request, response, this.refusals.shuttingDown);
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
    if (this.isStopping) return this.refuseUnread(request, response, this.refusals.shuttingDown);
    const early = this.settings.format.answerHead?.(request);
    if (early !== undefined) return this.answerFromHead(request, response, early);
    const { refusals } = this;
    if (route === undefined)
      return this.refuseUnread(request, response, refusals.notFound(request.url, [...this.routes.keys()]));
    if (request.method !== "POST") return this.refuseUnread(request, response, refusals.wrongMethod, ["Allow", "POST"]);
    if (!(route instanceof RequestIntake)) return this.refuseUnread(request, response, route);
    const encoding = this.encodingOf(request);
    if (encoding === undefined) return this.refuseUnread(request, response, refusals.wrongType);
    const compression = request.headers["content-encoding"]?.trim().toLowerCase() ?? "";
    const isCompressed = compression !== "" && compression !== "identity";
    if (isCompressed ? !this.canDecompress(compression) : !this.compressions.has("")) {
      const accepted = this.acceptedEncodings();
      const refusal = refusals.wrongCompression(compression || "identity", accepted);
      return this.refuseUnread(request, response, refusal, ["Accept-Encoding", accepted]);
    }
    if (Number(request.headers["content-length"] ?? 0) > this.maxBytes) {
      return this.refuseUnread(request, response, refusals.tooLarge(this.maxBytes));
    }
    if (waitsForContinue) response.writeContinue();
    new HttpExchange(this, request, response, route, encoding, isCompressed ? compression : undefined, client).read();
  }

  private routeOf(url: string): RequestIntake | ErrorAnswer | undefined {
    const { paths, anyPath } = this.settings;
    const known = this.routes.get(url) ?? this.routes.get(url.split("?", 1)[0]!);
    return known ?? (anyPath === undefined ? undefined : this.routes.get(paths[anyPath]!));
  }

  private preflight(request: IncomingMessage, response: ServerResponse, cors: Cors): void {
    const headers = [...this.fixedHeaders, ...cors.preflightHeaders(request)];
    this.answerEarly(request, response, { status: 204, headers, body: Buffer.alloc(0) });
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
    if (request.headers.expect !== undefined) response.shouldKeepAlive = false;
    const encoding = this.encodingOf(request);
    const headers = [...this.extraHeaders(request), ...extraHeaders];
    request.on("error", () => {});
    this.answerEarly(request, response, errorAnswer(answer, this.settings.format, encoding, headers));
  }

  /** Answers as the format says; an error counts as a refusal. */
  private answerFromHead(request: IncomingMessage, response: ServerResponse, answer: FormatAnswer): void {
    if (answer.status >= 400) this.countRefused({ httpStatus: answer.status, message: answer.body });
    if (request.headers.expect !== undefined) response.shouldKeepAlive = false;
    request.on("error", () => {});
    this.answerEarly(request, response, formatAnswer(answer, this.extraHeaders(request)));
  }

  private encodingOf(request: IncomingMessage): BodyEncoding | undefined {
    return this.settings.format.encodingOf(request.headers["content-type"], request.url ?? "/");
  }

  private canDecompress(compression: string): boolean {
    return this.compressions.has(compression) && SUPPORTED_ENCODINGS.includes(compression);
  }

  private acceptedEncodings(): string {
    return [...this.compressions].map((name) => name || "identity").join(", ");
  }
}

function routesOf(
  { paths, format, dedup }: HttpEndpointSettings,
  context: BuiltInReceiverContext,
): Map<string, RequestIntake | ErrorAnswer> {
  const requestIntakes = createRequestIntakes(context, "http", format, dedup);
  const routes = new Map<string, RequestIntake | ErrorAnswer>();
  for (const signal of SIGNALS) {
    const path = paths[signal];
    if (path === undefined || routes.get(path) instanceof RequestIntake) continue;
    routes.set(path, requestIntakes[signal] ?? format.refusals.noPipeline(signal, context.id));
  }
  return routes;
}

function timeoutsOf(config: HttpServerConfig) {
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
  };
}
