import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";
import { readClientFrame, serverFrame } from "../../runtime/net/websocket/server-frame.js";
import { type Fields, readProto } from "./proto.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** A message of the agent, as this server saw it. */
export interface SeenMessage {
  readonly fields: Fields;
  readonly transport: "ws" | "http";
  /** The headers of its request, or of the handshake. */
  readonly headers: IncomingMessage["headers"];
  /** Which connection or request it came with, counted from 1. */
  readonly connection: number;
}

export interface OpampServer {
  readonly wsUrl: string;
  readonly httpUrl: string;
  readonly messages: SeenMessage[];
  readonly closeCodes: number[];
  /** Returns the answer to a message; undefined for no answer (over HTTP: an empty message). */
  answer: (message: SeenMessage) => Buffer | undefined;
  /** Answers HTTP requests in place of `answer` if it returns true. */
  onRequest: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Whether the handshake of a WebSocket is answered with 401. */
  refuses: (request: IncomingMessage) => boolean;
  /** Called with every new WebSocket after the handshake. */
  onSocket: (socket: Socket) => void;
  /** Sends a message over all open WebSockets. */
  push(message: Buffer): void;
  /** Closes all connections. */
  drop(): void;
}

/** An OpAMP server on real sockets, which notes every message and answers as the test says. */
export async function startOpampServer(): Promise<OpampServer> {
  const sockets = new Set<Socket>();
  const webSockets = new Set<Socket>();
  let connections = 0;
  const note = (bytes: Buffer, from: Omit<SeenMessage, "fields">): Buffer | undefined => {
    const message = { fields: readProto(bytes), ...from };
    opamp.messages.push(message);
    return opamp.answer(message);
  };
  const server = createServer(async (request, response) => {
    const connection = ++connections;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (opamp.onRequest(request, response)) return;
    const { headers } = request;
    const answer = note(Buffer.concat(chunks), { transport: "http", headers, connection }) ?? Buffer.alloc(0);
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end(answer);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.on("upgrade", (request: IncomingMessage, duplex) => {
    const socket = duplex as Socket;
    if (opamp.refuses(request)) return void socket.end("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n");
    const connection = ++connections;
    webSockets.add(socket);
    socket.on("close", () => webSockets.delete(socket));
    const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}${GUID}`).digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    opamp.onSocket(socket);
    let bytes = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (let frame = readClientFrame(bytes); frame !== undefined; frame = readClientFrame(bytes)) {
        bytes = Buffer.from(frame.rest);
        if (frame.opcode === 8) {
          opamp.closeCodes.push(frame.payload.readUInt16BE(0));
          socket.end(serverFrame(8, frame.payload));
        }
        if (frame.opcode !== 2) continue;
        if (frame.payload[0] !== 0) throw new Error("the message has no header");
        const answer = note(frame.payload.subarray(1), { transport: "ws", headers: request.headers, connection });
        if (answer !== undefined) socket.write(serverFrame(2, Buffer.concat([Buffer.of(0), answer])));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    drop();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const opamp: OpampServer = {
    wsUrl: `ws://${host}/v1/opamp`,
    httpUrl: `http://${host}/v1/opamp`,
    messages: [],
    closeCodes: [],
    answer: () => Buffer.alloc(0),
    onRequest: () => false,
    refuses: () => false,
    onSocket: () => {},
    push: (message) => {
      for (const socket of webSockets) socket.write(serverFrame(2, Buffer.concat([Buffer.of(0), message])));
    },
    drop,
  };
  return opamp;
}
