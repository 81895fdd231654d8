import { createDedup, type Dedup, NatsLink } from "#brokers";
import { defineReceiver, type Receiver, type ReceiverContext, SIGNALS } from "../../plugin.js";
import { type NatsReceiverConfig, natsReceiverSchema, usedSignals } from "./config.js";
import { NatsSource } from "./nats-source.js";

/**
 * Reads messages of JetStream streams. A message is acknowledged once every exporter in the pipeline has its data on
 * disk.
 */
export const natsReceiver = defineReceiver<NatsReceiverConfig>({
  type: "nats",
  summary: "Reads messages from NATS JetStream, and acknowledges them once their data is safe.",
  signals: SIGNALS,
  schema: natsReceiverSchema,
  create: (config, context) => new NatsReceiver(config, context),
});

class NatsReceiver implements Receiver {
  private readonly config: NatsReceiverConfig;
  private readonly context: ReceiverContext;
  private running:
    | { readonly link: NatsLink; readonly sources: readonly NatsSource[]; readonly dedup: Dedup | undefined }
    | undefined;

  constructor(config: NatsReceiverConfig, context: ReceiverContext) {
    this.config = config;
    this.context = context;
  }

  async start(): Promise<void> {
    const dedup = createDedup(this.config.dedup, this.context);
    await dedup?.start();
    const link = new NatsLink(this.config, this.context);
    const sources = usedSignals(this.context.intakes).map(
      (signal) => new NatsSource(signal, this.config, link, this.context, dedup),
    );
    await link.start();
    for (const source of sources) source.start();
    this.running = { link, sources, dedup };
  }

  async stop(): Promise<void> {
    const { running } = this;
    this.running = undefined;
    if (running === undefined) return;
    await Promise.all(running.sources.map((source) => source.stop()));
    await running.link.stop();
    await running.dedup?.stop();
  }
}
