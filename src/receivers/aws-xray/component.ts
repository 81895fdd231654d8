import { type BuiltInReceiverContext, defineBuiltInReceiver } from "#contract/built-in";
import { type HostPort, type LeasedUdpSocket, leaseUdpSocket, listenAddress } from "#net";
import { BatchIntake } from "#receiving";
import { limitedLog, type Receiver } from "../../plugin.js";
import { type AwsXrayReceiverConfig, awsXrayReceiverSchema } from "./config.js";
import { SegmentBatch } from "./segment-batch.js";

/** Segments of X-Ray's SDKs, as they send them to the X-Ray daemon. */
export const awsXrayReceiver = defineBuiltInReceiver<AwsXrayReceiverConfig>({
  type: "awsxray",
  summary: "Receives segments of AWS X-Ray's SDKs over UDP, as spans.",
  signals: ["traces"],
  handsOver: () => true,
  schema: awsXrayReceiverSchema,
  listensAt: ({ endpoint }) => [{ address: addressOf(endpoint), transport: "udp", key: ["endpoint"] }],
  create: (config, context) => new AwsXrayReceiver(config, context),
});

function addressOf(endpoint: string): HostPort {
  return listenAddress(endpoint, "tcp") as HostPort;
}

/** If more bytes wait behind the receiver, packets are refused: their senders cannot be told to wait. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024;
/** A batch of this size does not wait for more packets. */
const MAX_BATCH_BYTES = 1024 * 1024;

class AwsXrayReceiver implements Receiver {
  private readonly config: AwsXrayReceiverConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly logRefused: (reason: string) => void;
  private intake: BatchIntake | undefined;
  private lease: LeasedUdpSocket | undefined;
  /** The spans of packets that one sender sent in this turn of the event loop. */
  private batch = new SegmentBatch();
  private sender = "";
  private pendingBytes = 0;

  constructor(config: AwsXrayReceiverConfig, context: BuiltInReceiverContext) {
    this.config = config;
    this.context = context;
    this.logRefused = limitedLog(context.clock, (reason, suppressed) =>
      context.logger.warn(
        { reason, suppressed },
        "a packet was refused and is lost: the protocol has no way to tell its sender",
      ),
    );
  }

  /** The port, while the receiver runs. */
  get port(): number {
    return this.lease?.socket.address().port ?? 0;
  }

  async start(): Promise<void> {
    const { config, context } = this;
    if (context.intakes.traces === undefined) return;
    this.intake = new BatchIntake({ signal: "traces", transport: "udp" }, context);
    this.lease = await leaseUdpSocket({
      address: addressOf(config.endpoint),
      configPath: ["endpoint"],
      sockets: context.sockets,
      onMessage: (packet, { address }) => this.take(packet, address),
      onError: (error) => context.logger.error({ error: error.message }, "UDP socket error"),
    });
    context.logger.info({ endpoint: config.endpoint, port: this.port }, "listening for X-Ray segments");
  }

  /** Hands in what has arrived, and waits for the outcome. */
  async stop(): Promise<void> {
    const { lease } = this;
    this.lease = undefined;
    await lease?.close();
    this.flush();
    await this.intake?.stop();
  }

  private take(packet: Buffer, sender: string): void {
    if (this.pendingBytes > MAX_PENDING_BYTES) return this.refuse("too much is waiting to be delivered");
    if (sender !== this.sender || this.batch.byteLength > MAX_BATCH_BYTES) this.flush();
    this.sender = sender;
    const isFirst = this.batch.count === 0;
    try {
      this.batch.add(packet);
    } catch (error) {
      return this.refuse((error as Error).message);
    }
    if (isFirst) setImmediate(() => this.flush());
  }

  private refuse(reason: string): void {
    this.intake?.refuse(1);
    this.logRefused(reason);
  }

  private flush(): void {
    if (this.batch.count === 0) return;
    const { batch, sender } = this;
    this.batch = new SegmentBatch();
    void this.handIn(batch, sender);
  }

  private async handIn(segments: SegmentBatch, address: string): Promise<void> {
    const batch = segments.finish();
    this.pendingBytes += batch.byteLength;
    const outcome = await this.intake!.accept(batch, { transport: "udp", isUnattended: true, address });
    this.pendingBytes -= batch.byteLength;
    if (outcome.kind !== "taken")
      this.context.logger.error(
        { records: batch.count },
        "spans were lost: they were refused, and the protocol has no way to tell their sender",
      );
  }
}
