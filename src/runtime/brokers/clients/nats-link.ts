import { readFile } from "node:fs/promises";
import type { JetStreamClient, JetStreamManager } from "@nats-io/jetstream";
import type { ConnectionOptions, NatsConnection } from "@nats-io/transport-node";
import type { ComponentContext } from "#contract";
import { errorMessage, StartError } from "#contract/errors";
import { reasonLog } from "#contract/operations";
import { waitAtMost } from "#contract/time";
import { connectionErrorMessage, loadClientTls, renewClientTls, type TlsClientOptions } from "#net";
import { jittered } from "#resilience";
import { loadClient } from "#system";
import { NATS_CLIENTS, type NatsConnectionConfig } from "./nats-config.js";

type NatsTransport = typeof import("@nats-io/transport-node");
type NatsJetStream = typeof import("@nats-io/jetstream");

/** An open connection, as components use it. */
export interface NatsSession {
  readonly connection: NatsConnection;
  readonly transport: NatsTransport;
  readonly client: NatsJetStream;
  readonly stream: JetStreamClient;
  /** Sends nothing to the server until it is called. */
  readonly manager: () => Promise<JetStreamManager>;
}

const RETRY_MS = 1000;
/**
 * The client reconnects by itself, but often does not say why it fails. After this many attempts it gives up; then its
 * error is logged, and a new connection is made with the current files.
 */
const CLIENT_RETRIES = 2;

/**
 * Keeps a connection to NATS. Retries for as long as the component runs, whatever the error, and logs the error. An
 * unreachable server does not prevent the start.
 */
export class NatsLink {
  private readonly config: NatsConnectionConfig;
  private readonly context: ComponentContext;
  private readonly logReason: (reason: string) => void;
  private readonly files: { tls?: TlsClientOptions; nkey?: Uint8Array; credentials?: Uint8Array } = {};
  private session: NatsSession | undefined;
  private isConnected = false;
  private isStopped = false;
  private lastError: unknown;
  private cancelRetry: (() => void) | undefined;
  private readonly waiting = new Set<(session: NatsSession | undefined) => void>();
  private readonly waitingForLoss = new Set<() => void>();
  /** Called with the reason whenever there is no connection. */
  onFailure: ((reason: string) => void) | undefined;

  constructor(config: NatsConnectionConfig, context: ComponentContext) {
    this.config = config;
    this.context = context;
    const servers = config.servers.map(withoutCredentials);
    this.logReason = reasonLog(context.clock, (reason, suppressed) =>
      context.logger.warn({ servers, reason, suppressed }, "no connection to NATS; retrying"),
    );
  }

  /** Resolves after the first attempt, even a failed one. Throws a `StartError` when no attempt can succeed. */
  async start(): Promise<void> {
    const [transport, client] = await Promise.all([
      loadClient<NatsTransport>(NATS_CLIENTS[0]),
      loadClient<NatsJetStream>(NATS_CLIENTS[1]),
    ]);
    await this.readFiles();
    const options = this.options(transport);
    await this.connect(transport, client, options);
  }

  /** The session if it is connected now. */
  get current(): NatsSession | undefined {
    return this.isConnected ? this.session : undefined;
  }

  /** The reason why there is no connection. */
  get reason(): string {
    if (this.lastError === undefined) return "not connected";
    const { tls } = this.config;
    // A server that requires a client certificate hangs up only after the handshake, which the client does not notice,
    // so it times out.
    const isBare = tls && !tls.insecure && !tls.cert_file && !tls.cert_pem && isTimeout(this.lastError);
    return `${natsErrorMessage(this.lastError)}${isBare ? "; it may require a client certificate (tls.cert_file)" : ""}`;
  }

  /** Resolves when there is a connection, or with undefined when the link is stopped. */
  connected(): Promise<NatsSession | undefined> {
    if (this.isStopped || this.current !== undefined) return Promise.resolve(this.current);
    return new Promise((resolve) => this.waiting.add(resolve));
  }

  /** Calls `run` once when the current connection is lost. The returned function cancels this. */
  onceLost(run: () => void): () => void {
    this.waitingForLoss.add(run);
    return () => this.waitingForLoss.delete(run);
  }

  /** Resolves when everything sent before has reached the server, or after a second without an answer. */
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

