import { createServer, type Socket } from "node:net";
import type { BuiltInReceiverContext } from "#contract/built-in";
import {
  connectionLimits,
  HANDED_OVER,
  type HostPort,
  type LeasedServer,
  leaseServer,
  leaseUdpSocket,
  listenAddress,
  portOf,
} from "#net";
import { type Step, WorkQueue } from "#work";
import type { StatsdConfig } from "./config.js";

/** Takes what has arrived. */
export interface LineSink {
  /** Whether nothing more can be taken for now. */
  readonly isFull: boolean;
  /** Returns the work of taking lines that are separated by line feeds. */
  take(text: string, ip: string | undefined, port: number | undefined): Step;
  /** Something could not be taken. */
  refuse(reason: string): void;
}

export interface StatsdListener {
  readonly port: number;
  /** Reads on after the sink was full. */
  resume(): void;
  stop(): Promise<void>;
}

const MAX_CONNECTIONS = 1000;
const LINE_FEED = 10;
/** Packets whose lines wait for a turn of the event loop may have so many bytes together. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/** Packets that arrive while the sink is full are refused: their senders cannot be told to wait. */
export async function listenForPackets(
  config: StatsdConfig,
  context: BuiltInReceiverContext,
  sink: LineSink,
): Promise<StatsdListener> {
  const work = new WorkQueue();
  let waitingBytes = 0;
  const take = (packet: Buffer, step: Step) => {
    waitingBytes += packet.length;
    work.add(() => {
      const isDone = step();
      if (isDone) waitingBytes -= packet.length;
      return isDone;
    });
  };
  const lease = await leaseUdpSocket({
    address: udpAddress(config),
    configPath: ["endpoint"],
    sockets: context.sockets,
    onMessage(packet, { address, port }) {
      const isFull = sink.isFull || waitingBytes > MAX_WAITING_BYTES;
      if (isFull) sink.refuse("too much is waiting to be delivered");
      else take(packet, sink.take(packet.toString(), address, port));
    },
    onError: (error) => context.logger.error({ error: error.message }, "UDP socket error"),
  });
  const { port } = lease.socket.address();
  const stop = async () => {
    await lease.close();
    await work.done();
  };
  return { port, resume: () => {}, stop };
}

function udpAddress({ endpoint, transport }: StatsdConfig): HostPort {
  const address = listenAddress(endpoint, "tcp") as HostPort;
  const isAny = address.host === undefined || address.host === "localhost";
  if (transport !== "udp6" || !isAny) return address;
  return { ...address, host: address.host === undefined ? "::" : "::1" };
}

/** Senders wait while the sink is full. */
export class StreamListener implements StatsdListener {
  private readonly maxLineSize: number;
  private readonly sink: LineSink;
  private readonly connections = new Map<Socket, StatsdConnection>();
  /** Connections that are closed and may have lines left. */
  private readonly closed = new Set<StatsdConnection>();
  private lease: LeasedServer | undefined;

  constructor({ max_line_size: maxLineSize }: StatsdConfig, sink: LineSink) {
    this.maxLineSize = maxLineSize;
    this.sink = sink;
  }

  get port(): number {
    return this.lease === undefined ? 0 : portOf(this.lease.server);
  }

  async start({ endpoint, transport }: StatsdConfig, context: BuiltInReceiverContext): Promise<void> {
    this.lease = await leaseServer({
      address: listenAddress(endpoint, transport),
      configPath: ["endpoint"],
      sockets: context.sockets,
      kind: "tcp",
      create: () => createServer(),
      listeners: (server) => [
        ["connection", (socket: Socket) => this.open(socket, new StatsdConnection(this.maxLineSize, this.sink))],
        [HANDED_OVER, (socket: Socket, former: StatsdConnection) => this.open(socket, former.successor(this.sink))],
        ["error", (error: Error) => context.logger.error({ error: error.message }, "TCP server error")],
        ...connectionLimits(server, {
          maxConnections: MAX_CONNECTIONS,
          maxConnectionsPerClient: MAX_CONNECTIONS,
          onRefused: (reason) => context.logger.warn({ reason }, "a connection was refused"),
        }),
      ],
    });
  }

  resume(): void {
    for (const [socket, { isBusy }] of this.connections) if (!isBusy) socket.resume();
  }

