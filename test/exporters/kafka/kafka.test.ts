import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { kafkaExporter } from "../../../src/exporters/kafka/component.js";
import { Batch, batchFromJson, type Exporter, type Signal } from "../../../src/plugin.js";
import { TEST_LIMIT_MS } from "../../support/limits.js";
import { hasKafka, type Kafka, startKafka } from "../../support/servers/kafka.js";
import { kafkaTestClient } from "../../support/servers/kafka-client.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { exporterContext } from "../support.js";

describe.skipIf(!hasKafka)("the kafka exporter", { timeout: TEST_LIMIT_MS }, () => {
  let kafka: Kafka;
  let topics = 0;
  beforeAll(async () => {
    kafka = await startKafka();
  }, TEST_LIMIT_MS);
  afterAll(() => kafka?.close());

  const newTopic = (partitions = 1) => kafka.createTopic(`topic-${topics++}`, partitions);

  async function startExporter(keys: object): Promise<Exporter> {
    const config = kafkaExporter.schema.parse({ brokers: [kafka.broker], ...keys });
    const exporter = kafkaExporter.create(config, exporterContext());
    await exporter.start?.();
    onTestFinished(() => exporter.stop?.());
    return exporter;
  }

  test.each(["none", "gzip", "snappy", "lz4"])(
    "writes what can be read again, with compression %s",
    async (compression) => {
      const topic = await newTopic();
      const exporter = await startExporter({ logs: { topic }, producer: { compression } });
      await exporter.send(logs("a", "b"), never(), { idempotencyKey: "key-1" });
      const [message] = await readTopic(kafka, topic, 1);
      expect(bodies(Batch.admit("logs", message!.value))).toEqual(["a", "b"]);
      expect(message!.headers.get("x-idempotency-key")).toBe("key-1");
    },
  );

  test("writes OTLP/JSON, and bodies of log records as texts", async () => {
    const [json, text] = [await newTopic(), await newTopic()];
    await (await startExporter({ logs: { topic: json, encoding: "otlp_json" } })).send(logs("a"), never());
    await (await startExporter({ logs: { topic: text, encoding: "text" } })).send(logs("a", "b"), never());
    expect(bodies(batchFromJson("logs", (await readTopic(kafka, json, 1))[0]!.value))).toEqual(["a"]);
    expect((await readTopic(kafka, text, 2)).map(({ value }) => String(value))).toEqual(["a", "b"]);
  });

  test("accepts topic and encoding at their old places, below those of a signal", async () => {
    const [old, today] = [await newTopic(), await newTopic()];
    const exporter = await startExporter({ topic: old, encoding: "otlp_json", logs: { topic: today } });
    await exporter.send(logs("a"), never());
    const span = { traceId: "1".repeat(32), spanId: "2".repeat(16), name: "span" };
    await exporter.send(request("traces", "resourceSpans", [{ scopeSpans: [{ spans: [span] }] }]), never());
    expect(bodies(batchFromJson("logs", (await readTopic(kafka, today, 1))[0]!.value))).toEqual(["a"]);
    expect(batchFromJson("traces", (await readTopic(kafka, old, 1))[0]!.value).count).toBe(1);
  });

  test("keeps each trace in one partition", async () => {
    const topic = await newTopic(8);
    const exporter = await startExporter({ traces: { topic }, partition_traces_by_id: true });
    const traceIds = Array.from({ length: 12 }, (_, i) => `${i + 10}`.repeat(16));
    const spans = traceIds.flatMap((traceId) =>
      [1, 2].map((n) => ({ traceId, spanId: `${n}`.repeat(16), name: "span" })),
    );
    const batch = request("traces", "resourceSpans", [{ scopeSpans: [{ spans: [...spans.slice(1), spans[0]] }] }]);
    await exporter.send(batch, never());
    await exporter.send(batch, never());
    const messages = await readTopic(kafka, topic, 24);
    for (const traceId of traceIds) {
      const own = messages.filter(({ key }) => String(key) === traceId);
      expect(own.map(({ value }) => Batch.admit("traces", value).count)).toEqual([2, 2]);
      expect(new Set(own.map(({ partition }) => partition)).size).toBe(1);
    }
    expect(new Set(messages.map(({ partition }) => partition)).size).toBeGreaterThan(1);
  });

  test("keeps each resource in one partition, however its attributes are ordered", async () => {
    const topic = await newTopic(4);
    const exporter = await startExporter({ logs: { topic }, partition_logs_by_resource_attributes: true });
    const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });
    const resourceLogs = (attributes: object[]) => ({
      resource: { attributes },
      scopeLogs: [{ logRecords: [{ body: { stringValue: "x" } }] }],
    });
    const [a, b] = [attribute("service.name", "a"), attribute("host", "h")];
    await exporter.send(
      request("logs", "resourceLogs", [
        resourceLogs([a, b]),
        resourceLogs([attribute("service.name", "c")]),
        resourceLogs([b, a]),
      ]),
      never(),
    );
    const counts = (await readTopic(kafka, topic, 2)).map(({ value }) => Batch.admit("logs", value).count);
    expect(counts.toSorted()).toEqual([1, 2]);
  });

  test("splits batches that are too large for a message, and permanently refuses a record that is", async () => {
    const topic = await newTopic();
    const exporter = await startExporter({ logs: { topic }, producer: { max_message_bytes: 5000 } });
    const texts = Array.from({ length: 20 }, (_, i) => `${i} ${"x".repeat(500)}`);
    await exporter.send(logs(...texts), never());
    const messages = await readTopic(kafka, topic, 3);
    expect(messages.flatMap(({ value }) => bodies(Batch.admit("logs", value)))).toEqual(texts);
    expect(Math.max(...messages.map(({ value }) => value.length))).toBeLessThan(5000);
    await expect(exporter.send(logs("x".repeat(6000)), never())).rejects.toMatchObject({
      kind: "permanent",
      code: "SLUICE_TOO_LARGE",
    });
  });

  test("permanently refuses what the broker finds too large", async () => {
    const topic = await newTopic();
    const exporter = await startExporter({ logs: { topic }, producer: { max_message_bytes: "4MiB" } });
    const refused = exporter.send(logs("x".repeat(2_000_000)), never());
    await expect(refused).rejects.toMatchObject({ kind: "permanent", code: "SLUICE_TOO_LARGE" });
    await exporter.send(logs("small"), never());
  });

  test("waits for a missing topic, or dead-letters, as configured", async () => {
    const waiting = await startExporter({ logs: { topic: "nowhere" } });
    await expect(waiting.send(logs("a"), never())).rejects.toMatchObject({ kind: "transient" });
    const strict = await startExporter({ logs: { topic: "nowhere" }, unknown_topic: "dead_letter" });
    await expect(strict.send(logs("a"), never())).rejects.toMatchObject({ kind: "permanent", category: "integration" });
  });

  test("writes concurrent sends of an idempotent producer once and in order", async () => {
    const topic = await newTopic();
    const exporter = await startExporter({ logs: { topic }, producer: { idempotent: true } });
    const texts = Array.from({ length: 10 }, (_, i) => `${i}`);
    await Promise.all(texts.map((text) => exporter.send(logs(text), never())));
    const messages = await readTopic(kafka, topic, 10);
    expect(messages.flatMap(({ value }) => bodies(Batch.admit("logs", value)))).toEqual(texts);
  });

  test("stops when it is aborted, and sends again once the broker answers", async () => {
    const topic = await newTopic();
    const exporter = await startExporter({ logs: { topic }, request_timeout: "1s" });
    await exporter.send(logs("a"), never());
    kafka.server.pause();
    try {
      await expect(exporter.send(logs("b"), AbortSignal.timeout(300))).rejects.toMatchObject({ kind: "transient" });
    } finally {
      kafka.server.resume();
    }
    await expect
      .poll(() => exporter.send(logs("c"), never()).then(() => "sent", String), { timeout: 30_000 })
      .toBe("sent");
    await exporter.check?.(never());
  });
});

function never(): AbortSignal {
  return new AbortController().signal;
}

function request(signal: Signal, key: string, resources: readonly object[]): Batch {
  return batchFromJson(signal, JSON.stringify({ [key]: resources }));
}

interface ReadMessage {
  readonly key: Buffer | undefined;
  readonly value: Buffer;
  readonly partition: number;
  readonly headers: ReadonlyMap<string, string>;
}

/** Returns this many messages of a topic, by partition and in order. */
async function readTopic(kafka: Kafka, topic: string, count: number): Promise<ReadMessage[]> {
  const { Consumer } = await kafkaTestClient();
  const consumer = new Consumer({ ...kafka.connection, groupId: `read-${topic}`, maxWaitTime: 50 });
  const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false });
  const found: ReadMessage[] = [];
  for await (const { key, value, partition, headers } of stream) {
    const texts = new Map([...headers].map(([name, text]) => [String(name), String(text)]));
    found.push({ key, value, partition, headers: texts });
    if (found.length === count) break;
  }
  await consumer.close(true);
  return found.toSorted((a, b) => a.partition - b.partition);
}
