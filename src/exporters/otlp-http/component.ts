import { compress } from "#codecs/compression";
import type { AuthHeaders, ClientAuthenticator } from "#contract";
import { defineBuiltInExporter } from "#contract/built-in";
import {
  type Http1Answer,
  Http1Client,
  type HttpTarget,
  headerLines,
  hostHeaderName,
  httpTarget,
  loadClientTls,
  type RequestHead,
  type TlsClientOptions,
} from "#net";
import { clientAuthenticator, isLocalHost, OutgoingRequest, sendAuthorized } from "#net/auth";
import {
  checkByEmptyExport,
  contentTypeOf,
  decodeResponse,
  decodeStatus,
  encodingOf,
  OTLP_SERVICES,
  type OtlpEncoding,
  parseRetryAfter,
  refusalOfHttp,
  refusalOfUnreadable,
  resendIfStale,
  SendKeys,
  sendHeaders,
} from "#net/otlp";
import { clientSettings, plainText } from "#net/sending";
import { batchToJsonBytesInSteps } from "#otlp/json";
import { inTurns } from "#work";
import {
  type Batch,
  type Exporter,
  type ExporterContext,
  limitedLog,
  type PartialRejection,
  Refusal,
  type SendOptions,
  SIGNALS,
  type Signal,
} from "../../plugin.js";
import { type OtlpHttpConfig, otlpHttpSchema } from "./config.js";

/** Sends OTLP over HTTP. */
export const otlpHttpExporter = defineBuiltInExporter<OtlpHttpConfig>({
  type: "otlp_http",
  aliases: ["otlphttp"],
  summary: "Sends OTLP over HTTP, as protobuf or JSON.",
  signals: SIGNALS,
  defaults: { timeout: "30s" },
  schema: otlpHttpSchema,
  refusesSignal: (config, signal) =>
    hasTarget(config, signal) ? undefined : `it has neither "endpoint" nor "${signal}_endpoint"`,
  create: (config, context) => new OtlpHttpExporter(config, context),
});

type Body = readonly Uint8Array[];

/** A request, apart from where it goes: redirects change only that. */
interface Sending {
  readonly endpoint: HttpTarget;
  readonly body: Body;
  readonly abort: AbortSignal;
  readonly signal: Signal;
  readonly options: SendOptions | undefined;
  /** Header lines of this request. */
  readonly own: string;
}

class OtlpHttpExporter implements Exporter {
  private readonly config: OtlpHttpConfig;
  private readonly context: ExporterContext;
  private readonly targets: ReadonlyMap<Signal, HttpTarget>;
  /** Clients by origin. */
  private readonly clients = new Map<string, Http1Client>();
  /** The signal of the last batch, which the backend presumably accepts. */
  private signal: Signal;
  private readonly keys = new SendKeys();
  private authenticator: ClientAuthenticator | undefined;
  private tls: TlsClientOptions | undefined;
  private readonly logRedirect: (urls: { readonly from: string; readonly to: string }) => void;
  /** The request head of each target, with the headers that its authenticator gave last. */
  private readonly authorizedHeads = new Map<
    HttpTarget,
    { readonly headers: AuthHeaders; readonly head: RequestHead }
  >();

  constructor(config: OtlpHttpConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    this.targets = httpTargets(config);
    this.signal = [...this.targets.keys()][0]!;
    this.logRedirect = limitedLog(context.clock, ({ from, to }, suppressed) =>
      context.logger.warn(
        { from, to, suppressed },
        "the backend redirects requests, so each is sent twice; use the new address in the config",
      ),
    );
  }

  get metadataKeys(): readonly string[] {
    return this.authenticator?.metadataKeys ?? [];
  }

  async start(): Promise<void> {
    this.findAuthenticator();
    const loaded = this.config.tls ? await loadClientTls(this.config.tls, ["tls"]) : { rejectUnauthorized: true };
    const servername = hostHeaderName(this.config);
    const tls = servername === undefined ? loaded : { servername, ...loaded };
    this.tls = tls;
    const settings = clientSettings(this.config, this.context);
    for (const { origin, host, port, isSecure, proxy } of this.targets.values()) {
      if (this.clients.has(origin)) continue;
      this.clients.set(origin, new Http1Client({ host, port, proxy, ...(isSecure && { tls }) }, settings));
    }
  }

