import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import type { AuthHeaders, ClientAuthenticator } from "#contract";
import { type BuiltInExtensionContext, defineBuiltInExtension } from "#contract/built-in";
import {
  addressOfUrl,
  connectionErrorMessage,
  formatAddress,
  type ListeningServer,
  listenAddress,
  loadClientTls,
  openRequest,
  protectionOf,
  proxyFromEnvironment,
  proxyOfUrl,
  renewClientTls,
  startHttpServer,
  type TlsClientOptions,
} from "#net";
import { clientAuthenticator, rejectUnauthenticated, sendAuthorized, serverAuthenticator } from "#net/auth";
import { type Extension, limitedLog } from "../../plugin.js";
import { type HttpForwarderConfig, httpForwarderSchema } from "./config.js";

/** Passes HTTP requests on to another server. */
export const httpForwarder = defineBuiltInExtension<HttpForwarderConfig>({
  type: "http_forwarder",
  aliases: ["httpforwarder"],
  summary: "Passes HTTP requests on to another server, and its answers back.",
  schema: httpForwarderSchema,
  listensAt: ({ ingress }) => [
    {
      address: listenAddress(ingress.endpoint, ingress.transport),
      key: ["ingress", "endpoint"],
      protection: protectionOf({ tls: ingress.tls, auth: ingress.auth }),
    },
  ],
  create: (config, context) => new HttpForwarder(config, context),
});

