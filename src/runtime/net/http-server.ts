import { createServer, type RequestListener } from "node:http";
import type { ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import process from "node:process";
import type { Server as TlsServer } from "node:tls";
import type { HostPort } from "./endpoint.js";
import { listen } from "./listen.js";

/** Address and certificate of an HTTP server. */
export interface HttpServerPlace {
  readonly endpoint: HostPort;
  /** If present, the server uses https. */
  readonly tls?: ServerOptions;
  /** Called with a TLS server: starts renewing its certificates, and returns a function that stops it. */
  readonly renewTls?: (server: TlsServer) => () => void;
}

/** A running server. */
export interface ListeningServer {
  /** The actual address: if port 0 was configured, with the assigned port. */
  readonly endpoint: HostPort;
  /** Closes open connections too, so it resolves almost at once. */
  close(): Promise<void>;
}

/** How long a client may take to send its request. */
interface AskingLimits {
  readonly headersTimeout: number;
  readonly requestTimeout?: number;
}

/** Rejects with a `StartError` when it cannot listen; `configPath` is the path of the endpoint in the config. */
export async function startHttpServer(
  { endpoint, tls, renewTls }: HttpServerPlace,
  configPath: readonly string[],
  limits: AskingLimits,
  listener: RequestListener,
): Promise<ListeningServer> {
  const server = tls
    ? process.getBuiltinModule("node:https").createServer({ ...tls, ...limits }, listener)
    : createServer(limits, listener);
  await listen(server, endpoint, configPath);
  server.on("error", () => {}); // a failed accept (such as EMFILE) concerns only one client
  server.on("clientError", (_, socket) => socket.destroy());
  const { address, port } = server.address() as AddressInfo;
  const stopRenewal = tls && renewTls?.(server as unknown as TlsServer);
  return {
    endpoint: { host: address, port },
    close() {
      stopRenewal?.();
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}
