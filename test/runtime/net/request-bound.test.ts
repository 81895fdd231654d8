import type { RequestListener } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { startHttpServer } from "../../../src/runtime/net/http-server.js";

const CLIENTS = 5;
const REQUESTS = 1000;

it("does not take all requests in one turn that arrive at once, and answers each client's in their order", async () => {
  let inTurn = 0;
  let most = 0;
  const sockets = new Set<Socket>();
  const listener: RequestListener = (request, response) => {
    sockets.add(request.socket);
    if (request.url === "/first") return void response.end();
    if (inTurn++ === 0)
      setImmediate(() => {
        inTurn = 0;
      });
    most = Math.max(most, inTurn);
    for (const start = performance.now(); performance.now() - start < 0.1; ); // as costly as a request of telemetry
    request.resume().on("end", () => response.end(`<${request.url}>`));
  };
  const place = { address: { host: "127.0.0.1", port: 0 }, configPath: [], clock: systemClock, logger: silentLogger };
  const server = await startHttpServer({ ...place, timeouts: { keepAliveTimeout: 0 }, listener });
  const { port } = server.address as { port: number };
  const all = Array.from({ length: REQUESTS }, (_, i) => `/${i}`);
  const text = all.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join("");
  const clients = Array.from({ length: CLIENTS }, () => connect(port, "127.0.0.1").setEncoding("latin1"));
  for (const socket of clients) socket.write("GET /first HTTP/1.1\r\nHost: a\r\n\r\n");
  await expect.poll(() => sockets.size).toBe(CLIENTS);
  for (const socket of clients) socket.write(text);
  const answersOf = async (socket: Socket) => {
    let answers = "";
    for await (const part of socket) {
      answers += part;
      if (answers.endsWith(`<${all.at(-1)}>`)) break;
    }
    return [...answers.matchAll(/<(.*?)>/g)].map(([, path]) => path);
  };
  const answers = await Promise.all(clients.map(answersOf));
  expect(answers).toEqual(clients.map(() => all));
  expect(most).toBeLessThan(REQUESTS);
  await server.close();
});
