import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createGzip, type Gzip } from "node:zlib";
import { isAuthError, type ServerAuthenticator } from "#contract";
import type { BuiltInContext } from "#contract/built-in";
import { type ListeningServer, listenAddress, startHttpServer } from "#net";
import { answerOfAuthError, authenticate, httpAuthRequest, serverAuthenticator } from "#net/auth";
import type { PrometheusConfig } from "./config.js";
import { CONTENT_TYPES, type ExpositionFormat } from "./exposition-text.js";

/** More concurrent scrapes get a retryable error, because each takes memory for what its client has not read yet. */
const MAX_SCRAPES = 20;

/**
 * Answers GET /metrics with pages that are made while they are sent: no faster than the client reads, and with time for
 * other work between any two pieces.
 */
export class ScrapeServer {
  private readonly config: PrometheusConfig;
  private readonly context: BuiltInContext;
  private readonly page: (format: ExpositionFormat) => Iterable<string>;
  private server: ListeningServer | undefined;
  private authenticator: ServerAuthenticator | undefined;
  private scrapes = 0;

  constructor(config: PrometheusConfig, context: BuiltInContext, page: (format: ExpositionFormat) => Iterable<string>) {
    this.config = config;
    this.context = context;
    this.page = page;
  }

  /** Resolves with the port. */
  async start(): Promise<number> {
    const { config, context } = this;
    this.authenticator = config.auth ? serverAuthenticator(config.auth, context) : undefined;
    this.server = await startHttpServer({
      address: listenAddress(config.endpoint, config.transport),
      configPath: ["endpoint"],
      tls: config.tls,
      clock: context.clock,
      logger: context.logger,
      sockets: context.sockets,
      timeouts: {
        requestTimeout: config.read_timeout,
        headersTimeout: config.read_header_timeout,
        keepAliveTimeout: config.idle_timeout,
      },
      cutsBadClients: true,
      listener: (request, response) => void this.respond(request, response),
    });
    const { address } = this.server;
    return "port" in address ? address.port : 0;
  }

  async stop(): Promise<void> {
    await this.server?.close();
    this.server = undefined;
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {});
    response.setTimeout(this.config.write_timeout, () => response.destroy());
    request.resume();
    for (const [name, value] of Object.entries(this.config.response_headers ?? {})) response.setHeader(name, value);
    if (!this.config.keep_alives_enabled) response.setHeader("connection", "close");
    const status = await this.refusalOf(request, response);
    if (status !== undefined) return answer(response, status[0], status[1]);
    this.scrapes++;
    try {
      await this.sendPage(request, response);
    } catch {
      response.destroy(); // half a page must not look like a whole one
    } finally {
      this.scrapes--;
    }
  }

  private async refusalOf(request: IncomingMessage, response: ServerResponse): Promise<[number, string] | undefined> {
    if (this.authenticator !== undefined) {
      const outcome = await authenticate(this.authenticator, httpAuthRequest(request));
      if (isAuthError(outcome)) {
        const { httpStatus, message } = answerOfAuthError(outcome);
        return [httpStatus, message];
      }
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      return [405, "GET or HEAD only"];
    }
    const path = (request.url ?? "/").split("?", 1)[0];
    if (path !== "/metrics") return [404, "metrics are at /metrics"];
    if (this.scrapes >= MAX_SCRAPES) return [503, "too many scrapes at a time"];
    return undefined;
  }

  private async sendPage(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const format = this.formatFor(request.headers.accept);
    const isPacked = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
    response.writeHead(200, {
      "content-type": CONTENT_TYPES[format],
      vary: "accept, accept-encoding",
      ...(isPacked && { "content-encoding": "gzip" }),
    });
    if (request.method === "HEAD") return void response.end();
    const out = isPacked ? packed(response) : response;
    for (const piece of this.page(format)) {
      if (response.destroyed) break;
      if (!out.write(piece)) await drained(out, response);
      await nextTurn();
    }
    out.end();
  }

  private formatFor(accept = ""): ExpositionFormat {
    return this.config.enable_open_metrics && accept.includes("application/openmetrics-text")
      ? "openmetrics"
      : "prometheus";
  }
}

function packed(response: ServerResponse): Gzip {
  const gzip = createGzip({ level: 1 });
  gzip.pipe(response);
  response.once("close", () => gzip.destroy());
  gzip.on("error", () => response.destroy());
  return gzip;
}

/** Resolves when there is room again, or when the client has gone. */
function drained(out: Gzip | ServerResponse, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      out.off("drain", done);
      response.off("close", done);
      resolve();
    };
    out.once("drain", done);
    response.once("close", done);
  });
}

function answer(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" });
  response.end(`${message}\n`);
}
