import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import type { CutState, LogMap } from "#logs/entries";
import {
  connectionLimits,
  HANDED_OVER,
  type LeasedServer,
  leaseServer,
  listenAddress,
  loadServerTls,
  portOf,
  reloadServerTls,
} from "#net";
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
  private lease: LeasedServer | undefined;
  private stopReloading = () => {};

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
    this.lease = await leaseServer({
      address: listenAddress(config.listen_address, "tcp"),
      configPath: [...path, "listen_address"],
      sockets: this.context.sockets,
      kind: tls === undefined ? "tcp" : `tcp with TLS ${String(tls.requestCert)}`,
      create: () => (tls === undefined ? createServer() : createTlsServer(tls)),
      listeners: (server) => [
        [tls === undefined ? "connection" : "secureConnection", (socket: Socket) => this.take(socket)],
        [HANDED_OVER, (socket: Socket, former: Connection) => this.take(socket, former)],
        ["tlsClientError", () => {}],
        ["error", (error: Error) => this.context.logger.error({ error: error.message }, "TCP server error")],
        ...connectionLimits(server, {
          maxConnections: config.max_connections || DEFAULT_CONNECTIONS,
          maxConnectionsPerClient: config.max_connections || DEFAULT_CONNECTIONS,
          onRefused: (reason) => this.context.logger.warn({ reason }, "a connection was refused"),
        }),
      ],
      update(server) {
        if (tls !== undefined) (server as TlsServer).setSecureContext(tls);
      },
    });
    const { server } = this.lease;
    if (config.tls !== undefined)
      this.stopReloading = reloadServerTls(server as TlsServer, config.tls, this.context.clock, this.context.logger);
    this.port = portOf(server);
  }

  /** Reads on after a pause. */
  resume(): void {
    for (const socket of this.connections.keys()) socket.resume();
  }

  /**
   * Cuts the remaining data into records, without waiting for more. If another receiver has taken over the server, it
   * gets the connections with the data that is not a whole record yet.
   */
  async stop(): Promise<void> {
    const { lease } = this;
    this.lease = undefined;
    this.stopReloading();
    if (lease?.isCurrent === false) return this.handOver(lease);
    for (const [socket, connection] of this.connections) {
      connection.end();
      socket.destroy();
    }
    if (lease !== undefined) await new Promise<void>((resolve) => lease.server.close(() => resolve()));
  }

  private handOver({ server }: LeasedServer): void {
    for (const [socket, connection] of this.connections) {
      this.connections.delete(socket);
      connection.detach();
      server.emit(HANDED_OVER, socket, connection);
    }
  }

  /** `former` has read the connection before. */
  private take(socket: Socket, former?: Connection): void {
    const connection = new Connection(this.cut, this.output, this.config.add_attributes ? peerOf(socket) : {}, former);
    this.connections.set(socket, connection);
    socket.setTimeout(this.config.connection_idle_timeout);
    connection.attach(socket, {
      error: () => {},
      timeout: () => socket.destroy(),
      data: (chunk: Buffer) => {
        connection.push(chunk);
        if (this.output.isFull) socket.pause();
      },
      close: () => {
        connection.end();
        this.connections.delete(socket);
      },
    });
    if (former !== undefined) socket.resume();
  }
}

/** Data of a connection that does not form a whole record yet. */
class Connection {
  private readonly cut: Cut;
  private readonly sink: { takeText(bytes: Buffer, from: number, to: number): void; takeBytes(bytes: Buffer): void };
  private state: { offset: number; isSkipping: boolean; records: number } & CutState = {
    offset: 1,
    isSkipping: false,
    records: 0,
  };
  private rest: Buffer = Buffer.alloc(0);
  /** Ends what `attach` began. */
  detach = () => {};

  /** Goes on with the data of `former`, if the connection was read before. */
  constructor(cut: Cut, output: EntryOutput, peer: LogMap, former?: Connection) {
    if (former !== undefined) {
      this.rest = former.rest;
      this.state = { ...former.state };
    }
    this.cut = cut;
    this.sink = {
      takeText: (bytes, from, to) => output.take(bytes.toString("utf8", from, to), peer),
      takeBytes: (bytes) => output.take(Buffer.from(bytes), peer),
    };
  }

  attach(socket: Socket, listeners: Readonly<Record<string, (...details: never[]) => void>>): void {
    const all = Object.entries(listeners) as [string, () => void][];
    for (const [event, listener] of all) socket.on(event, listener);
    this.detach = () => {
      for (const [event, listener] of all) socket.off(event, listener);
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
