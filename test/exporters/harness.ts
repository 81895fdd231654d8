import { setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect } from "vitest";
import type { ClientAuthenticator } from "../../src/runtime/contract/auth.js";
import { systemClock } from "../../src/runtime/contract/clock.js";
import type { ExporterContext, ExporterFactory } from "../../src/runtime/contract/component.js";
import type { Refusal } from "../../src/runtime/contract/errors/refusal.js";
import { isRefusal } from "../../src/runtime/contract/errors/refusal.js";
import type { Exporter } from "../../src/runtime/contract/exporter.js";
import { type Logger, type Metrics, noMetrics, silentLogger } from "../../src/runtime/contract/observability.js";

/** `client` is the authenticator that `auth` names, whatever its id. */
export async function startExporter(
  factory: ExporterFactory,
  config: object,
  client?: ClientAuthenticator,
  logger: Logger = silentLogger,
  metrics: Metrics = noMetrics,
): Promise<Exporter> {
  const context: ExporterContext = {
    id: factory.type,
    kind: "exporter",
    logger,
    metrics,
    clock: systemClock,
    random: () => 0.5,
    ...(client && { authenticators: { client: () => client, server: () => expect.unreachable() } }),
  };
  const exporter = factory.create(factory.schema.parse(config), context);
  await exporter.start?.();
  return exporter;
}

export const never = new AbortController().signal;
setMaxListeners(0, never);

/** The refusal that this promise rejects with. */
export async function refusalOf(sending: Promise<unknown>): Promise<Refusal> {
  const error = await sending.then(
    () => new Error("was not refused"),
    (reason: unknown) => reason,
  );
  if (isRefusal(error)) return error;
  throw error;
}

export interface Sink {
  readonly port: number;
  readonly requests: { readonly path: string; readonly headers: IncomingMessage["headers"]; readonly body: Buffer }[];
  readonly sockets: Set<Socket>;
  /** Called when a request has been read completely. */
  respond: (response: ServerResponse, request: IncomingMessage) => void;
  readonly server: Server;
  close(): Promise<void>;
}

/** An HTTP server that records requests and answers as configured. */
export async function startSink(): Promise<Sink> {
  const requests: Sink["requests"] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      requests.push({ path: request.url!, headers: request.headers, body: Buffer.concat(chunks) });
      sink.respond(response, request);
    });
    request.on("error", () => {});
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sink: Sink = {
    port: (server.address() as AddressInfo).port,
    requests,
    sockets,
    server,
    respond: (response) => response.end(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return sink;
}
