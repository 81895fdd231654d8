import { createServer, type RequestListener } from "node:http";
import type { ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import process from "node:process";
import type { Server as TlsServer } from "node:tls";
import type { HostPort } from "./endpoint.js";
import { listen } from "./listen.js";

/** Where an HTTP server listens, and with what certificate. */
export interface HttpServerPlace {
  readonly endpoint: HostPort;
  /** Given: https instead of http. */
  readonly tls?: ServerOptions;
  /** Called with a server that speaks TLS: what renews its certificates, and gives what stops that. */
  readonly renewTls?: (server: TlsServer) => () => void;
}

/** A server that listens. */
export interface ListeningServer {
  /** Where it really listens: with port 0, the port it was given. */
  readonly endpoint: HostPort;
  /** Resolves at once for all practical purposes: open connections are cut. */
  close(): Promise<void>;
}

/** How long a client may take to ask. */
interface AskingLimits {
  readonly headersTimeout: number;
  readonly requestTimeout?: number;
}

/** Rejects with a `StartError` when it cannot listen; `configPath` is the key of the config that holds the endpoint. */
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
  server.on("error", () => {}); // a failed accept (such as EMFILE) concerns one client only
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
