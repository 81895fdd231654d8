import { readFile } from "node:fs/promises";
import type { JetStreamClient, JetStreamManager } from "@nats-io/jetstream";
import type { ConnectionOptions, NatsConnection } from "@nats-io/transport-node";
import type { ComponentContext } from "../../contract/component.js";
import { errorMessage } from "../../contract/error-message.js";
import { limitedLog } from "../../contract/limited-log.js";
import { StartError } from "../../contract/start-error.js";
import { waitAtMost } from "../../contract/wait-at-most.js";
import { loadClientTls } from "../net/tls-load.js";
import { loadClient } from "./load-client.js";
import { NATS_CLIENTS, type NatsConnectionConfig } from "./nats-config.js";

export type NatsTransport = typeof import("@nats-io/transport-node");
export type NatsJetStream = typeof import("@nats-io/jetstream");

/** What a component does with a connection. */
export interface NatsSession {
  readonly connection: NatsConnection;
  readonly transport: NatsTransport;
  readonly client: NatsJetStream;
  readonly stream: JetStreamClient;
  /** Asks nothing of the server until it is called. */
  readonly manager: () => Promise<JetStreamManager>;
}

const RETRY_MS = 1000;

/**
 * A connection to NATS that is kept: tried again for as long as the component runs, whatever the reason, which is told. A
 * server that is away is no reason not to start.
 */
export class NatsLink {
  private readonly config: NatsConnectionConfig;
  private readonly context: ComponentContext;
  private readonly logFailure: (error: unknown) => void;
  private session: NatsSession | undefined;
  private isConnected = false;
  private isStopped = false;
  private lastError: unknown;
  private cancelRetry: (() => void) | undefined;
  private readonly waiting = new Set<(session: NatsSession | undefined) => void>();
  private readonly waitingForLoss = new Set<() => void>();

  constructor(config: NatsConnectionConfig, context: ComponentContext) {
    this.config = config;
    this.context = context;
    this.logFailure = limitedLog(context.clock, (error, suppressed) =>
      context.logger.warn(
        { servers: config.servers.map(withoutCredentials), reason: natsErrorMessage(error), suppressed },
        "no connection to NATS; trying again",
      ),
    );
  }

  /** Resolves after the first try, also when that has failed. Throws a `StartError` when no try can succeed. */
  async start(): Promise<void> {
    const [transport, client] = await Promise.all([
      loadClient<NatsTransport>(NATS_CLIENTS[0]),
      loadClient<NatsJetStream>(NATS_CLIENTS[1]),
    ]);
    const options = await this.options(transport);
    await this.connect(transport, client, options);
  }

  /** That which can be used at the moment. */
  get current(): NatsSession | undefined {
    return this.isConnected ? this.session : undefined;
  }

  /** Why there is none. */
  get reason(): string {
    return this.lastError === undefined ? "not connected" : natsErrorMessage(this.lastError);
  }

  /** Resolves as soon as there is a connection; with undefined when the link was stopped. */
  connected(): Promise<NatsSession | undefined> {
    if (this.isStopped || this.current !== undefined) return Promise.resolve(this.current);
    return new Promise((resolve) => this.waiting.add(resolve));
  }

  /** Calls once, when the connection that there is at the moment is lost; the returned function says that nobody cares. */
  onceLost(run: () => void): () => void {
    this.waitingForLoss.add(run);
    return () => this.waitingForLoss.delete(run);
  }

  /** What was sent before is at the server when this resolves, unless it does not answer for a second. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancelRetry?.();
    const { session, isConnected } = this;
    this.announce(undefined);
    if (session === undefined) return;
    if (isConnected)
      await waitAtMost(
        FLUSH_MS,
        session.connection.flush().catch(() => {}),
        this.context.clock,
      );
    this.isConnected = false;
    await session.connection.close();
  }

  private async connect(transport: NatsTransport, client: NatsJetStream, options: ConnectionOptions): Promise<void> {
    try {
      const connection = await transport.connect(options);
      if (this.isStopped) return await connection.close();
      this.session = {
        connection,
        transport,
        client,
        stream: client.jetstream(connection),
        manager: () => client.jetstreamManager(connection),
      };
      this.setConnected();
      void this.watch(connection);
      void connection.closed().then((error) => this.reconnect(error ?? undefined, transport, client, options));
    } catch (error) {
      this.reconnect(error, transport, client, options);
    }
  }

  /** The client connects again by itself; it gives up only where it thinks that it never can. */
  private reconnect(error: unknown, ...again: [NatsTransport, NatsJetStream, ConnectionOptions]): void {
    this.setLost();
    if (this.isStopped) return;
    this.lastError = error;
    this.logFailure(error ?? new Error("the connection was closed"));
    this.cancelRetry = this.context.clock.after(RETRY_MS, () => void this.connect(...again));
  }

  private async watch(connection: NatsConnection): Promise<void> {
    for await (const event of connection.status()) {
      if (event.type === "disconnect") {
        this.lastError = new Error(`the connection to ${event.server} was lost`);
        this.setLost();
        if (!this.isStopped) this.logFailure(this.lastError);
      } else if (event.type === "reconnect") this.setConnected();
      else if (event.type === "error") this.lastError = event.error;
    }
  }

  private setConnected(): void {
    this.isConnected = true;
    this.lastError = undefined;
    this.announce(this.session);
  }

  private setLost(): void {
    this.isConnected = false;
    const told = [...this.waitingForLoss];
    this.waitingForLoss.clear();
    for (const run of told) run();
  }

  private announce(session: NatsSession | undefined): void {
    for (const resolve of this.waiting) resolve(session);
    this.waiting.clear();
  }

  private async options(transport: NatsTransport): Promise<ConnectionOptions> {
    const { servers, auth, tls, connect_timeout } = this.config;
    const credentials = auth?.creds_file === undefined ? undefined : await readCredentials(auth.creds_file);
    return {
      servers: [...servers],
      name: `sluice ${this.context.id}`,
      timeout: connect_timeout,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RETRY_MS,
      ignoreAuthErrorAbort: true,
      ...(auth?.user !== undefined && { user: auth.user, pass: auth.password ?? "" }),
      ...(auth?.token !== undefined && { token: auth.token }),
      ...(credentials && { authenticator: transport.credsAuthenticator(credentials) }),
      ...(tls && { tls: (await loadClientTls(tls, ["tls"])) as NonNullable<ConnectionOptions["tls"]> }),
    };
  }
}

const FLUSH_MS = 1000;

/** What a server or the client says, with what it means where that is not plain. */
export function natsErrorMessage(error: unknown): string {
  const name = (error as Error | undefined)?.name;
  if (name === "JetStreamNotEnabled") return "JetStream is not enabled at the server, or no stream has the subject";
  return errorMessage(error);
}

export function withoutCredentials(server: string): string {
  return server.replace(/\/\/[^@/]*@/, "//");
}

async function readCredentials(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new StartError(`cannot read ${file}: ${errorMessage(cause)}`, ["auth", "creds_file"], { cause });
  }
}
