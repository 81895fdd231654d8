import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { isRefusal } from "../../../../src/runtime/contract/errors/refusal.js";
import { proxyOfUrl } from "../../../../src/runtime/net/proxy/proxy.js";
import { openWebSocket } from "../../../../src/runtime/net/websocket/open-web-socket.js";
import { liveArrayBuffers } from "../../../support/live-heap.js";
import { until } from "../../../support/until.js";
import { readClientFrame, serverFrame } from "./server-frame.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const accept = (request: IncomingMessage) =>
  createHash("sha1").update(`${request.headers["sec-websocket-key"]}${GUID}`).digest("base64");
const switching = (request: IncomingMessage, more = "") =>
  `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept(request)}\r\n${more}\r\n`;

/** A server whose answer to the handshake is up to the test. */
async function startServer(onUpgrade: (request: IncomingMessage, socket: Socket) => void): Promise<string> {
  const server = createServer((_, response) => response.writeHead(503, { "retry-after": "7" }).end("busy"));
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  server.on("upgrade", (request, socket) => onUpgrade(request, socket as Socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/socket`;
}

function client() {
  const seen = { messages: [] as string[], ends: [] as string[] };
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const open = (url: string, more: object = {}) =>
    openWebSocket(
      {
        url: new URL(url),
        headers: {},
        tls: { rejectUnauthorized: true },
        proxy: undefined,
        signal: controller.signal,
        ...more,
      },
      { maxMessageBytes: 1_000_000, clock: systemClock },
      {
        onMessage: (message) => seen.messages.push(message.toString()),
        onEnd: (reason) => seen.ends.push(reason),
      },
    );
  return { seen, controller, open };
}

/** Echoes messages and pings, and notes close codes. */
function echo(codes: number[] = []) {
  return (request: IncomingMessage, socket: Socket) => {
    socket.write(switching(request));
    let bytes = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (let frame = readClientFrame(bytes); frame !== undefined; frame = readClientFrame(bytes)) {
        bytes = Buffer.from(frame.rest);
        if (frame.opcode === 8) codes.push(frame.payload.readUInt16BE(0));
        socket.write(serverFrame(frame.opcode, frame.payload));
      }
    });
  };
}

describe("a WebSocket", () => {
  it("carries messages of every size, and closes", async () => {
    const codes: number[] = [];
    const { open, seen } = client();
    const connection = await open(await startServer(echo(codes)));
    const sizes = [0, 1, 125, 126, 65_535, 65_536, 200_000];
    for (const size of sizes) connection.send(Buffer.alloc(size, "x"));
    await until(() => expect(seen.messages.map(({ length }) => length)).toEqual(sizes));
    await connection.close();
    expect(codes).toEqual([1000]);
    expect(seen.ends).toHaveLength(1);
  });

  it("answers pings with their payload", async () => {
    const pongs: string[] = [];
    const { open } = client();
    await open(
      await startServer((request, socket) => {
        socket.write(Buffer.concat([Buffer.from(switching(request)), serverFrame(9, Buffer.from("are you there?"))]));
        socket.on("data", (chunk: Buffer) => pongs.push(readClientFrame(chunk)!.payload.toString()));
      }),
    );
    await until(() => expect(pongs).toEqual(["are you there?"]));
  });

  it("says why it ends when the server sends garbage, and says so to the server too", async () => {
    const codes: number[] = [];
    const { open, seen } = client();
    await open(
      await startServer((request, socket) => {
        echo(codes)(request, socket);
        socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
      }),
    );
    await until(() => expect(seen.ends).toEqual(["the server set reserved bits, although no extension was agreed on"]));
    await until(() => expect(codes).toEqual([1002]));
  });

  it("ends when the server just closes the connection", async () => {
    const { open, seen } = client();
    await open(
      await startServer((request, socket) => {
        socket.end(switching(request));
      }),
    );
    await until(() => expect(seen.ends).toHaveLength(1));
  });

  it("does not wait for a server that does not answer a close frame", async () => {
    const { open } = client();
    const connection = await open(await startServer((request, socket) => void socket.write(switching(request))));
    await connection.close();
  });

  it("keeps little memory for a server that sends pings for ever and reads nothing", async () => {
    let sent = 0;
    const { open, seen } = client();
    const pings = Buffer.concat(Array.from({ length: 500 }, () => serverFrame(9, Buffer.alloc(125))));
    await open(
      await startServer((request, socket) => {
        socket.pause();
        socket.write(switching(request));
        const pump = () => {
          if (socket.destroyed || sent > 12 * 1024 * 1024) return;
          sent += pings.length;
          if (socket.write(pings)) setImmediate(pump);
          else socket.once("drain", pump);
        };
        pump();
      }),
    );
    const before = liveArrayBuffers();
    await until(() => expect(sent).toBeGreaterThan(12 * 1024 * 1024));
    expect(liveArrayBuffers() - before).toBeLessThan(6 * 1024 * 1024);
    expect(seen.ends).toEqual([]);
  });

  it.each<[string, (request: IncomingMessage) => string, string]>([
    [
      "a wrong answer to the handshake",
      (request) => switching(request).replace(/Accept: .*\r/, "Accept: bm8=\r"),
      "the answer to the WebSocket handshake is wrong",
    ],
    [
      "another protocol",
      (request) => switching(request).replace("Upgrade: websocket", "Upgrade: h2c"),
      "switched to another protocol than WebSocket",
    ],
    [
      "an extension that was not offered",
      (request) => switching(request, "Sec-WebSocket-Extensions: permessage-deflate\r\n"),
      "chose a WebSocket extension or subprotocol that was not offered",
    ],
  ])("is refused with %s", async (_, answer, message) => {
    const { open } = client();
    const url = await startServer((request, socket) => void socket.write(answer(request)));
    await expect(open(url)).rejects.toThrow(message);
  });

  it("is refused with the status and Retry-After of a server that does not open one", async () => {
    const { open } = client();
    const url = await startServer((_, socket) => {
      socket.end("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
    });
    const error = await open(url).catch((refusal: unknown) => refusal);
    expect(isRefusal(error) && error).toMatchObject({ kind: "throttled", status: "HTTP 503", retryAfterMs: 7000 });
  });

  it("goes through a tunnel of a proxy, also without TLS", async () => {
    const tunnels: string[] = [];
    const proxy = createTcpServer((socket) => {
      socket.once("data", (head: Buffer) => {
        const [, host, port] = /^CONNECT ([^:]+):(\d+) /.exec(head.toString()) ?? [];
        tunnels.push(head.toString().split("\r\n")[0]!);
        const server = connect(Number(port), host);
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        server.pipe(socket).pipe(server);
        server.on("error", () => socket.destroy());
        socket.on("error", () => server.destroy());
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void proxy.close());
    const { open, seen } = client();
    const url = new URL(await startServer(echo()));
    const through = proxyOfUrl(new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`));
    const connection = await open(url.href, { proxy: through });
    connection.send(Buffer.from("hello"));
    await until(() => expect(seen.messages).toEqual(["hello"]));
    expect(tunnels).toEqual([`CONNECT ${url.host} HTTP/1.1`]);
  });
});
