import cluster from "node:cluster";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { ServerOptions } from "node:https";
import { type AddressInfo, Server as NetServer } from "node:net";
import process from "node:process";
import type { Duplex } from "node:stream";
import type { Server as TlsServer } from "node:tls";
import type { Clock, ListenSockets, Logger, ServerListener } from "#contract";
import { waitAtMost } from "#contract/time";
import { pause } from "#resilience";
import { type ConnectionLimits, connectionLimits } from "./connection-limits.js";
import type { ListenAddress } from "./endpoint.js";
import { leaseServer } from "./listen.js";
import { isTurnOver, rememberConnection, requestTurn, takeLater } from "./request-bound.js";
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
  /** The listening servers of the agent, from which a server may be taken over. */
  readonly sockets?: ListenSockets | undefined;
}

/** Times that clients may take, in milliseconds, as Node.js names them. */
type ServerTimeouts = Pick<
  ServerOptions,
  "headersTimeout" | "requestTimeout" | "keepAliveTimeout" | "connectionsCheckingInterval"
>;

interface HttpServerSettings extends HttpServerPlace {
  readonly timeouts: ServerTimeouts;
  readonly listener: RequestListener;
  /** Called instead of `listener` for a client that waits for 100 Continue. Default: answers 100 to each. */
  readonly onContinue?: RequestListener;
  /** Keep connections open for the next request; the default. */
  readonly keepsAlive?: boolean;
  /** Servers without limits keep a reserve of open files: see `connectionLimits`. */
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
  /** True once another component has taken the server over. */
  readonly isHandedOver: boolean;
  /** Closes open connections too, so it resolves almost at once. Does nothing to a server that was taken over. */
  close(): Promise<void>;
  /**
   * In a worker: takes no more connections, and resolves when the open ones seem to be idle. Until then, the caller
   * answers requests with `connection: close`, and clients go on with other workers. Elsewhere it resolves at once.
   */
  retire(): Promise<void>;
  /**
   * Takes no more connections, waits until `answered` resolves, and then at most so long for the last answers to reach
   * their clients. The connections of a server that was taken over stay open.
   */
  drain(answered: () => Promise<void>, graceMs: number): Promise<void>;
}

/** The one way in which HTTP servers start and stop. Rejects with a `StartError` if it cannot listen. */
export async function startHttpServer(settings: HttpServerSettings): Promise<ListeningServer> {
  const { address, configPath, sockets, tls, tlsPath = ["tls"], timeouts, clock, logger } = settings;
  const certificates = tls && (await loadServerTls(tls, tlsPath));
  const lease = await leaseServer({
    address,
    configPath,
    sockets,
    kind: certificates === undefined ? "http" : `https ${String(certificates.requestCert)}`,
    create: () => createHttpServer(settings, certificates),
    listeners: (server) => listenersOf(settings, server),
    update(server) {
      const { headersTimeout, requestTimeout, keepAliveTimeout } = timeouts;
      const given = Object.entries({ headersTimeout, requestTimeout, keepAliveTimeout });
      Object.assign(server, Object.fromEntries(given.filter(([, ms]) => ms !== undefined)));
      if (certificates !== undefined) (server as TlsServer).setSecureContext(certificates);
      (server as Server).maxRequestsPerSocket = settings.keepsAlive === false ? 1 : 0;
    },
  });
  const server = lease.server as Server;
  const stopReloading = tls ? reloadServerTls(server as unknown as TlsServer, tls, clock, logger) : () => {};
  const close = () => {
    stopReloading();
    return new Promise<void>((resolve) => void server.close(() => resolve()));
  };
  return {
    address: boundAddress(server, address),
    get isHandedOver() {
      return !lease.isCurrent;
    },
    async close() {
      if (!lease.isCurrent) return stopReloading();
      const closed = close();
      server.closeAllConnections();
      return closed;
    },
    async retire() {
      if (!lease.isCurrent || !cluster.isWorker) return;
      NetServer.prototype.close.call(server); // that of HTTP servers also destroys idle connections
      await clientsQuiet(server, clock);
    },
    async drain(answered, graceMs) {
      if (!lease.isCurrent) {
        stopReloading();
        return answered();
      }
      const closed = close();
      await answered();
      await waitAtMost(graceMs, closed, clock);
      server.closeAllConnections();
      await closed;
    },
  };
}

function createHttpServer(
  { timeouts, keepsAlive }: HttpServerSettings,
  certificates: Awaited<ReturnType<typeof loadServerTls>> | undefined,
): Server {
  const server = certificates
    ? (process.getBuiltinModule("node:https").createServer({ ...timeouts, ...certificates }) as unknown as Server)
    : process.getBuiltinModule("node:http").createServer(timeouts);
  server.maxHeadersCount = 0; // no header is dropped; their total size is limited by Node.js
  if (keepsAlive === false) server.maxRequestsPerSocket = 1;
  return server;
}

/** A failed accept is an error of one client: without a listener it would end the process. */
function listenersOf(settings: HttpServerSettings, server: NetServer): ServerListener[] {
  const { listener, onContinue, onError = () => {}, cutsBadClients, connections } = settings;
  const listeners: ServerListener[] = [
    ["request", withLimits(listener) as ServerListener[1]],
    ["error", onError as ServerListener[1]],
    ["connection", rememberConnection],
    ["secureConnection", rememberConnection],
  ];
  if (onContinue !== undefined) listeners.push(["checkContinue", withLimits(onContinue) as ServerListener[1]]);
  if (cutsBadClients) listeners.push(["clientError", (_error: Error, socket: Duplex) => void socket.destroy()]);
  return connections === undefined ? listeners : [...listeners, ...connectionLimits(server, connections)];
}

/**
 * Answers requests with too many headers before the listener sees them, and closes their connections. If the turn of the
 * event loop has taken too long, others wait.
 */
function withLimits(listener: RequestListener): RequestListener {
  return (request, response) => {
    if (request.rawHeaders.length > 2 * MAX_HEADERS) refuseHeaders(request, response);
    else if (++requestTurn.requests >= requestTurn.checkAt && isTurnOver()) takeLater(listener, request, response);
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

/** A client that sends requests one after the other has sent its next one within this time. */
const QUIET_MS = 500;
const MAX_WAIT_MS = 3000;
const CHECK_MS = 20;

/**
 * Resolves when a server that takes no more connections has none left, or has had no request for a while, but at the
 * latest after three seconds. What has arrived by then has been read, so that closing an idle connection resets no
 * request.
 */
async function clientsQuiet(server: NetServer, clock: Clock): Promise<void> {
  const since = clock.monotonic();
  let lastRequest = since;
  const onRequest = () => {
    lastRequest = clock.monotonic();
  };
  for (const event of REQUEST_EVENTS) server.on(event, onRequest);
  const isOver = () => {
    const now = clock.monotonic();
    return now - lastRequest >= QUIET_MS || now - since >= MAX_WAIT_MS;
  };
  while (!isOver() && (await connectionsOf(server)) > 0) await pause(CHECK_MS, clock);
  for (const event of REQUEST_EVENTS) server.off(event, onRequest);
  await new Promise((resolve) => setImmediate(resolve)); // after the event loop has read all sockets
}

const REQUEST_EVENTS = ["request", "checkContinue"] as const;

function connectionsOf(server: NetServer): Promise<number> {
  return new Promise((resolve) => server.getConnections((error, count) => resolve(error ? 0 : count)));
}
