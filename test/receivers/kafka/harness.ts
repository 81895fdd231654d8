import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import type { KafkaMessage } from "../../../src/runtime/brokers/kafka/client.js";
import type { Agent } from "../../../src/runtime/host/agent.js";
import { agentOf } from "../../support/agent.js";
import { type CollectingExporter, collectingExporter } from "../../support/collecting-exporter.js";
import type { Kafka } from "../../support/servers/kafka.js";
import { kafkaTestClient } from "../../support/servers/kafka-client.js";
import { bodies, logs } from "../../support/telemetry/batches.js";

/** Names that nothing else in the broker has. */
export function uniqueName(what: string): string {
  return `${what}-${randomUUID().slice(0, 8)}`;
}

/** A message with a log record for each of these bodies. */
export function logsMessage(topic: string, ...texts: readonly string[]): KafkaMessage {
  return { topic, value: Buffer.from(logs(...texts).bytes) };
}

/** The bodies of all log records that it has been sent. */
export function bodiesOf({ batches }: CollectingExporter): string[] {
  return batches.flatMap(bodies);
}

export async function produce(kafka: Kafka, messages: readonly KafkaMessage[]): Promise<void> {
  const { Producer } = await kafkaTestClient();
  const producer = new Producer(kafka.connection);
  try {
    await producer.send({ messages: [...messages], acks: -1 });
  } finally {
    await producer.close();
  }
}

/** Returns the group's committed offset of each partition of the topic; -1 if there is none. */
export async function committedOffsets(
  kafka: Kafka,
  groupId: string,
  topic: string,
  partitions = 1,
): Promise<number[]> {
  const { Consumer } = await kafkaTestClient();
  const consumer = new Consumer({ ...kafka.connection, groupId });
  try {
    const indexes = Array.from({ length: partitions }, (_, i) => i);
    const found = await consumer.listCommittedOffsets({ topics: [{ topic, partitions: indexes }] });
    return indexes.map((i) => Number(found.get(topic)?.[i] ?? -1n));
  } finally {
    await consumer.close();
  }
}

export interface ReadingAgent {
  readonly agent: Agent;
  readonly sink: CollectingExporter;
}

/** An agent in this process that reads logs; what it has read is in its `sink`. */
export async function startReading(
  kafka: Kafka,
  keys: Readonly<Record<string, unknown>>,
  sink: CollectingExporter = collectingExporter(),
): Promise<ReadingAgent> {
  const config = {
    brokers: [kafka.broker],
    initial_offset: "earliest",
    session_timeout: "2s",
    rebalance_timeout: "5s",
    heartbeat_interval: "200ms",
    autocommit: { interval: "50ms" },
    ...keys,
  };
  const yaml = JSON.stringify({
    receivers: { kafka: config },
    exporters: { collect: {} },
    service: { pipelines: { logs: { receivers: ["kafka"], exporters: ["collect"] } } },
  });
  const agent = agentOf(yaml, { components: [sink.factory] });
  await agent.start();
  onTestFinished(async () => {
    sink.open();
    await agent.stop(1000);
  });
  return { agent, sink };
}
