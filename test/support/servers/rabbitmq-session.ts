import amqp, { type Channel, type ChannelModel, type GetMessage, type Options } from "amqplib";
import { until } from "../until.js";

/** What a program that uses RabbitMQ does, with the client library itself. */
export class RabbitSession {
  readonly channel: Channel;
  private readonly connection: ChannelModel;

  private constructor(connection: ChannelModel, channel: Channel) {
    this.connection = connection;
    this.channel = channel;
  }

  static async open(url: string): Promise<RabbitSession> {
    const connection = await amqp.connect(url);
    connection.on("error", () => {});
    return new RabbitSession(connection, await connection.createChannel());
  }

  async queue(name: string): Promise<void> {
    await this.channel.assertQueue(name, { durable: true });
  }

  publish(queue: string, body: string | Uint8Array, options: Options.Publish = {}): void {
    this.channel.sendToQueue(queue, Buffer.from(body), { persistent: true, ...options });
  }

  /** Takes the next message off a queue, when there is one. */
  async take(queue: string): Promise<GetMessage> {
    let message: GetMessage | false = false;
    await until(async () => {
      message = await this.channel.get(queue, { noAck: true });
      if (message === false) throw new Error(`nothing is in ${queue}`);
    });
    return message as unknown as GetMessage;
  }

  /** Messages that wait in a queue and are not handed out. */
  async waiting(queue: string): Promise<number> {
    return (await this.channel.checkQueue(queue)).messageCount;
  }

  async close(): Promise<void> {
    await this.connection.close().catch(() => {});
  }
}
