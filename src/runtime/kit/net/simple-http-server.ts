import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import process from "node:process";
import type { Server as TlsServer } from "node:tls";
import type { HostPort } from "./endpoint.js";
import { listen } from "./listen.js";

/** What a small server says to a GET. `headers` are added to the content type and length. */
export interface SimpleHttpResponse {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where a small server listens and what it answers. */
interface SimpleHttpServerSettings {
  readonly endpoint: HostPort;
  /** The key of the config that holds the endpoint. */
  readonly configPath: readonly string[];
  /** Called for GET and HEAD with the path, without its query. A throw becomes a 500. */
  readonly answer: (path: string, request: IncomingMessage) => SimpleHttpResponse | Promise<SimpleHttpResponse>;
  /** Asked first, if given: what it answers, whoever asks gets instead. */
  readonly refuse?: ((request: IncomingMessage) => Promise<SimpleHttpResponse | undefined>) | undefined;
  /** Given: https instead of http. */
  readonly tls?: ServerOptions;
  /** Called with a server that speaks TLS: what renews its certificates, and gives what stops that. */
  readonly renewTls?: (server: TlsServer) => () => void;
}

/** A server that listens. */
export interface SimpleHttpServer {
  /** Where it really listens: with port 0, the port it was given. */
  readonly endpoint: HostPort;
  /** Resolves at once for all practical purposes: open connections are cut. */
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 10_000;

/**
 * A server for pages that a person or a probe reads: GET and HEAD only, every body known at once, a client that is slow
 * to ask is cut off. Rejects with a `StartError` when it cannot listen.
 */
export async function startSimpleHttpServer(settings: SimpleHttpServerSettings): Promise<SimpleHttpServer> {
  const listener = (request: IncomingMessage, response: ServerResponse) => void respond(settings, request, response);
  const limits = { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS };
  const server = settings.tls
    ? process.getBuiltinModule("node:https").createServer({ ...settings.tls, ...limits }, listener)
    : createHttpServer(limits, listener);
  await listen(server, settings.endpoint, settings.configPath);
  server.on("error", () => {}); // a failed accept (such as EMFILE) concerns one client only
  server.on("clientError", (_, socket) => socket.destroy());
  const { address, port } = server.address() as AddressInfo;
  const stopRenewal = settings.tls && settings.renewTls?.(server as unknown as TlsServer);
  return {
    endpoint: { host: address, port },
    close() {
      stopRenewal?.();
      return close(server);
    },
  };
}

async function respond(settings: SimpleHttpServerSettings, request: IncomingMessage, response: ServerResponse) {
  response.on("error", () => {});
  request.resume();
  const { status, type, body, headers } = await answerTo(settings, request);
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body), ...headers });
  response.end(request.method === "HEAD" ? undefined : body);
}

async function answerTo(settings: SimpleHttpServerSettings, request: IncomingMessage): Promise<SimpleHttpResponse> {
  const refusal = await settings.refuse?.(request);
  if (refusal !== undefined) return refusal;
  if (request.method !== "GET" && request.method !== "HEAD") {
    return { status: 405, type: "text/plain", body: "GET or HEAD only\n", headers: { allow: "GET, HEAD" } };
  }
  try {
    return await settings.answer((request.url ?? "/").split("?", 1)[0]!, request);
  } catch (error) {
    return { status: 500, type: "text/plain", body: `${(error as Error).message}\n` };
  }
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
