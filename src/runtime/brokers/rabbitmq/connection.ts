import type { ChannelModel, ConfirmChannel, Options, SocketOptions } from "amqplib";
import { z } from "zod";
import { duration, secret, section } from "#contract/schema";
import { keepAliveTimer, waitAtMost } from "#contract/time";
import { loadClientTls, renewClientTls, type TlsClientOptions, tlsClient } from "#net";
import { loadClient } from "#system";

/** Package of the AMQP 0.9.1 client. */
export const RABBITMQ_CLIENT = "amqplib";

/** `connection:` of the receiver and the exporter, with the keys of the Collector's exporter. */
export function rabbitConnection() {
  return z.strictObject({
    endpoint: z
      .string()
      .regex(/^amqps?:\/\/[^\s]+$/, "expected a URL such as amqp://localhost:5672")
      .default("amqp://localhost:5672")
      .meta({ description: "Address of RabbitMQ: amqp://host:port, or amqps:// for TLS." }),
    vhost: z.string().default("").meta({ description: "The virtual host; default that of the endpoint, or `/`." }),
    auth: section(
      z.strictObject({
        plain: section(
          z.strictObject({
            username: z.string().default("guest").meta({ description: "The user." }),
            password: secret().default("guest").meta({ description: "Its password." }),
          }),
        )
          .prefault({})
          .meta({ description: "A user and a password." }),
      }),
    )
      .prefault({})
      .meta({ description: "Authentication to RabbitMQ." }),
    tls: section(tlsClient()).optional().meta({ description: "Certificates and versions of TLS, for amqps." }),
    connection_timeout: duration().default(10_000).meta({ description: "How long connecting may take." }),
    heartbeat: duration().default(10_000).meta({ description: "Heartbeat interval of the connection." }),
    name: z
      .string()
      .default("")
      .meta({ description: "Name of the connection in RabbitMQ; default: the component's id." }),
  });
}

type RabbitConnectionConfig = z.infer<ReturnType<typeof rabbitConnection>>;

/** Opens connections as configured. Errors in the config alone are found on creation. */
export class RabbitClient {
  private readonly config: RabbitConnectionConfig;
  private readonly id: string;
  private readonly amqplib: typeof import("amqplib");
  private readonly tls: TlsClientOptions | undefined;

  private constructor(
    config: RabbitConnectionConfig,
    id: string,
    amqplib: typeof import("amqplib"),
    tls: TlsClientOptions | undefined,
  ) {
    this.config = config;
    this.id = id;
    this.amqplib = amqplib;
    this.tls = tls;
  }

  /** Throws a `StartError` when the client library is missing, or a certificate cannot be read. */
  static async create(config: RabbitConnectionConfig, id: string): Promise<RabbitClient> {
    const amqplib = await loadClient<typeof import("amqplib")>(RABBITMQ_CLIENT);
    const tls = config.tls && (await loadClientTls(config.tls, ["connection", "tls"]));
    return new RabbitClient(config, id, amqplib, tls);
  }

  /** The server's address, without credentials. */
  get peer(): string {
    const { protocol, host } = new URL(this.config.endpoint);
    return `${protocol}//${host}`;
  }

  /**
   * Opens a connection, or rejects with the reason. The caller listens for `close`; errors of the connection go to
   * `onError`.
   */
  async connect(onError: (error: Error) => void): Promise<ChannelModel> {
    const { connection_timeout: timeout, name, tls } = this.config;
    // Certificates may have been renewed since the last connection.
    if (this.tls && tls) await renewClientTls(this.tls, tls);
    const options: SocketOptions & TlsClientOptions = {
      timeout,
      noDelay: true,
      clientProperties: { connection_name: name || this.id },
      ...(this.tls ?? { rejectUnauthorized: true }),
    };
    const address = this.address();
    const connection = await this.amqplib.connect(address, options).catch((error: Error) => {
      throw plainError(error, address);
    });
    connection.on("error", onError);
    return connection;
  }

  private address(): Options.Connect {
    const { endpoint, vhost, auth, heartbeat } = this.config;
    const url = new URL(endpoint);
    const inPath = decodeURIComponent(url.pathname.slice(1));
    return {
      protocol: url.protocol.slice(0, -1),
      hostname: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port === "" ? (url.protocol === "amqps:" ? 5671 : 5672) : Number(url.port),
      username: url.username === "" ? auth.plain.username : decodeURIComponent(url.username),
      password: url.password === "" ? auth.plain.password : decodeURIComponent(url.password),
      vhost: encodeURIComponent(vhost || inPath || "/"),
      heartbeat: Math.max(1, Math.round(heartbeat / 1000)),
    };
  }
}

/** Makes the reason readable that RabbitMQ gives for closing a new connection; the client does not decode it. */
function plainError(error: Error, { vhost = "", username = "" }: Options.Connect): Error {
  if (!error.message.includes("got <ConnectionClose")) return error;
  const host = decodeURIComponent(vhost);
  return new Error(`the virtual host ${host} does not exist, or the user ${username} may not use it`, { cause: error });
}

/** Closes the connection properly, or destroys its socket if that takes too long: RabbitMQ may be gone or suspended. */
export async function closeConnection(connection: ChannelModel): Promise<void> {
  const closed = connection.close().catch(() => {});
  await waitAtMost(CLOSE_LIMIT_MS, closed, keepAliveTimer, () => destroySocket(connection));
}

const CLOSE_LIMIT_MS = 2000;

function destroySocket({ connection }: ChannelModel): void {
  (connection as unknown as { stream?: { destroy(): void } }).stream?.destroy();
}

/** Destination and id of a published message; several messages may share them. */
interface Published {
  readonly exchange: string;
  readonly routingKey: string;
  readonly messageId: unknown;
}

/**
 * Tracks `mandatory` messages that RabbitMQ returned on a channel because no queue accepted them. RabbitMQ confirms
 * such a message too, right after returning it, and before it confirms any later message that it has to store.
 */
export class ReturnedMessages {
  /** Returned messages that are not yet confirmed, counted by destination and id. */
  private readonly counts = new Map<string, number>();

  constructor(channel: ConfirmChannel) {
    channel.on("return", ({ fields, properties }) => {
      const { exchange, routingKey } = fields as unknown as Published;
      const key = keyOf({ exchange, routingKey, messageId: properties.messageId });
      this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    });
  }

  /** Returns true if the message was returned. Call it once per message, on its confirmation. */
  take(published: Published): boolean {
    if (this.counts.size === 0) return false;
    const key = keyOf(published);
    const count = this.counts.get(key) ?? 0;
    if (count > 1) this.counts.set(key, count - 1);
    else this.counts.delete(key);
    return count > 0;
  }
}

function keyOf({ exchange, routingKey, messageId }: Published): string {
  return JSON.stringify([exchange, routingKey, messageId ?? null]);
}
