import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import type { LogMap } from "#logs/entries";
import { listenAddress } from "#net";
import { type Counter, limitedLog, type ReceiverContext, StartError } from "../../plugin.js";
import type { UdpConfig } from "./config.js";
import type { Cut } from "./cutting.js";
import type { EntryOutput } from "./entry-output.js";

/**
 * Receives UDP packets. Senders get no answer: packets that cannot be taken are counted, and the log mentions them from
 * time to time.
 */
export class UdpInput {
  port = 0;
  private readonly config: UdpConfig;
  private readonly context: ReceiverContext;
  private readonly cut: Cut;
  private readonly output: EntryOutput;
  private readonly path: readonly string[];
  private readonly refused: Counter;
  private readonly logRefused: (reason: string) => void;
  private socket: Socket | undefined;

  /** `path` is the path of the config section, for errors. */
  constructor(config: UdpConfig, context: ReceiverContext, cut: Cut, output: EntryOutput, path: readonly string[]) {
    this.config = config;
    this.context = context;
    this.cut = cut;
    this.output = output;
    this.path = path;
    const description = { description: "Number of requests refused unread or unreadable.", unit: "{requests}" };
    const labels = { receiver: context.id, transport: "udp", status: "queue_full" };
    this.refused = context.metrics.counter("sluice_receiver_refused_requests", description, labels);
    this.logRefused = limitedLog(context.clock, (reason, suppressed) =>
      context.logger.warn({ reason, suppressed }, "a packet was refused, and its sender cannot be told"),
    );
  }

  async start(): Promise<void> {
    const { config } = this;
    const address = listenAddress(config.listen_address, "tcp") as {
      readonly host: string | undefined;
      readonly port: number;
    };
    const socket = createSocket(address.host?.includes(":") ? "udp6" : "udp4");
    this.socket = socket;
    await new Promise<void>((resolve, reject) => {
      const failed = (error: Error) => {
        const message = `cannot listen on ${config.listen_address} (UDP): ${error.message}`;
        reject(new StartError(message, [...this.path, "listen_address"], { cause: error }));
      };
      socket.once("error", failed);
      socket.bind({ port: address.port, ...(address.host !== undefined && { address: address.host }) }, () => {
        socket.off("error", failed);
        resolve();
      });
    });
    socket.on("error", (error) => this.context.logger.error({ error: error.message }, "UDP socket error"));
    socket.on("message", (packet, peer) => this.take(packet, peer));
    this.port = socket.address().port;
  }

  async stop(): Promise<void> {
    const { socket } = this;
    this.socket = undefined;
    if (socket !== undefined) await new Promise<void>((resolve) => socket.close(() => resolve()));
  }

  private take(packet: Buffer, peer: RemoteInfo): void {
    if (this.output.isFull) {
      this.refused.add(1);
      this.logRefused("too many records are already waiting");
      return;
    }
    const attributes = this.config.add_attributes ? this.attributesOf(peer) : {};
    this.cut(packet, { offset: 1, isSkipping: false, records: 0 }, true, {
      takeText: (bytes, from, to) => this.output.take(bytes.toString("utf8", from, to), attributes),
      takeBytes: (bytes) => this.output.take(Buffer.from(bytes), attributes),
    });
  }

  private attributesOf({ address, port }: RemoteInfo): LogMap {
    const own = this.socket!.address();
    return {
      "net.transport": "IP.UDP",
      "net.peer.ip": address,
      "net.peer.port": String(port),
      "net.host.ip": own.address,
      "net.host.port": String(own.port),
    };
  }
}