  /** If another receiver has taken over the server, it gets the connections with what is no whole line yet. */
  async stop(): Promise<void> {
    const { lease } = this;
    this.lease = undefined;
    const open = [...this.connections];
    this.connections.clear();
    await Promise.all(open.map(([socket, connection]) => leave(socket, connection, lease)));
    await Promise.all([...this.closed].map((connection) => connection.done()));
    if (lease?.isCurrent) await new Promise<void>((resolve) => lease.server.close(() => resolve()));
  }

  private open(socket: Socket, connection: StatsdConnection): void {
    this.connections.set(socket, connection);
    connection.attach(socket, () => {
      this.connections.delete(socket);
      this.closed.add(connection);
      void connection.done().then(() => this.closed.delete(connection));
    });
    if (!connection.isBusy) socket.resume();
  }
}

/** Hands a connection over, or ends it. */
async function leave(socket: Socket, connection: StatsdConnection, lease: LeasedServer | undefined): Promise<void> {
  connection.detach(socket);
  socket.pause();
  await connection.done();
  if (lease?.isCurrent === false && !socket.destroyed) {
    lease.server.emit(HANDED_OVER, socket, connection);
    return;
  }
  connection.end();
  socket.destroy();
  await connection.done();
}

/** The lines of one connection. */
class StatsdConnection {
  private readonly maxLineSize: number;
  private readonly sink: LineSink;
  private rest: Buffer = Buffer.alloc(0);
  /** Whether the rest of a line that is too long is skipped. */
  private isSkipping = false;
  private listeners: Readonly<Record<string, (chunk: Buffer) => void>> = {};
  private onIdle = () => {};
  private readonly work = new WorkQueue(() => this.onIdle());

  constructor(maxLineSize: number, sink: LineSink) {
    this.maxLineSize = maxLineSize;
    this.sink = sink;
  }

  /** Whether lines wait for a turn of the event loop. */
  get isBusy(): boolean {
    return this.work.isBusy;
  }

  /** Resolves when all lines so far are taken. */
  done(): Promise<void> {
    return this.work.done();
  }

  /** A connection that takes over this one's data. */
  successor(sink: LineSink): StatsdConnection {
    const next = new StatsdConnection(this.maxLineSize, sink);
    next.rest = this.rest;
    next.isSkipping = this.isSkipping;
    return next;
  }

  attach(socket: Socket, onClose: () => void): void {
    const { remoteAddress, remotePort } = socket;
    this.onIdle = () => {
      if (!this.sink.isFull) socket.resume();
    };
    this.listeners = {
      data: (chunk) => {
        this.push(chunk, remoteAddress, remotePort);
        if (this.sink.isFull || this.isBusy) socket.pause();
      },
      close: () => {
        this.end(remoteAddress, remotePort);
        onClose();
      },
      error: () => {},
    };
    for (const [event, listener] of Object.entries(this.listeners)) socket.on(event, listener);
  }

  detach(socket: Socket): void {
    this.onIdle = () => {};
    socket.on("error", () => {});
    for (const [event, listener] of Object.entries(this.listeners)) socket.off(event, listener);
  }

  /** Takes a last line that no line feed has ended. */
  end(ip?: string, port?: number): void {
    if (this.rest.length > 0) this.work.add(this.sink.take(this.rest.toString(), ip, port));
    this.rest = Buffer.alloc(0);
  }

  private push(chunk: Buffer, ip: string | undefined, port: number | undefined): void {
    const last = chunk.lastIndexOf(LINE_FEED);
    if (last < 0) return this.keep(chunk);
    const start = this.isSkipping ? chunk.indexOf(LINE_FEED) + 1 : 0;
    const lines = chunk.subarray(start, last);
    const whole = this.rest.length === 0 ? lines : Buffer.concat([this.rest, lines]);
    this.rest = Buffer.alloc(0);
    this.isSkipping = false;
    if (whole.length > 0) this.work.add(this.sink.take(whole.toString(), ip, port));
    this.keep(chunk.subarray(last + 1));
  }

  private keep(part: Buffer): void {
    if (this.isSkipping || part.length === 0) return;
    if (this.rest.length + part.length <= this.maxLineSize) {
      this.rest = Buffer.concat([this.rest, part]);
      return;
    }
    this.sink.refuse(`a line is longer than the ${this.maxLineSize} bytes of max_line_size`);
    this.rest = Buffer.alloc(0);
    this.isSkipping = true;
  }
}
