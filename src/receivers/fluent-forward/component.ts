import { createServer, type Server } from "node:net";
import { limitConnections, listen, listenAddress } from "#net";
import { BatchIntake } from "#receiving";
import { defineReceiver, limitedLog, type Receiver, type ReceiverContext } from "../../plugin.js";
import { type FluentForwardConfig, fluentForwardSchema, listenTarget } from "./config.js";
import { ForwardConnection } from "./forward-connection.js";
import { WaitingRoom } from "./waiting-room.js";

export const fluentForwardReceiver = defineReceiver<FluentForwardConfig>({
  type: "fluent_forward",
  aliases: ["fluentforward"],
  summary:
    "Receives records from Fluentd and Fluent Bit over the forward protocol, and acknowledges chunks once they are safe.",
  signals: ["logs"],
  schema: fluentForwardSchema,
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
  private readonly context: ReceiverContext;
  private readonly connections = new Set<ForwardConnection>();
  private readonly logClosed: (event: { readonly reason: string }) => void;
  private intake: BatchIntake | undefined;
  private server: Server | undefined;

  constructor(config: FluentForwardConfig, context: ReceiverContext) {
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
    const server = createServer((socket) => {
      const { context, logClosed } = this;
      const connection = new ForwardConnection(socket, { intake, room, waitingRoom, context, logClosed });
      this.connections.add(connection);
      socket.on("close", () => this.connections.delete(connection));
    });
    limitConnections(server, {
      maxConnections: MAX_CONNECTIONS,
      maxConnectionsPerClient: MAX_CONNECTIONS_PER_CLIENT,
      onRefused: (reason) => logRefused(this.context, reason),
    });
    this.server = server;
    this.port = await listen(server, listenAddress(...listenTarget(this.config)), ["endpoint"]);
  }

  /** Hands in and acknowledges the events that were read. Clients resend the rest. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    const closed = server?.listening ? new Promise<void>((resolve) => server.close(() => resolve())) : undefined;
    await Promise.all([...this.connections].map((connection) => connection.stopReading()));
    await this.intake?.stop();
    await Promise.all([...this.connections].map((connection) => connection.finish()));
    await closed;
  }
}

function logRefused({ logger }: ReceiverContext, reason: string): void {
  logger.warn({ reason }, "a connection was refused");
}