  private reconnect(error: unknown, ...again: [NatsTransport, NatsJetStream, ConnectionOptions]): void {
    this.setLost();
    if (this.isStopped) return;
    this.lastError = error ?? new Error("the connection was closed");
    this.logReason(this.reason);
    this.onFailure?.(this.reason);
    void this.renewFiles();
    this.cancelRetry = this.context.clock.after(jittered(RETRY_MS, this.context), () => void this.connect(...again));
  }

  private async watch(connection: NatsConnection): Promise<void> {
    for await (const event of connection.status()) {
      if (event.type === "disconnect") {
        this.lastError = new Error(`the connection to ${event.server} was lost`);
        this.setLost();
        if (!this.isStopped) this.logReason(this.reason);
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

  private async readFiles(): Promise<void> {
    const { auth, tls } = this.config;
    if (auth?.creds_file !== undefined) this.files.credentials = await readSecret(auth.creds_file, "creds_file");
    if (auth?.nkey_file !== undefined) this.files.nkey = trimmed(await readSecret(auth.nkey_file, "nkey_file"));
    if (tls && !tls.insecure && this.files.tls === undefined) this.files.tls = await loadClientTls(tls, ["tls"]);
  }

  private async renewFiles(): Promise<void> {
    if (this.files.tls !== undefined) await renewClientTls(this.files.tls, this.config.tls!);
    await this.readFiles().catch(() => {}); // keeps the files read before
  }

  private options(transport: NatsTransport): ConnectionOptions {
    const { servers, auth, connect_timeout } = this.config;
    const { files } = this;
    return {
      servers: [...servers],
      name: `sluice ${this.context.id}`,
      timeout: connect_timeout,
      maxReconnectAttempts: CLIENT_RETRIES,
      reconnectTimeWait: RETRY_MS,
      ignoreAuthErrorAbort: true,
      // Otherwise the client records a stack trace with every request, which takes longer than everything else.
      noAsyncTraces: true,
      ...(auth?.user !== undefined && { user: auth.user, pass: auth.password ?? "" }),
      ...(auth?.token !== undefined && { token: auth.token }),
      ...(files.nkey && { authenticator: transport.nkeyAuthenticator(() => files.nkey!) }),
      ...(files.credentials && { authenticator: transport.credsAuthenticator(() => files.credentials!) }),
      ...(files.tls && { tls: files.tls as NonNullable<ConnectionOptions["tls"]> }),
    };
  }
}

const FLUSH_MS = 1000;

/** The error message of the server or client, with an explanation if it is unclear. */
export function natsErrorMessage(error: unknown): string {
  if ((error as Error | undefined)?.name === "JetStreamNotEnabled")
    return "JetStream is not enabled at the server, or no stream has the subject";
  if (isTimeout(error)) return "no answer from the server";
  return connectionErrorMessage(error);
}

function isTimeout(error: unknown): boolean {
  return (error as Error | undefined)?.name === "TimeoutError";
}

export function withoutCredentials(server: string): string {
  return server.replace(/\/\/[^@/]*@/, "//");
}

function trimmed(text: Uint8Array): Uint8Array {
  return Buffer.from(Buffer.from(text).toString("utf8").trim());
}

async function readSecret(file: string, key: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new StartError(`cannot read ${file}: ${errorMessage(cause)}`, ["auth", key], { cause });
  }
}

/** JetStream's error codes. */
const NATS_CODES = { consumerNotFound: 10014, streamNotFound: 10059, messageTooLarge: 10054 } as const;

export function hasNatsCode(error: unknown, name: keyof typeof NATS_CODES): boolean {
  return (error as { code?: unknown } | undefined)?.code === NATS_CODES[name];
}

/**
 * Whether a header is for the server: by these, a publisher says which duplicates to drop, what to expect of the stream,
 * and what to delete. They must not go with a copy of the message. The server would drop the copy as a duplicate and
 * confirm it, or reject it forever.
 */
export function isNatsHeader(name: string): boolean {
  return /^nats-/i.test(name);
}

/** Creates the stream if it does not exist. Another agent may create it at the same moment, which is not an error. */
export async function ensureNatsStream(
  manager: JetStreamManager,
  name: string,
  subjects: readonly string[],
): Promise<void> {
  try {
    await manager.streams.info(name);
  } catch (error) {
    if (!hasNatsCode(error, "streamNotFound")) throw error;
    await manager.streams.add({ name, subjects: [...new Set(subjects)] });
  }
}
