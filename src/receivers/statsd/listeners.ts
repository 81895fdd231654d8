import { createServer, type Socket } from "node:net";
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
import type { ReceiverContext } from "../../plugin.js";
import type { StatsdConfig } from "./config.js";

/** Takes what has arrived. */
export interface LineSink {
  /** Whether nothing more can be taken for now. */
  readonly isFull: boolean;
  /** Takes lines that are separated by line feeds. */
  take(text: string, ip: string | undefined, port: number | undefined): void;
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

/** Packets that arrive while the sink is full are refused: their senders cannot be told to wait. */
export async function listenForPackets(
  config: StatsdConfig,
  context: ReceiverContext,
  sink: LineSink,
): Promise<StatsdListener> {
  const lease = await leaseUdpSocket({
    address: udpAddress(config),
    configPath: ["endpoint"],
    sockets: context.sockets,
    onMessage(packet, { address, port }) {
      if (sink.isFull) sink.refuse("too much is waiting to be delivered");
      else sink.take(packet.toString(), address, port);
    },
    onError: (error) => context.logger.error({ error: error.message }, "UDP socket error"),
  });
  const { port } = lease.socket.address();
  return { port, resume: () => {}, stop: () => lease.close() };
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
  private lease: LeasedServer | undefined;

  constructor({ max_line_size: maxLineSize }: StatsdConfig, sink: LineSink) {
    this.maxLineSize = maxLineSize;
    this.sink = sink;
  }

  get port(): number {
    return this.lease === undefined ? 0 : portOf(this.lease.server);
  }

  async start({ endpoint, transport }: StatsdConfig, context: ReceiverContext): Promise<void> {
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
    for (const socket of this.connections.keys()) socket.resume();
  }

  /** If another receiver has taken over the server, it gets the connections with what is no whole line yet. */
  async stop(): Promise<void> {
    const { lease } = this;
    this.lease = undefined;
    for (const [socket, connection] of this.connections) {
      connection.detach(socket);
      if (lease?.isCurrent === false) lease.server.emit(HANDED_OVER, socket, connection);
      else {
        connection.end();
        socket.destroy();
      }
    }
    this.connections.clear();
    if (lease?.isCurrent) await new Promise<void>((resolve) => lease.server.close(() => resolve()));
  }

  private open(socket: Socket, connection: StatsdConnection): void {
    this.connections.set(socket, connection);
    connection.attach(socket, () => this.connections.delete(socket));
    socket.resume();
  }
}

/** The lines of one connection. */
class StatsdConnection {
  private readonly maxLineSize: number;
  private readonly sink: LineSink;
  private rest: Buffer = Buffer.alloc(0);
  /** Whether the rest of a line that is too long is skipped. */
  private isSkipping = false;
  private listeners: Readonly<Record<string, (chunk: Buffer) => void>> = {};

  constructor(maxLineSize: number, sink: LineSink) {
    this.maxLineSize = maxLineSize;
    this.sink = sink;
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
    this.listeners = {
      data: (chunk) => {
        this.push(chunk, remoteAddress, remotePort);
        if (this.sink.isFull) socket.pause();
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
    socket.on("error", () => {});
    for (const [event, listener] of Object.entries(this.listeners)) socket.off(event, listener);
  }

  /** Takes a last line that no line feed has ended. */
  end(ip?: string, port?: number): void {
    if (this.rest.length > 0) this.sink.take(this.rest.toString(), ip, port);
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
    if (whole.length > 0) this.sink.take(whole.toString(), ip, port);
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
