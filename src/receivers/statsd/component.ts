import { defineBuiltInReceiver } from "#contract/built-in";
import { type HostPort, listenAddress } from "#net";
import { BatchIntake } from "#receiving";
import { type Step, turns } from "#work";
import { type Batch, limitedLog, type Receiver, type ReceiverContext } from "../../plugin.js";
import { aggregationSettings, StatsdAggregation } from "./aggregation.js";
import { type StatsdConfig, statsdSchema } from "./config.js";
import { type LineSink, listenForPackets, type StatsdListener, StreamListener } from "./listeners.js";

/** Metrics from clients of StatsD and DogStatsD. */
export const statsdReceiver = defineBuiltInReceiver<StatsdConfig>({
  type: "statsd",
  summary: "Receives StatsD and DogStatsD metrics over UDP, TCP or a socket, and aggregates them.",
  signals: ["metrics"],
  workers: "one",
  handsOver: () => true,
  schema: statsdSchema,
  listensAt: ({ endpoint, transport }) => {
    if (!isUdp(transport)) return [{ address: listenAddress(endpoint, transport), key: ["endpoint"] }];
    return [{ address: listenAddress(endpoint, "tcp") as HostPort, transport: "udp", key: ["endpoint"] }];
  },
  create: (config, context) => new StatsdReceiver(config, context),
});

const isUdp = (transport: string) => transport.startsWith("udp");

/** With more bytes than this waiting behind the receiver, senders wait, or packets are dropped. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024;
/** With names and tags of this size, everything is handed on before the interval ends. */
const MAX_HELD_BYTES = 8 * 1024 * 1024;

/** After so many lines the clock is looked at. */
const LINES_PER_LOOK = 64;

class StatsdReceiver implements Receiver, LineSink {
  private readonly config: StatsdConfig;
  private readonly context: ReceiverContext;
  private readonly createAggregation: () => StatsdAggregation;
  private readonly logRefused: (reason: string) => void;
  private aggregation: StatsdAggregation;
  private intake: BatchIntake | undefined;
  private listener: StatsdListener | undefined;
  private pendingBytes = 0;
  private flushing: Promise<void> = Promise.resolve();
  private isFlushing = false;
  private cancelFlush = () => {};

  constructor(config: StatsdConfig, context: ReceiverContext) {
    this.config = config;
    this.context = context;
    const settings = aggregationSettings(config, context.random);
    this.createAggregation = () => new StatsdAggregation(settings, context.clock.now());
    this.aggregation = this.createAggregation();
    this.logRefused = limitedLog(context.clock, (reason, suppressed) =>
      context.logger.warn(
        { reason, suppressed },
        "a metric was refused and is lost: the protocol has no way to tell its sender",
      ),
    );
  }

  /** The port, once the receiver has started. */
  get port(): number {
    return this.listener?.port ?? 0;
  }

  get isFull(): boolean {
    return this.pendingBytes > MAX_PENDING_BYTES || (this.isFlushing && this.isLarge);
  }

  async start(): Promise<void> {
    const { config, context } = this;
    if (context.intakes.metrics === undefined) return;
    this.intake = new BatchIntake({ signal: "metrics", transport: config.transport }, context);
    this.aggregation = this.createAggregation();
    if (isUdp(config.transport)) this.listener = await listenForPackets(config, context, this);
    else {
      const listener = new StreamListener(config, this);
      await listener.start(config, context);
      this.listener = listener;
    }
    this.flushLater();
    context.logger.info({ endpoint: config.endpoint, port: this.port }, "listening for StatsD");
  }

  /** Hands in what is aggregated, and waits for the outcome. */
  async stop(): Promise<void> {
    this.cancelFlush();
    const { listener } = this;
    this.listener = undefined;
    await listener?.stop();
    await this.flushing;
    await this.flush();
    await this.intake?.stop();
  }

  take(text: string, ip: string | undefined, port: number | undefined): Step {
    const now = this.context.clock.now();
    let at = 0;
    return () => {
      for (let lines = 1; at < text.length; lines++) {
        const feed = text.indexOf("\n", at);
        const end = feed < 0 ? text.length : feed;
        const line = text.slice(at, end).trim();
        if (line !== "") this.takeLine(line, ip, port, now);
        at = end + 1;
        if (lines % LINES_PER_LOOK === 0 && turns.isOver) return false;
      }
      if (this.isLarge && !this.isFlushing) void this.flush();
      return true;
    };
  }

  refuse(reason: string): void {
    this.intake?.refuse(1);
    this.logRefused(reason);
  }

  private takeLine(line: string, ip: string | undefined, port: number | undefined, now: number): void {
    const problem = this.aggregation.add(line, ip, port, now);
    if (problem !== undefined) this.refuse(`not a StatsD metric: ${problem}`);
  }

  private get isLarge(): boolean {
    return this.aggregation.size >= this.config.max_series || this.aggregation.bytes >= MAX_HELD_BYTES;
  }

  private flushLater(): void {
    this.cancelFlush = this.context.clock.after(this.config.aggregation_interval, () => {
      this.flushLater();
      if (!this.isFlushing) void this.flush();
    });
  }

  private flush(): Promise<void> {
    const { aggregation } = this;
    if (this.intake === undefined) return Promise.resolve();
    this.aggregation = this.createAggregation(); // an empty interval ends too, so that sums begin with their own
    if (aggregation.size === 0) return Promise.resolve();
    this.isFlushing = true;
    this.flushing = this.handIn(aggregation).finally(() => {
      this.isFlushing = false;
      this.resume();
    });
    return this.flushing;
  }

  private async handIn(aggregation: StatsdAggregation): Promise<void> {
    for await (const { batch, ip } of aggregation.batches(this.context.clock.now())) void this.accept(batch, ip);
  }

  private async accept(batch: Batch, ip: string | undefined): Promise<void> {
    this.pendingBytes += batch.byteLength;
    const { transport } = this.config;
    const origin = { transport, isUnattended: true, ...(ip !== undefined && { address: ip }) };
    const outcome = await this.intake!.accept(batch, origin);
    this.pendingBytes -= batch.byteLength;
    if (outcome.kind !== "taken")
      this.context.logger.error(
        { records: batch.count },
        "metrics were lost: they were refused, and the protocol has no way to tell their sender",
      );
    this.resume();
  }

  private resume(): void {
    if (!this.isFull) this.listener?.resume();
  }
}
