import { createServer, type Socket } from "node:net";
import { type BuiltInReceiverContext, defineBuiltInReceiver } from "#contract/built-in";
import { connectionLimits, HANDED_OVER, type LeasedServer, leaseServer, listenAddress, portOf } from "#net";
import { BatchIntake } from "#receiving";
import { limitedLog, type Receiver } from "../../plugin.js";
import { type FluentForwardConfig, fluentForwardSchema, listenTarget } from "./config.js";
import { ForwardConnection } from "./forward-connection.js";
import { WaitingRoom } from "./waiting-room.js";

export const fluentForwardReceiver = defineBuiltInReceiver<FluentForwardConfig>({
  type: "fluent_forward",
  aliases: ["fluentforward"],
  summary:
    "Receives records from Fluentd and Fluent Bit over the forward protocol, and acknowledges chunks once they are safe.",
  signals: ["logs"],
  schema: fluentForwardSchema,
  handsOver: () => true,
  listensAt: (config) => [
    { address: listenAddress(...listenTarget(config)), key: ["endpoint"], protection: NO_PROTECTION },
  ],
  create: (config, context) => new FluentForwardReceiver(config, context),
});

/** The receiver supports neither the protocol's own authentication nor TLS. */
const NO_PROTECTION = { tls: false, auth: false };
const MAX_CONNECTIONS = 10_000;
const MAX_CONNECTIONS_PER_CLIENT = 2500;

class FluentForwardReceiver implements Receiver {
  port = 0;
  private readonly config: FluentForwardConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly connections = new Map<ForwardConnection, Socket>();
  private readonly logClosed: (event: { readonly reason: string }) => void;
  private intake: BatchIntake | undefined;
  private lease: LeasedServer | undefined;

  constructor(config: FluentForwardConfig, context: BuiltInReceiverContext) {
    this.config = config;
    this.context = context;
    this.logClosed = limitedLog(context.clock, (event, suppressed) =>
      context.logger.warn({ ...event, suppressed }, "a connection was closed"),
    );
  }

  async start(): Promise<void> {
    const room = this.context.intakes.logs;
    if (room === undefined) return;
    const intake = new BatchIntake({ signal: "logs", transport: "fluent_forward" }, this.context);
    this.intake = intake;
    const waitingRoom = new WaitingRoom(this.context);
    const take = (socket: Socket, rest?: Buffer) => {
      const { context, logClosed } = this;
      const connection = new ForwardConnection(socket, { intake, room, waitingRoom, context, logClosed }, rest);
      this.connections.set(connection, socket);
      socket.on("close", () => this.connections.delete(connection));
    };
    this.lease = await leaseServer({
      address: listenAddress(...listenTarget(this.config)),
      configPath: ["endpoint"],
      sockets: this.context.sockets,
      kind: "fluent_forward",
      create: () => createServer(),
      listeners: (server) => [
        ["connection", (socket: Socket) => take(socket)],
        [HANDED_OVER, take],
        ["error", (error: Error) => this.context.logger.error({ error: error.message }, "TCP server error")],
        ...connectionLimits(server, {
          maxConnections: MAX_CONNECTIONS,
          maxConnectionsPerClient: MAX_CONNECTIONS_PER_CLIENT,
          onRefused: (reason) => logRefused(this.context, reason),
        }),
      ],
    });
    this.port = portOf(this.lease.server);
  }

  /**
   * Hands in and acknowledges the events that were read. Clients resend the rest, or send it to the receiver that has
   * taken over the server.
   */
  async stop(): Promise<void> {
    const { lease } = this;
    this.lease = undefined;
    if (lease?.isCurrent === false) return this.handOver(lease);
    const closed = lease && new Promise<void>((resolve) => lease.server.close(() => resolve()));
    const connections = [...this.connections.keys()];
    await Promise.all(connections.map((connection) => connection.stopReading()));
    await this.intake?.stop();
    await Promise.all(connections.map((connection) => connection.finish()));
    await closed;
  }

  /** The other receiver gets each connection as soon as nothing of it is under way. */
  private async handOver({ server }: LeasedServer): Promise<void> {
    const leaving = [...this.connections].map(async ([connection, socket]) => {
      const rest = await connection.leave();
      this.connections.delete(connection);
      if (rest !== undefined) server.emit(HANDED_OVER, socket, rest);
    });
    await Promise.all(leaving);
    await this.intake?.stop();
  }
}

function logRefused({ logger }: BuiltInReceiverContext, reason: string): void {
  logger.warn({ reason }, "a connection was refused");
}