/** These concern one connection only. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const CONNECTIONS = { maxConnections: 10_000, maxConnectionsPerClient: 2500 };

class HttpForwarder implements Extension {
  private readonly config: HttpForwarderConfig;
  private readonly context: BuiltInExtensionContext;
  private readonly authenticator: ClientAuthenticator | undefined;
  private readonly logFailure: (reason: string) => void;
  private readonly stopping = new AbortController();
  private tls: TlsClientOptions = { rejectUnauthorized: true };
  private server: ListeningServer | undefined;

  constructor(config: HttpForwarderConfig, context: BuiltInExtensionContext) {
    this.config = config;
    this.context = context;
    this.authenticator = clientAuthenticator(config.egress.auth ?? undefined, context);
    this.logFailure = limitedLog(context.clock, (reason, suppressed) =>
      context.logger.warn({ reason, suppressed }, "a request could not be passed on"),
    );
  }

  /** The port, once it has started. */
  get port(): number {
    const { address } = this.server ?? {};
    return address !== undefined && "port" in address ? address.port : 0;
  }

  async start(): Promise<void> {
    const { ingress, egress } = this.config;
    const { clock, logger, sockets } = this.context;
    if (egress.tls !== undefined) this.tls = await loadClientTls(egress.tls, ["egress", "tls"]);
    const refuse = ingress.auth && rejectUnauthenticated(serverAuthenticator(ingress.auth, this.context));
    this.server = await startHttpServer({
      address: listenAddress(ingress.endpoint, ingress.transport),
      configPath: ["ingress", "endpoint"],
      tls: ingress.tls,
      tlsPath: ["ingress", "tls"],
      clock,
      logger,
      sockets,
      timeouts: {
        requestTimeout: ingress.read_timeout,
        headersTimeout: ingress.read_header_timeout,
        keepAliveTimeout: ingress.idle_timeout,
      },
      keepsAlive: ingress.keep_alives_enabled,
      connections: { ...CONNECTIONS, onRefused: (reason) => logger.warn({ reason }, "a connection was refused") },
      listener: (request, response) => void this.handle(request, response, refuse),
      onError: (error) => logger.error({ error: error.message }, "HTTP server error"),
    });
    logger.info({ endpoint: formatAddress(this.server.address), to: egress.endpoint.origin }, "forwarding requests");
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.server?.close();
    this.server = undefined;
  }

  private async handle(
    request: IncomingMessage,
    response: ServerResponse,
    refuse: ReturnType<typeof rejectUnauthenticated> | undefined,
  ): Promise<void> {
    request.on("error", () => {});
    response.on("error", () => {});
    try {
      const refusal = await refuse?.(request);
      if (refusal === undefined) return await this.forward(request, response);
      response.shouldKeepAlive = false;
      response.writeHead(refusal.status, { "content-type": refusal.type, ...refusal.headers }).end(refusal.body);
    } catch (error) {
      this.fail(response, connectionErrorMessage(error));
    }
  }

  private async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { endpoint } = this.config.egress;
    const url = new URL(pathOf(request.url), endpoint.origin);
    if (url.origin !== endpoint.origin) return void response.writeHead(400).end("not a path\n");
    const abort = new AbortController();
    response.on("close", () => abort.abort());
    const { authenticator } = this;
    if (authenticator === undefined) return this.send(request, response, url, {}, abort);
    // The body is streamed and cannot be sent twice, so an authenticator that signs bodies cannot be used.
    const head = { method: request.method ?? "GET", url, headers: {}, body: Buffer.alloc(0) };
    await sendAuthorized(authenticator, head, url.origin, abort.signal, (more) =>
      this.send(request, response, url, more, abort),
    );
  }

  /** Resolves when the answer's head has arrived, or the attempt has failed. */
  private send(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    more: AuthHeaders,
    abort: AbortController,
  ): Promise<void> {
    const sent = this.open(request, url, more, AbortSignal.any([abort.signal, this.stopping.signal]));
    const cancel = this.context.clock.after(this.config.egress.timeout || 3_600_000, () =>
      sent.destroy(new Error(`no answer within ${this.config.egress.timeout} ms`)),
    );
    return new Promise((resolve) => {
      sent.on("error", (error) => {
        cancel();
        this.fail(response, connectionErrorMessage(error));
        resolve();
      });
      sent.on("response", (answer) => {
        cancel();
        answer.setTimeout(this.config.egress.timeout, () => answer.destroy());
        response.writeHead(answer.statusCode ?? 502, headersOf(answer, via(answer, request)));
        pipeline(answer, response, () => {});
        resolve();
      });
      pipeline(request, sent, () => {});
    });
  }

  private open(request: IncomingMessage, url: URL, more: AuthHeaders, signal: AbortSignal): ClientRequest {
    const { headers: own, proxy_url: proxyUrl } = this.config.egress;
    const { isSecure, host, port } = addressOfUrl(url);
    const proxy = proxyUrl === undefined ? proxyFromEnvironment(isSecure, host, port) : proxyOfUrl(proxyUrl);
    const headers = { ...headersOf(request, via(request, request)), ...own, ...more } as Record<string, string>;
    delete headers["host"];
    return openRequest({ method: request.method ?? "GET", url, headers, tls: this.tls, proxy, signal });
  }

  private fail(response: ServerResponse, reason: string): void {
    if (this.config.egress.tls !== undefined) void renewClientTls(this.tls, this.config.egress.tls);
    if (response.destroyed) return;
    this.logFailure(reason);
    if (response.headersSent) response.destroy();
    else
      response.writeHead(502, { "content-type": "text/plain" }).end("the server behind this one cannot be reached\n");
  }
}

/** A request may name a whole URL; only its path and query count. */
function pathOf(url = "/"): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, "");
  return path.startsWith("/") ? `/${path.replace(/^\/+/, "")}` : `/${path}`;
}

function via({ httpVersion }: IncomingMessage, { headers }: IncomingMessage): string {
  return `HTTP/${httpVersion} ${headers.host ?? ""}`;
}

/** The headers of a message that belong to it and not to its connection. */
function headersOf(message: IncomingMessage, viaHeader: string): Record<string, string | string[]> {
  const named = (message.headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const kept = Object.entries(message.headers).filter(
    ([name, value]) => value !== undefined && !HOP_BY_HOP.has(name) && !named.includes(name),
  ) as [string, string | string[]][];
  const { via: before } = message.headers;
  return { ...Object.fromEntries(kept), via: before === undefined ? viaHeader : `${before}, ${viaHeader}` };
}
