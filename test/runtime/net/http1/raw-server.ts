import { type AddressInfo, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { Http1Client, type Http1Settings } from "../../../../src/runtime/net/http1/client.js";
import { requestHead } from "../../../../src/runtime/net/http1/request-writer.js";

/** A server that knows no HTTP but what the test gives it. */
export interface RawServer {
  readonly port: number;
  /** Those that are open. */
  readonly sockets: Set<Socket>;
  /** How many connections there have been. */
  accepted: number;
  /** The whole requests, each with head and body. */
  readonly requests: string[];
}

/** Starts one that calls `talk` for each request when all of it is there, or for each connection when it comes. */
export async function startRawServer(
  talk: (socket: Socket, server: RawServer) => void,
  when: "requested" | "connected" = "requested",
  host = "127.0.0.1",
): Promise<RawServer> {
  const listener = createServer({ allowHalfOpen: true }, (socket) => {
    server.accepted += 1;
    server.sockets.add(socket);
    socket.on("error", () => {}).on("close", () => server.sockets.delete(socket));
    if (when === "connected") talk(socket, server);
    else
      readRequests(socket, (request) => {
        server.requests.push(request);
        talk(socket, server);
      });
  });
  await new Promise<void>((resolve) => listener.listen(0, host, resolve));
  const port = (listener.address() as AddressInfo).port;
  const server: RawServer = { port, sockets: new Set(), accepted: 0, requests: [] };
  onTestFinished(() => {
    for (const socket of server.sockets) socket.destroy();
    listener.close();
  });
  return server;
}

function readRequests(socket: Socket, onRequest: (request: string) => void): void {
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    for (;;) {
      const end = text.indexOf("\r\n\r\n") + 4;
      const length = end + Number(/\r\nContent-Length: (\d+)\r\n/.exec(text)?.[1] ?? 0);
      if (end < 4 || text.length < length) return;
      const request = text.slice(0, length);
      text = text.slice(length);
      onRequest(request);
    }
  });
}

export const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
export const HEAD = requestHead("POST", "/v1/logs", { Host: "test" });
export const BODY = [Buffer.from("hello "), Buffer.from("world")];

/** A client of a server, closed when the test ends. */
export function clientOf(
  { port }: { port: number },
  settings: Partial<Http1Settings> = {},
  host = "127.0.0.1",
): Http1Client {
  const defaults = { clock: systemClock, maxConnections: 10, maxIdle: 10, idleTimeoutMs: 0, maxAnswerBytes: 1000 };
  const client = new Http1Client({ host, port }, { ...defaults, ...settings });
  onTestFinished(() => client.close());
  return client;
}
