import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import process from "node:process";
import type { Server as TlsServer } from "node:tls";
import type { Clock, Logger } from "#contract";
import { waitAtMost } from "#contract/time";
import { type ConnectionLimits, limitConnections } from "./connection-limits.js";
import type { ListenAddress } from "./endpoint.js";
import { listen } from "./listen.js";
import type { TlsServerConfig } from "./tls-config.js";
import { loadServerTls, reloadServerTls } from "./tls-load.js";

/** Where an HTTP server listens, with which certificates, and which keys of the config say so. */
export interface HttpServerPlace {
  readonly address: ListenAddress;
  /** The key that holds the endpoint. */
  readonly configPath: readonly string[];
  /** Serves https instead of http; certificates are read again when they change. */
  readonly tls?: TlsServerConfig | undefined;
  /** The key that holds `tls`. */
  readonly tlsPath?: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Times that clients may take, in milliseconds, as Node.js names them. */
export type ServerTimeouts = Pick<
  ServerOptions,
  "headersTimeout" | "requestTimeout" | "keepAliveTimeout" | "connectionsCheckingInterval"
>;

interface HttpServerSettings extends HttpServerPlace {
  readonly timeouts: ServerTimeouts;
  readonly listener: RequestListener;
  /** Called instead of `listener` for a client that waits for 100 Continue; left out, each is told to go on. */
  readonly onContinue?: RequestListener;
  /** Keep connections open for the next request; the default. */
  readonly keepsAlive?: boolean;
  /** Servers without limits keep a reserve of open files: see `limitConnections`. */
  readonly connections?: ConnectionLimits;
  /** A failed accept (such as EMFILE) concerns one client only; left out, it is ignored. */
  readonly onError?: (error: Error) => void;
  /** Closes the connection of a client that sends no HTTP, where Node.js would answer 400. */
  readonly cutsBadClients?: boolean;
}

/**
 * The maximum number of headers of a request. By default Node.js drops all headers after the first 2,000 without a
 * word, so a sender could hide the headers that access depends on, such as Origin, behind others.
 */
const MAX_HEADERS = 1000;

/** A running server. */
export interface ListeningServer {
  /** The actual address: if port 0 was configured, with the assigned port. */
  readonly address: ListenAddress;
  /** Closes open connections too, so it resolves almost at once. */
  close(): Promise<void>;
  /**
   * Takes no more connections, waits until `answered` resolves, and then at most so long for the last answers to reach
   * their clients.
   */
  drain(answered: () => Promise<void>, graceMs: number): Promise<void>;
}

/** The one way in which HTTP servers start and stop. Rejects with a `StartError` if it cannot listen. */
export async function startHttpServer(settings: HttpServerSettings): Promise<ListeningServer> {
  const { address, configPath, tls, clock, logger, onError = () => {} } = settings;
  const server = await createHttpServer(settings);
  await listen(server, address, configPath);
  server.on("error", onError);
  const stopReloading = tls ? reloadServerTls(server as unknown as TlsServer, tls, clock, logger) : () => {};
  const close = () => {
    stopReloading();
    return new Promise<void>((resolve) => void server.close(() => resolve()));
  };
  return {
    address: boundAddress(server, address),
    close() {
      const closed = close();
      server.closeAllConnections();
      return closed;
    },
    async drain(answered, graceMs) {
      const closed = close();
      await answered();
      await waitAtMost(graceMs, closed, clock);
      server.closeAllConnections();
      await closed;
    },
  };
}

async function createHttpServer(settings: HttpServerSettings): Promise<Server> {
  const { tls, tlsPath = ["tls"], timeouts, listener, onContinue, connections } = settings;
  const server = tls
    ? (process
        .getBuiltinModule("node:https")
        .createServer({ ...timeouts, ...(await loadServerTls(tls, tlsPath)) }) as unknown as Server)
    : createServer(timeouts);
  server.maxHeadersCount = 0; // no header is dropped; their total size is limited by Node.js
  server.on("request", withHeaderLimit(listener));
  if (onContinue !== undefined) server.on("checkContinue", withHeaderLimit(onContinue));
  if (settings.keepsAlive === false) server.maxRequestsPerSocket = 1;
  if (settings.cutsBadClients) server.on("clientError", (_, socket) => socket.destroy());
  if (connections !== undefined) limitConnections(server, connections);
  return server;
}

/** Answers requests with too many headers before the listener sees them, and closes their connections. */
function withHeaderLimit(listener: RequestListener): RequestListener {
  return (request, response) => {
    if (request.rawHeaders.length > 2 * MAX_HEADERS) refuseHeaders(request, response);
    else listener(request, response);
  };
}

function refuseHeaders(request: IncomingMessage, response: ServerResponse): void {
  request.on("error", () => {});
  response.on("error", () => {});
  const body = `the request has more than ${MAX_HEADERS} headers\n`;
  response.writeHead(431, { "content-type": "text/plain", "content-length": body.length, connection: "close" });
  response.end(body);
}

function boundAddress(server: Server, asked: ListenAddress): ListenAddress {
  const bound = server.address() as AddressInfo | string | null;
  return typeof bound === "object" && bound !== null ? { host: bound.address, port: bound.port } : asked;
}
