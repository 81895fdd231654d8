import type { ChannelModel, ConfirmChannel, Options } from "amqplib";
import { closeConnection, type RabbitClient, ReturnedMessages } from "#brokers";
import { copyRefusal } from "#contract/errors";
import { refusalOfConnection } from "#net/otlp";
import { Refusal } from "../../plugin.js";

/** A message to be published. */
export interface Publication {
  readonly exchange: string;
  readonly routingKey: string;
  readonly body: Uint8Array;
  readonly options: Options.Publish & { readonly messageId: string };
}

interface OpenChannel {
  readonly channel: ConfirmChannel;
  readonly returned: ReturnedMessages;
}

/**
 * A channel on which RabbitMQ confirms every message. It is opened on first use, and again after it was closed.
 * Messages that were under way then fail, and are sent again.
 */
export class ConfirmedChannel {
  private readonly client: RabbitClient;
  private readonly unroutableKind: "transient" | "permanent";
  private opening: Promise<OpenChannel> | undefined;
  private current: OpenChannel | undefined;
  private connection: ChannelModel | undefined;
  private lastProblem: Error | undefined;
  /** The reason why RabbitMQ accepts nothing at the moment although it is connected. */
  private blocked: string | undefined;

  constructor(client: RabbitClient, unroutableKind: "transient" | "permanent") {
    this.client = client;
    this.unroutableKind = unroutableKind;
  }

  /** Resolves when RabbitMQ has confirmed the message. Rejects with a `Refusal`. */
  publish(publication: Publication): Promise<void> {
    if (this.current !== undefined) return this.publishOn(this.current, publication);
    return this.open().then((opened) => this.publishOn(opened, publication));
  }

  private publishOn({ channel, returned }: OpenChannel, publication: Publication): Promise<void> {
    const { exchange, routingKey, body, options } = publication;
    const { messageId } = options;
    return new Promise((resolve, reject) => {
      if (this.blocked !== undefined) {
        const reason = `${this.client.peer} accepts nothing: it is ${this.blocked}`;
        return reject(new Refusal("transient", reason, { status: "BLOCKED" }));
      }
      const onConfirm = (error: unknown) => {
        if (error) reject(this.refusalOf(error));
        else if (returned.take({ exchange, routingKey, messageId }))
          reject(unroutable(this.unroutableKind, this.client.peer, exchange, routingKey));
        else resolve();
      };
      try {
        channel.publish(exchange, routingKey, asBuffer(body), options, onConfirm);
      } catch (error) {
        reject(this.refusalOf(error));
      }
    });
  }

  /** Resolves when RabbitMQ is connected. */
  async open(): Promise<OpenChannel> {
    this.opening ??= this.connect();
    const { opening } = this;
    try {
      return await opening;
    } catch (error) {
      if (this.opening === opening) this.opening = undefined;
      throw this.refusalOf(error);
    }
  }

  async close(): Promise<void> {
    await this.opening?.catch(() => {});
    if (this.connection !== undefined) await closeConnection(this.connection);
  }

  private async connect(): Promise<OpenChannel> {
    this.lastProblem = undefined;
    const note = (error: Error) => {
      this.lastProblem = error;
    };
    // A channel may be closed while its connection lives on; the connection is then reused.
    const connection = (this.connection ??= await this.openConnection(note));
    const channel = await connection.createConfirmChannel();
    channel.on("error", note);
    const opened = { channel, returned: new ReturnedMessages(channel) };
    channel.once("close", () => {
      this.opening = this.current = undefined;
    });
    this.current = opened;
    return opened;
  }

  private async openConnection(note: (error: Error) => void): Promise<ChannelModel> {
    const connection = await this.client.connect(note);
    connection.once("close", () => {
      if (this.connection === connection) this.connection = this.blocked = undefined;
    });
    connection.on("blocked", (reason: string) => {
      this.blocked = reason;
    });
    connection.on("unblocked", () => {
      this.blocked = undefined;
    });
    return connection;
  }

  /** The error that closed the channel tells more than the fact that it was closed. */
  private refusalOf(error: unknown): Refusal {
    const why = this.lastProblem ?? error;
    const refusal = refusalOfConnection(this.client.peer, why);
    return isMessageError(why) ? copyRefusal(refusal, { blame: "entry" }) : refusal;
  }
}

/**
 * RabbitMQ closed the channel because of a published message, for example because of an expiration that is not a
 * number.
 */
function isMessageError(error: unknown): boolean {
  return (error as { readonly code?: unknown } | undefined)?.code === PRECONDITION_FAILED;
}

const PRECONDITION_FAILED = 406;

function unroutable(kind: "transient" | "permanent", peer: string, exchange: string, routingKey: string): Refusal {
  const where =
    exchange === "" ? `there is no queue "${routingKey}"` : `exchange "${exchange}" has no queue for "${routingKey}"`;
  return new Refusal(kind, `${peer}: ${where}`, { status: "NO_ROUTE", category: "integration", blame: "backend" });
}

/** amqplib accepts only a Buffer. This copies nothing. */
function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
