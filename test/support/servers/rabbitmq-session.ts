import type { Writable } from "node:stream";
import amqp, { type Channel, type ChannelModel, type GetMessage, type Options } from "amqplib";
import { until } from "../until.js";

/** A program that uses RabbitMQ, with the client library itself. */
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

  /**
   * Publishes a message whose header lies in a table, in a table, in a table: so deep as no client library would write it, and only the
   * server takes it. By the protocol's own frames: method, header, body.
   */
  publishNested(queue: string, depth: number): void {
    const tables: Buffer[] = [Buffer.from([1, 0x61, 0x74, 1])];
    let length = tables[0]!.length;
    for (let i = 0; i < depth; i++, length += 7) tables.push(Buffer.concat([Buffer.from("\x01aF"), uint32(length)]));
    const { channel } = this as unknown as { channel: { ch: number; connection: { stream: Writable } } };
    const method = Buffer.concat([Buffer.from([0, 60, 0, 40, 0, 0, 0, queue.length]), Buffer.from(`${queue}\0`)]);
    const sizeAndFlags = Buffer.from([0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x20, 0]);
    const header = Buffer.concat([sizeAndFlags, uint32(length), ...tables.reverse()]);
    for (const [i, payload] of [method, header, Buffer.from("m")].entries())
      channel.connection.stream.write(
        Buffer.concat([Buffer.from([i + 1, 0, channel.ch]), uint32(payload.length), payload, Buffer.from([0xce])]),
      );
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

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
