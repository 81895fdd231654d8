import type { ChannelModel, ConfirmChannel, Options } from "amqplib";
import { Refusal } from "../../plugin.js";
import { closeConnection, type RabbitClient, refusalOfConnection } from "../../runtime/kit.js";

/** One message on its way out. `messageId` must be set: by it RabbitMQ's word that nobody wants it is recognised. */
export interface Publication {
  readonly exchange: string;
  readonly routingKey: string;
  readonly body: Uint8Array;
  readonly options: Options.Publish & { readonly messageId: string };
}

/**
 * A channel on which everything published is confirmed by RabbitMQ. It is opened when it is needed, and anew when it was
 * closed; what was on its way then fails, to be sent again.
 */
export class ConfirmedChannel {
  private readonly client: RabbitClient;
  private readonly unroutableIs: "transient" | "permanent";
  private opening: Promise<ConfirmChannel> | undefined;
  private connection: ChannelModel | undefined;
  private readonly returned = new Set<string>();
  private lastProblem: Error | undefined;
  /** Why RabbitMQ takes nothing at the moment, though it is there. */
  private blocked: string | undefined;

  constructor(client: RabbitClient, unroutableIs: "transient" | "permanent") {
    this.client = client;
    this.unroutableIs = unroutableIs;
  }

  /** Resolves when RabbitMQ has confirmed the message. Rejects with a `Refusal`. */
  async publish({ exchange, routingKey, body, options }: Publication): Promise<void> {
    const channel = await this.open();
    if (this.blocked !== undefined)
      throw new Refusal("transient", `${this.client.peer} takes nothing: it is ${this.blocked}`, { status: "BLOCKED" });
    const { messageId } = options;
    await new Promise<void>((resolve, reject) => {
      const onConfirm = (error: unknown) => {
        if (error) return reject(this.refusalOf(error));
        if (!this.returned.delete(messageId)) return resolve();
        reject(unroutable(this.unroutableIs, this.client.peer, exchange, routingKey));
      };
      try {
        channel.publish(exchange, routingKey, asBuffer(body), options, onConfirm);
      } catch (error) {
        reject(this.refusalOf(error));
      }
    });
  }

  /** Resolves when RabbitMQ is there. */
  async open(): Promise<ConfirmChannel> {
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

  private async connect(): Promise<ConfirmChannel> {
    this.lastProblem = undefined;
    const note = (error: Error) => {
      this.lastProblem = error;
    };
    // A channel may be closed while its connection lives on: that one is used again.
    const connection = (this.connection ??= await this.client.connect(note));
    connection.once("close", () => {
      if (this.connection === connection) this.connection = this.blocked = undefined;
    });
    connection.on("blocked", (reason: string) => {
      this.blocked = reason;
    });
    connection.on("unblocked", () => {
      this.blocked = undefined;
    });
    const channel = await connection.createConfirmChannel();
    channel.on("error", note);
    channel.on("return", ({ properties }) => this.returned.add(String(properties.messageId)));
    channel.once("close", () => {
      this.opening = undefined;
      this.returned.clear();
    });
    return channel;
  }

  /** What was said when the channel was closed tells more than that it was. */
  private refusalOf(error: unknown): Refusal {
    return refusalOfConnection(this.client.peer, this.lastProblem ?? error);
  }
}

function unroutable(kind: "transient" | "permanent", peer: string, exchange: string, routingKey: string): Refusal {
  const where =
    exchange === "" ? `no queue is called "${routingKey}"` : `exchange "${exchange}" has no queue for "${routingKey}"`;
  return new Refusal(kind, `${peer}: ${where}`, { status: "NO_ROUTE", category: "integration" });
}

/** amqplib takes nothing but a Buffer. Copies nothing. */
function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