  send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    const target = this.targets.get(batch.signal);
    if (target === undefined) return Promise.reject(noEndpoint(batch.signal));
    this.signal = batch.signal;
    const body = this.encodeBody(batch);
    if (!(body instanceof Promise)) return this.sendBody(target, body, abort, batch.signal, options);
    return body.then((encoded) => this.sendBody(target, encoded, abort, batch.signal, options));
  }

  check(abort: AbortSignal): Promise<void> {
    return checkByEmptyExport(this.signal, (batch) => this.send(batch, abort));
  }

  async stop(): Promise<void> {
    for (const client of this.clients.values()) client.close();
  }

  private sendBody(endpoint: HttpTarget, body: Body, abort: AbortSignal, signal: Signal, options?: SendOptions) {
    const own = headerLines(sendHeaders(options)) + (options?.idempotencyKey ? "" : this.keys.nextLine());
    return this.sendTo(endpoint, { endpoint, body, abort, signal, options, own });
  }

  private sendTo(target: HttpTarget, sending: Sending, redirect?: Redirect): Promise<PartialRejection | undefined> {
    const { authenticator } = this;
    const { own, body, options, abort } = sending;
    if (authenticator === undefined || redirect?.isOwnHost === false)
      return this.post(target, withLines(target.head, own), sending, redirect);
    const request = new OutgoingRequest(target.requestUrl, target.headers, body, options);
    return sendAuthorized(authenticator, request, target.url, abort, (headers) =>
      this.post(target, withLines(this.headWith(target, headers), own), sending, redirect),
    );
  }

  private headWith(target: HttpTarget, headers: AuthHeaders): RequestHead {
    const last = this.authorizedHeads.get(target);
    if (last?.headers === headers) return last.head;
    const head = target.headWith(headers);
    this.authorizedHeads.set(target, { headers, head });
    return head;
  }

  private findAuthenticator(): void {
    this.authenticator = clientAuthenticator(this.config.auth, this.context);
    if (!this.authenticator?.isConfidential) return;
    const warning = "credentials are sent without TLS: anyone on the network can read them";
    for (const { isSecure, host, url } of this.targets.values())
      if (!isSecure && !isLocalHost(host)) this.context.logger.warn({ url }, warning);
  }

  private encodeBody(batch: Batch): Body | Promise<Body> {
    const { encoding, compression } = this.config;
    if (encoding !== "json") return compression === "none" ? batch.chunks : this.packed(batch.bytes);
    const json = inTurns(batchToJsonBytesInSteps(batch));
    return json instanceof Promise ? json.then((bytes) => this.packed(bytes)) : this.packed(json);
  }

  private packed(plain: Uint8Array): Body | Promise<Body> {
    const { compression, compression_params: params } = this.config;
    if (compression === "none") return [plain];
    const packed = compress(compression, plain, params?.level);
    return packed instanceof Promise ? packed.then((bytes) => [bytes]) : [packed];
  }

  private post(target: HttpTarget, head: RequestHead, sending: Sending, redirect?: Redirect) {
    const { body, abort, signal } = sending;
    const kept = this.clients.get(target.origin);
    const client = kept ?? this.clientFor(target, redirect!);
    const send = (isResend: boolean) => client.request(head, body, abort, isResend);
    const read = (answer: Http1Answer) =>
      isRedirect(answer.status)
        ? this.follow(answer, target, sending, redirect)
        : this.readAnswer(answer, target.url, signal);
    const sent = resendIfStale(target.url, abort, send, read);
    return kept === undefined ? sent.finally(() => client.close()) : sent;
  }

  private follow(answer: Http1Answer, target: HttpTarget, sending: Sending, last: Redirect | undefined) {
    const next = redirectOf(answer, target, sending.endpoint, last);
    if (next === undefined) return this.readAnswer(answer, target.url, sending.signal);
    const to = this.redirectedTarget(next, sending.endpoint);
    this.logRedirect({ from: target.url, to: to.url });
    return this.sendTo(to, sending, next);
  }

  /** A client for one request to where it was redirected. */
  private clientFor({ host, port, isSecure, proxy }: HttpTarget, { isOwnHost }: Redirect): Http1Client {
    const { cert: _, key: __, servername: ___, ...anonymous } = this.tls!;
    const tls = isOwnHost ? this.tls! : anonymous;
    return new Http1Client({ host, port, proxy, ...(isSecure && { tls }) }, clientSettings(this.config, this.context));
  }

  private redirectedTarget({ url, isOwnHost }: Redirect, endpoint: HttpTarget): HttpTarget {
    if (!isOwnHost) return createTarget(url, { ...this.config, headers: {} });
    const { authorization } = endpoint.headers;
    const target = createTarget(url, this.config);
    return authorization === undefined ? target : { ...target, head: target.headWith({ authorization }) };
  }

  private readAnswer(answer: Http1Answer, url: string, signal: Signal): PartialRejection | undefined {
    const { status, headers, body, bodyError } = answer;
    if (status === 200 && body.length === 0 && bodyError === undefined) return undefined;
    const encoding = encodingOf(headers.get("content-type"));
    if (status >= 200 && status < 300) return this.readSuccess(answer, url, signal, encoding);
    const detail = encoding ? decodeStatus(body, encoding).message : "";
    throw refusalOfHttp(
      status,
      detail || plainText(body),
      parseRetryAfter(headers.get("retry-after"), this.context.clock.now()),
    );
  }

  /**
   * An answer without OTLP's content type is parsed as OTLP if possible; if not, the backend has no way to reject
   * records. A web page, however, does not come from a backend: a proxy wants a login, or the address belongs to a user
   * interface.
   */
  private readSuccess(
    { body, bodyError }: Http1Answer,
    url: string,
    signal: Signal,
    encoding: OtlpEncoding | undefined,
  ): PartialRejection | undefined {
    if (bodyError !== undefined) throw refusalOfUnreadable(url, bodyError.message);
    const partial = decodeResponse(signal, encoding ?? this.config.encoding, body);
    if (partial !== "unreadable") return partial;
    if (isWebPage(body)) throw refusalOfUnreadable(url, "the body is a web page: a login, or another service");
    if (encoding === undefined) return undefined;
    throw refusalOfUnreadable(url, "the body does not match its content-type");
  }
}

