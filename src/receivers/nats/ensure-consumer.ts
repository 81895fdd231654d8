import type { Consumer, JetStreamManager } from "@nats-io/jetstream";
import { ensureNatsStream, hasNatsCode, type NatsSession } from "#brokers";
import type { Signal } from "../../plugin.js";
import { SIGNALS } from "../../plugin.js";
import type { NatsReceiverConfig } from "./config.js";

const NS_PER_MS = 1e6;

/** Returns the durable consumer of a signal. Creates it if there is none; an existing one is used as it is. */
export async function ensureConsumer(
  session: NatsSession,
  signal: Signal,
  config: NatsReceiverConfig,
): Promise<{ readonly consumer: Consumer; readonly ackWaitMs: number }> {
  const manager = await session.manager();
  if (config.create_stream)
    await ensureNatsStream(
      manager,
      config.stream,
      SIGNALS.map((each) => config[each].subject),
    );
  const { consumer: name } = config[signal];
  const { ack_wait = config.ack_wait * NS_PER_MS } = await consumerConfig(manager, session, signal, config);
  return { consumer: await session.stream.consumers.get(config.stream, name), ackWaitMs: ack_wait / NS_PER_MS };
}

async function consumerConfig(
  manager: JetStreamManager,
  { client }: NatsSession,
  signal: Signal,
  config: NatsReceiverConfig,
) {
  const { consumer: name, subject } = config[signal];
  try {
    const found = (await manager.consumers.info(config.stream, name)).config;
    if (found.ack_policy !== client.AckPolicy.Explicit)
      throw new Error(`the consumer ${name} has the ack policy ${found.ack_policy}; it must be explicit`);
    return found;
  } catch (error) {
    if (!hasNatsCode(error, "consumerNotFound")) throw error;
  }
  const { config: made } = await manager.consumers.add(config.stream, {
    durable_name: name,
    filter_subject: subject,
    ack_policy: client.AckPolicy.Explicit,
    ack_wait: config.ack_wait * NS_PER_MS,
    max_ack_pending: config.max_ack_pending,
    deliver_policy: config.start_at === "first" ? client.DeliverPolicy.All : client.DeliverPolicy.New,
  });
  return made;
}
