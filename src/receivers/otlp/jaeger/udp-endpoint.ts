import type { BuiltInReceiverContext } from "#contract/built-in";
import { type LeasedUdpSocket, leaseUdpSocket, listenAddress } from "#net";
import { receiverCounters } from "#receiving";
import { InFlightCounter } from "#receiving/requests";
import {
  type Batch,
  type Counter,
  type Intake,
  isMalformed,
  limitedLog,
  type Origin,
  StartError,
} from "../../../plugin.js";
import { BinaryProtocol } from "./binary-protocol.js";
import { CompactProtocol } from "./compact-protocol.js";
import type { JaegerUdpConfig } from "./config.js";
import { batchOfMessage } from "./format.js";

export type UdpProtocol = "thrift_compact" | "thrift_binary";

const READERS = { thrift_compact: CompactProtocol, thrift_binary: BinaryProtocol } as const;

/** A smaller span or tag is possible, but a packet full of such tiny elements is of no use. */
const MAX_ELEMENTS = 65_536;

/**
 * UDP packets as clients send them to Jaeger's agent. Senders get no answer and never learn of a packet that cannot be
 * taken, so each is counted, and the log mentions them from time to time.
 */
export class UdpEndpoint {
  port = 0;
  private readonly protocol: UdpProtocol;
  private readonly config: JaegerUdpConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly intake: Intake | undefined;
  private readonly accepted: Counter;
  private readonly refused: Counter;
  private readonly logRefused: (reason: string) => void;
  private readonly refusedPackets = new Map<string, Counter>();
  private readonly handedIn = new InFlightCounter();
  private waiting = 0;
  private lease: LeasedUdpSocket | undefined;

  constructor(protocol: UdpProtocol, config: JaegerUdpConfig, context: BuiltInReceiverContext) {
    this.protocol = protocol;
    this.config = config;
    this.context = context;
    this.intake = context.intakes.traces;
    const counters = receiverCounters(context.metrics, "traces", { receiver: context.id, transport: this.transport });
    this.accepted = counters.accepted;
    this.refused = counters.refused;
    this.logRefused = limitedLog(context.clock, (reason, suppressed) =>
      context.logger.warn(
        { protocol, reason, suppressed },
        "a packet was refused and is lost: the protocol has no way to tell its sender",
      ),
    );
  }

  async start(): Promise<void> {
    const address = listenAddress(this.config.endpoint, "tcp");
    const path = ["protocols", this.protocol, "endpoint"];
    if ("path" in address) throw new StartError("expected host:port, and not the path of a socket", path);
    this.lease = await leaseUdpSocket({
      address,
      configPath: path,
      sockets: this.context.sockets,
      onMessage: (packet, peer) => this.take(packet, peer.address),
      onError: (error) => this.context.logger.error({ error: error.message }, "UDP socket error"),
    });
    const { socket } = this.lease;
    const { socket_buffer_size } = this.config;
    if (socket_buffer_size > 0) socket.setRecvBufferSize(socket_buffer_size);
    this.port = socket.address().port;
  }

  /** Waits for the batches that were handed in. */
  async stop(): Promise<void> {
    const { lease } = this;
    this.lease = undefined;
    await lease?.close();
    await this.handedIn.whenZero();
  }

  private get transport(): string {
    return `udp_${this.protocol}`;
  }

  private take(packet: Buffer, address: string): void {
    const { intake, config } = this;
    if (intake === undefined) return this.refuse("no_pipeline", `no pipeline of traces reads from ${this.context.id}`);
    if (packet.length > config.max_packet_size) return this.refuse("too_large", "it is larger than max_packet_size");
    if (this.waiting >= config.queue_size) return this.refuse("queue_full", "queue_size packets are already waiting");
    try {
      const batch = batchOfMessage(new READERS[this.protocol](packet, MAX_ELEMENTS), MAX_ELEMENTS);
      if (batch.count > 0) void this.handIn(intake, batch, address);
    } catch (error) {
      this.refuse(isMalformed(error) ? "malformed" : "failed", (error as Error).message);
    }
  }

  private async handIn(intake: Intake, batch: Batch, address: string): Promise<void> {
    this.waiting += 1;
    this.handedIn.begin();
    const outcome = await intake.accept(batch, this.originOf(address));
    this.waiting -= 1;
    const rejected = outcome.ok ? outcome.rejected : batch.count;
    if (batch.count > rejected) this.accepted.add(batch.count - rejected);
    if (rejected > 0) {
      this.refused.add(rejected);
      this.logRefused(outcome.ok ? outcome.message : outcome.refusal.message);
    }
    this.handedIn.end();
  }

  /** The sender never hears of a refusal, so `isUnattended` asks components to keep the spans if they can. */
  private originOf(address: string): Origin {
    return { receiver: this.context.id, transport: this.transport, address, isUnattended: true };
  }

  /** The number of spans in a refused packet is unknown. */
  private refuse(status: string, reason: string): void {
    let counter = this.refusedPackets.get(status);
    if (counter === undefined) {
      const description = { description: "Number of requests refused unread or unreadable.", unit: "{requests}" };
      const attributes = { receiver: this.context.id, transport: this.transport, status };
      counter = this.context.metrics.counter("sluice_receiver_refused_requests", description, attributes);
      this.refusedPackets.set(status, counter);
    }
    counter.add(1);
    this.logRefused(reason);
  }
}