function isWebPage(body: Uint8Array): boolean {
  // At most 512 characters.
  return /^\s*(?:<!--.{0,200}?-->\s*)?<(?:!doctype\s+html|html)[\s>]/is.test(
    Buffer.from(body.subarray(0, 512)).toString("utf8"),
  );
}

function noEndpoint(signal: Signal): Refusal {
  return new Refusal("permanent", `no endpoint for ${signal}; set endpoint or ${signal}_endpoint`, {
    category: "integration",
  });
}

function withLines({ method, text }: RequestHead, lines: string): RequestHead {
  return { method, text: text + lines };
}

/** Returns the targets of the signals that have an endpoint. */
function httpTargets(config: OtlpHttpConfig): ReadonlyMap<Signal, HttpTarget> {
  const targets = new Map<Signal, HttpTarget>();
  for (const signal of SIGNALS) {
    const url = urlOf(config, signal);
    if (url !== undefined) targets.set(signal, createTarget(url, config));
  }
  return targets;
}

function hasTarget(config: OtlpHttpConfig, signal: Signal): boolean {
  return urlOf(config, signal) !== undefined;
}

/**
 * Returns the signal's own endpoint, or the common one with the signal's path appended; undefined if there is neither.
 */
function urlOf(config: OtlpHttpConfig, signal: Signal): URL | undefined {
  const signalEndpoint = config[`${signal}_endpoint`];
  if (signalEndpoint ?? !config.endpoint) return signalEndpoint;
  const url = new URL(config.endpoint);
  url.pathname = url.pathname.replace(/\/$/, "") + OTLP_SERVICES[signal].httpPath;
  return url;
}

function createTarget(url: URL, config: OtlpHttpConfig): HttpTarget {
  return httpTarget(url, config, {
    "Content-Type": contentTypeOf(config.encoding),
    ...(config.compression !== "none" && { "Content-Encoding": config.compression }),
  });
}

/** Go's limit too. */
const MAX_REDIRECTS = 10;

/** Where a request goes when a server redirects it, with all of its body. */
interface Redirect {
  /** Without credentials. */
  readonly url: URL;
  /** Whether it is the configured host: only that one gets configured headers, credentials and the client's certificate. */
  readonly isOwnHost: boolean;
  /** How many redirects there have been, this one included. */
  readonly count: number;
}

/**
 * Where an answer with the status of a redirect leads; undefined if it does not say, and for redirects that are not
 * followed:
 *
 * - from https to http, because the data would be readable on its way;
 * - 301, 302 and 303 that do more than correct the URL. Browsers and Go ask with GET then, without the data: such an
 *   answer leads to a login, and a success there says nothing about the data;
 * - the eleventh.
 */
function redirectOf(
  { status, headers }: Http1Answer,
  from: Pick<HttpTarget, "requestUrl">,
  endpoint: Pick<HttpTarget, "requestUrl">,
  last: Redirect | undefined,
): Redirect | undefined {
  const location = headers.get("location");
  const count = (last?.count ?? 0) + 1;
  if (location === undefined || count > MAX_REDIRECTS) return undefined;
  const url = parseUrl(location, from.requestUrl);
  if (url === undefined || (from.requestUrl.protocol === "https:" && url.protocol === "http:")) return undefined;
  const isOwnHost = (last?.isOwnHost ?? true) && isSameHost(url, endpoint.requestUrl);
  const keepsMethod = status === 307 || status === 308;
  if (!keepsMethod && !(isOwnHost && isSamePath(url, from.requestUrl))) return undefined;
  return { url, isOwnHost, count };
}

/** Whether an answer may ask for a redirect. Asked of every answer, so that the headers of others are not read. */
function isRedirect(status: number): boolean {
  return status >= 301 && status <= 308 && STATUSES.has(status);
}

const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function parseUrl(location: string, base: URL): URL | undefined {
  if (!URL.canParse(location, base.href)) return undefined;
  const url = new URL(location, base);
  url.username = url.password = url.hash = "";
  return url.protocol === "http:" || url.protocol === "https:" ? url : undefined;
}

/** Another port may be another service, unless it comes with the change from http to https. */
function isSameHost(url: URL, endpoint: URL): boolean {
  if (url.hostname !== endpoint.hostname) return false;
  return url.port === endpoint.port || (url.protocol === "https:" && endpoint.protocol === "http:");
}

function isSamePath(url: URL, from: URL): boolean {
  const path = ({ pathname, search }: URL) => pathname.replace(/\/$/, "") + search;
  return path(url) === path(from);
}
