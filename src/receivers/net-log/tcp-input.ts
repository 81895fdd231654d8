import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { CutState, LogMap } from "#logs/entries";
import { limitConnections, listen, listenAddress, loadServerTls } from "#net";
import type { ReceiverContext } from "../../plugin.js";
import type { TcpConfig } from "./config.js";
import type { Cut } from "./cutting.js";
import type { EntryOutput } from "./entry-output.js";

const DEFAULT_CONNECTIONS = 1000;

/** Cuts the data of TCP connections into records. A client that sends more than can be taken has to wait. */
export class TcpInput {
  port = 0;
  private readonly config: TcpConfig;
  private readonly context: ReceiverContext;
  private readonly cut: Cut;
  private readonly output: EntryOutput;
  private readonly path: readonly string[];
  private readonly connections = new Map<Socket, Connection>();
  private server: Server | undefined;

  /** `path` is the path of the config section, for errors. */
  constructor(config: TcpConfig, context: ReceiverContext, cut: Cut, output: EntryOutput, path: readonly string[]) {
    this.config = config;
    this.context = context;
    this.cut = cut;
    this.output = output;
    this.path = path;
  }

  async start(): Promise<void> {
    const { config, path } = this;
    const tls = config.tls === undefined ? undefined : await loadServerTls(config.tls, [...path, "tls"]);
    const take = (socket: Socket) => this.take(socket);
    this.server = tls === undefined ? createServer(take) : createTlsServer(tls, take);
    this.server.on("tlsClientError", () => {});
    limitConnections(this.server, {
      maxConnections: config.max_connections || DEFAULT_CONNECTIONS,
      maxConnectionsPerClient: config.max_connections || DEFAULT_CONNECTIONS,
      onRefused: (reason) => this.context.logger.warn({ reason }, "a connection was refused"),
    });
    this.port = await listen(this.server, listenAddress(config.listen_address, "tcp"), [...path, "listen_address"]);
  }

  /** Reads on after a pause. */
  resume(): void {
    for (const socket of this.connections.keys()) socket.resume();
  }

  /** Cuts the remaining data into records, without waiting for more. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    for (const [socket, connection] of this.connections) {
      connection.end();
      socket.destroy();
    }
    if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  private take(socket: Socket): void {
    const connection = new Connection(this.cut, this.output, this.config.add_attributes ? peerOf(socket) : {});
    this.connections.set(socket, connection);
    if (this.config.connection_idle_timeout > 0)
      socket.setTimeout(this.config.connection_idle_timeout, () => socket.destroy());
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      connection.push(chunk);
      if (this.output.isFull) socket.pause();
    });
    socket.on("close", () => {
      connection.end();
      this.connections.delete(socket);
    });
  }
}

/** Data of a connection that does not form a whole record yet. */
class Connection {
  private readonly cut: Cut;
  private readonly sink: { takeText(bytes: Buffer, from: number, to: number): void; takeBytes(bytes: Buffer): void };
  private readonly state: { offset: number; isSkipping: boolean; records: number } & CutState = {
    offset: 1,
    isSkipping: false,
    records: 0,
  };
  private rest: Buffer = Buffer.alloc(0);

  constructor(cut: Cut, output: EntryOutput, peer: LogMap) {
    this.cut = cut;
    this.sink = {
      takeText: (bytes, from, to) => output.take(bytes.toString("utf8", from, to), peer),
      takeBytes: (bytes) => output.take(Buffer.from(bytes), peer),
    };
  }

  push(chunk: Buffer): void {
    this.read(this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]), false);
  }

  /** The remaining data may be longer than one record. */
  end(): void {
    while (this.rest.length > 0) this.read(this.rest, true);
  }

  private read(window: Buffer, isEnd: boolean): void {
    const done = this.cut(window, this.state, isEnd, this.sink);
    this.rest = window.subarray(isEnd && done === 0 ? window.length : done);
  }
}

function peerOf({ remoteAddress = "", remotePort = 0, localAddress = "", localPort = 0 }: Socket): LogMap {
  return {
    "net.transport": "IP.TCP",
    "net.peer.ip": remoteAddress,
    "net.peer.port": String(remotePort),
    "net.host.ip": localAddress,
    "net.host.port": String(localPort),
  };
}
