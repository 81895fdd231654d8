import type { RemoteInfo } from "node:dgram";
import type { BuiltInReceiverContext } from "#contract/built-in";
import type { CutState, LogMap, RecordSink } from "#logs/entries";
import { type HostPort, type LeasedUdpSocket, leaseUdpSocket, listenAddress } from "#net";
import { WorkQueue } from "#work";
import { type Counter, limitedLog } from "../../plugin.js";
import type { UdpConfig } from "./config.js";
import type { Cut } from "./cutting.js";
import type { EntryOutput } from "./entry-output.js";

const FIRST_PRINTABLE = 0x20;
/** Packets whose lines wait for a turn of the event loop may have so many bytes together. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/**
 * Receives UDP packets. Senders get no answer: packets that cannot be taken are counted, and the log mentions them from
 * time to time.
 */
export class UdpInput {
  port = 0;
  private readonly config: UdpConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly cut: Cut;
  private readonly output: EntryOutput;
  private readonly path: readonly string[];
  private readonly refused: Counter;
  private readonly logRefused: (reason: string) => void;
  private readonly work = new WorkQueue();
  private waitingBytes = 0;
  private lease: LeasedUdpSocket | undefined;

  /** `path` is the path of the config section, for errors. */
  constructor(
    config: UdpConfig,
    context: BuiltInReceiverContext,
    cut: Cut,
    output: EntryOutput,
    path: readonly string[],
  ) {
    this.config = config;
    this.context = context;
    this.cut = cut;
    this.output = output;
    this.path = path;
    const description = { description: "Number of requests refused unread or unreadable.", unit: "{requests}" };
    const labels = { receiver: context.id, transport: "udp", status: "queue_full" };
    this.refused = context.metrics.counter("sluice_receiver_refused_requests", description, labels);
    this.logRefused = limitedLog(context.clock, (reason, suppressed) =>
      context.logger.warn(
        { reason, suppressed },
        "a packet was refused and is lost: the protocol has no way to tell its sender",
      ),
    );
  }

  async start(): Promise<void> {
    const { config } = this;
    this.lease = await leaseUdpSocket({
      address: listenAddress(config.listen_address, "tcp") as HostPort,
      configPath: [...this.path, "listen_address"],
      sockets: this.context.sockets,
      onMessage: (packet, peer) => this.take(packet, peer),
      onError: (error) => this.context.logger.error({ error: error.message }, "UDP socket error"),
    });
    this.port = this.lease.socket.address().port;
  }

  async stop(): Promise<void> {
    const { lease } = this;
    this.lease = undefined;
    await lease?.close();
    await this.work.done();
  }

  private take(packet: Buffer, peer: RemoteInfo): void {
    if (this.output.isFull || this.waitingBytes > MAX_WAITING_BYTES) {
      this.refused.add(1);
      this.logRefused("too many records are already waiting");
      return;
    }
    const attributes = this.config.add_attributes ? this.attributesOf(peer, this.lease!) : undefined;
    const sink: RecordSink = {
      takeText: (bytes, from, to) => this.output.takeText(bytes, from, to, attributes),
      takeBytes: (bytes) => this.output.take(Buffer.from(bytes), attributes),
    };
    const state: CutState = { offset: 1, isSkipping: false, records: 0 };
    let rest = this.trimmed(packet);
    this.waitingBytes += packet.length;
    this.work.add(() => {
      state.hasMore = false;
      rest = rest.subarray(this.cut(rest, state, true, sink));
      if (!state.hasMore) this.waitingBytes -= packet.length;
      return !state.hasMore;
    });
  }

  /** Without NULs and other control characters at the end, which some senders add. In UTF-16 they are halves of others. */
  private trimmed(packet: Buffer): Buffer {
    if (/^utf-?16/i.test(this.config.encoding)) return packet;
    let end = packet.length;
    while (end > 0 && packet[end - 1]! < FIRST_PRINTABLE) end--;
    return packet.subarray(0, end);
  }

  private attributesOf({ address, port }: RemoteInfo, { socket }: LeasedUdpSocket): LogMap {
    const own = socket.address();
    return {
      "net.transport": "IP.UDP",
      "net.peer.ip": address,
      "net.peer.port": String(port),
      "net.host.ip": own.address,
      "net.host.port": String(own.port),
    };
  }
}
