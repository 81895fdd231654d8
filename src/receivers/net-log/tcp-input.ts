import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import type { BuiltInReceiverContext } from "#contract/built-in";
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
import { WorkQueue } from "#work";
import type { TcpConfig } from "./config.js";
import type { Cut } from "./cutting.js";
import type { EntryOutput } from "./entry-output.js";

const DEFAULT_CONNECTIONS = 1000;

/** Cuts the data of TCP connections into records. A client that sends more than can be taken has to wait. */
export class TcpInput {
  port = 0;
  private readonly config: TcpConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly cut: Cut;
  private readonly output: EntryOutput;
  private readonly path: readonly string[];
  private readonly connections = new Map<Socket, Connection>();
  /** Of connections that are closed and have data left. */
  private readonly ends = new Set<Promise<void>>();
  private lease: LeasedServer | undefined;
  private stopReloading = () => {};

  /** `path` is the path of the config section, for errors. */
  constructor(
    config: TcpConfig,
    context: BuiltInReceiverContext,
    cut: Cut,
    output: EntryOutput,
    path: readonly string[],
  ) {
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
    for (const [socket, { isBusy }] of this.connections) if (!isBusy) socket.resume();
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
    const ends = [...this.connections].map(([socket, connection]) => {
      const end = connection.end();
      socket.destroy();
      return end;
    });
    await Promise.all([...ends, ...this.ends]);
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
    const peer = this.config.add_attributes ? peerOf(socket) : undefined;
    const connection = new Connection({ cut: this.cut, output: this.output, peer, former }, () => this.readOn(socket));
    this.connections.set(socket, connection);
    socket.setTimeout(this.config.connection_idle_timeout);
    connection.attach(socket, {
      error: () => {},
      timeout: () => socket.destroy(),
      data: (chunk: Buffer) => {
        connection.push(chunk);
        if (this.output.isFull || connection.isBusy) socket.pause();
      },
      close: () => {
        this.connections.delete(socket);
        const end = connection.end();
        this.ends.add(end);
        void end.then(() => this.ends.delete(end));
      },
    });
    if (former !== undefined) this.readOn(socket);
  }

  private readOn(socket: Socket): void {
    if (this.connections.get(socket)?.isBusy === false && !this.output.isFull) socket.resume();
  }
}

interface LineConnectionSettings {
  readonly cut: Cut;
  readonly output: EntryOutput;
  readonly peer: LogMap | undefined;
  /** Has read the connection before. */
  readonly former?: Connection | undefined;
}

/** Data of a connection that was not cut into records yet. */
class Connection {
  private readonly cut: Cut;
  private readonly sink: { takeText(bytes: Buffer, from: number, to: number): void; takeBytes(bytes: Buffer): void };
  private readonly work: WorkQueue;
  private state: { offset: number; isSkipping: boolean; records: number } & CutState = {
    offset: 1,
    isSkipping: false,
    records: 0,
  };
  private rest: Buffer = Buffer.alloc(0);
  private isEnd = false;
  private removeListeners = () => {};

  /** `onIdle` is called after work that had to wait for a turn. */
  constructor({ cut, output, peer, former }: LineConnectionSettings, onIdle: () => void) {
    this.cut = cut;
    this.work = new WorkQueue(onIdle);
    this.sink = {
      takeText: (bytes, from, to) => output.takeText(bytes, from, to, peer),
      takeBytes: (bytes) => output.take(Buffer.from(bytes), peer),
    };
    if (former === undefined) return;
    this.state = { ...former.state };
    this.push(former.rest);
  }

  /** Whether data wait for a turn of the event loop. */
  get isBusy(): boolean {
    return this.work.isBusy;
  }

  attach(socket: Socket, listeners: Readonly<Record<string, (...details: never[]) => void>>): void {
    const all = Object.entries(listeners) as [string, () => void][];
    for (const [event, listener] of all) socket.on(event, listener);
    this.removeListeners = () => {
      for (const [event, listener] of all) socket.off(event, listener);
    };
  }

  /** Ends what `attach` began. What was not cut yet is left to the next one. */
  detach(): void {
    this.removeListeners();
    this.work.clear();
  }

  push(chunk: Buffer): void {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    if (!this.isBusy) this.work.add(() => this.read());
  }

  /** Resolves when all data are records. What remains may be longer than one. */
  async end(): Promise<void> {
    this.isEnd = true;
    this.work.add(() => this.read());
    await this.work.done();
  }

  /** Returns false if the turn is over. */
  private read(): boolean {
    const { state } = this;
    do {
      state.hasMore = false;
      const done = this.cut(this.rest, state, this.isEnd, this.sink);
      const isStuck = this.isEnd && done === 0 && !state.hasMore;
      this.rest = this.rest.subarray(isStuck ? this.rest.length : done);
    } while (this.isEnd && !state.hasMore && this.rest.length > 0);
    return !state.hasMore;
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
