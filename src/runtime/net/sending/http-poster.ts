import type { LookupFunction } from "node:net";
import type { ClientAuthenticator, Clock, ExporterContext, SendOptions } from "#contract";
import { isRefusal } from "#contract/errors";
import { clientAuthenticator, isLocalHost, OutgoingRequest, sendAuthorized } from "../auth/authorized-send.js";
import type { HttpClientConfig } from "../http-client-keys.js";
import { Http1Client, type Http1Settings } from "../http1/client.js";
import type { Http1Answer } from "../http1/connection.js";
import { type HttpTarget, hostHeaderName, httpTarget } from "../http1/http-target.js";
import { headerLines, type RequestHead } from "../http1/request-writer.js";
import { parseRetryAfter, refusalOfHttp } from "../otlp/refusals.js";
import { MAX_ANSWER_BYTES, resendIfStale, sendHeaders } from "../otlp/sending.js";
import { loadClientTls } from "../tls-load.js";

const DEFAULT_CONNECTIONS = 100;

interface HttpPosterOptions {
  /** Resolves the host's addresses in place of the system. */
  readonly lookup?: LookupFunction | undefined;
  /** The server's name in errors, if the path of its URL is a secret. */
  readonly peer?: string;
  /** The maximum size of a response; default: 4 MiB. */
  readonly maxAnswerBytes?: number;
}

/** POSTs to one URL with all settings of an HTTP client: TLS, proxies, credentials, kept connections. */
export class HttpPoster {
  private readonly config: HttpClientConfig;
  private readonly context: ExporterContext;
  private readonly target: HttpTarget;
  private readonly lookup: LookupFunction | undefined;
  private readonly peer: string;
  private readonly maxAnswerBytes: number | undefined;
  private client: Http1Client | undefined;
  private authenticator: ClientAuthenticator | undefined;

  constructor(
    url: URL,
    config: HttpClientConfig,
    headers: Readonly<Record<string, string>>,
    context: ExporterContext,
    { lookup, peer, maxAnswerBytes }: HttpPosterOptions = {},
  ) {
    this.config = config;
    this.context = context;
    this.lookup = lookup;
    this.target = httpTarget(url, config, headers);
    this.peer = peer ?? this.target.url;
    this.maxAnswerBytes = maxAnswerBytes;
  }

  get metadataKeys(): readonly string[] {
    return this.authenticator?.metadataKeys ?? [];
  }

  async start(): Promise<void> {
    const { config, context, target } = this;
    this.authenticator = clientAuthenticator(config.auth, context);
    if (this.authenticator?.isConfidential && !target.isSecure && !isLocalHost(target.host))
      context.logger.warn({ url: this.peer }, "credentials are sent without TLS: anyone on the network can read them");
    const loaded = config.tls ? await loadClientTls(config.tls, ["tls"]) : { rejectUnauthorized: true };
    const servername = hostHeaderName(config);
    const tls = servername === undefined ? loaded : { servername, ...loaded };
    const { host, port, proxy, isSecure } = target;
    const origin = { host, port, proxy, lookup: this.lookup, ...(isSecure && { tls }) };
    const { maxAnswerBytes = MAX_ANSWER_BYTES } = this;
    this.client = new Http1Client(origin, { ...clientSettings(config, context), maxAnswerBytes });
  }

  /**
   * Resolves with the result of `read`, which throws a `Refusal` for an error response. `headers` apply to this request
   * only.
   */
  post<T>(
    body: readonly Uint8Array[],
    abort: AbortSignal,
    options: SendOptions | undefined,
    read: (answer: Http1Answer) => T,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    const { authenticator, target } = this;
    const own = { ...sendHeaders(options), ...headers };
    const send = (head: RequestHead) => {
      const whole = withHeaders(head, own);
      const request = (isResend: boolean) => this.client!.request(whole, body, abort, isResend);
      return resendIfStale(this.peer, abort, request, read);
    };
    if (authenticator === undefined) return send(target.head);
    const request = new OutgoingRequest(target.requestUrl, target.headers, body, options);
    return sendAuthorized(authenticator, request, this.peer, abort, (headers) => send(target.headWith(headers)));
  }

  /** PUTs to a URL of the same origin, with these headers and without an authenticator. */
  put<T>(
    url: URL,
    body: readonly Uint8Array[],
    abort: AbortSignal,
    options: SendOptions | undefined,
    read: (answer: Http1Answer) => T,
    headers: Readonly<Record<string, string>>,
  ): Promise<T> {
    const head = withHeaders(httpTarget(url, this.config, headers, "PUT").head, sendHeaders(options));
    const request = (isResend: boolean) => this.client!.request(head, body, abort, isResend);
    return resendIfStale(this.peer, abort, request, read);
  }

  stop(): void {
    this.client?.close();
  }
}

/** Connection limits and timeouts of a client. */
export function clientSettings(config: HttpClientConfig, { clock }: Pick<ExporterContext, "clock">): Http1Settings {
  // All connections lead to one host, so that the smaller of both limits counts. Without either, all of them may idle.
  const noLimit = Number.POSITIVE_INFINITY;
  const maxIdle = Math.min(config.max_idle_conns_per_host || noLimit, config.max_idle_conns || noLimit);
  return {
    clock,
    maxConnections: config.max_conns_per_host || DEFAULT_CONNECTIONS,
    maxIdle: config.disable_keep_alives ? 0 : maxIdle,
    idleTimeoutMs: config.idle_conn_timeout,
    maxAnswerBytes: MAX_ANSWER_BYTES,
  };
}

function withHeaders({ method, text }: RequestHead, headers: Readonly<Record<string, string>>): RequestHead {
  return { method, text: text + headerLines(headers) };
}

/** The beginning of a response, if it is readable text. */
export function plainText(body: Buffer): string {
  const text = body.subarray(0, 300).toString("utf8").trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for control characters
  return /[\u0000-\u0008\ufffd]/.test(text) ? "" : text;
}

/**
 * Reads a response; only its status matters. A redirect counts as an error: requests go only where the config
 * says.
 */
export function answerReader(clock: Clock): (answer: Http1Answer) => void {
  return ({ status, headers, body }) => {
    if (status >= 200 && status < 300) return;
    throw refusalOfHttp(status, plainText(body), parseRetryAfter(headers.get("retry-after"), clock.now()));
  };
}

/** Several equivalent servers: one is used until it fails, then the next. */
export class PostersInTurn {
  private readonly posters: readonly HttpPoster[];
  private current = 0;

  constructor(posters: readonly HttpPoster[]) {
    this.posters = posters;
  }

  get metadataKeys(): readonly string[] {
    return this.posters[0]!.metadataKeys;
  }

  async start(): Promise<void> {
    for (const poster of this.posters) await poster.start();
  }

  /** Makes a request to the current server. A permanent refusal does not switch servers: any of them would refuse. */
  async use<T>(request: (poster: HttpPoster) => Promise<T>): Promise<T> {
    const used = this.current;
    try {
      return await request(this.posters[used]!);
    } catch (error) {
      const concernsServer = !isRefusal(error) || error.kind !== "permanent";
      if (used === this.current && concernsServer) this.current = (used + 1) % this.posters.length;
      throw error;
    }
  }

  stop(): void {
    for (const poster of this.posters) poster.stop();
  }
}
