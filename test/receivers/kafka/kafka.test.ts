import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeTree, Refusal, readRecords } from "../../../src/plugin.js";
import { collectingExporter } from "../../support/collecting-exporter.js";
import { TEST_LIMIT_MS } from "../../support/limits.js";
import { hasKafka, type Kafka, startKafka } from "../../support/servers/kafka.js";
import { until } from "../../support/until.js";
import { bodiesOf, committedOffsets, logsMessage, produce, startReading, uniqueName } from "./harness.js";

describe.skipIf(!hasKafka)("the kafka receiver", { timeout: TEST_LIMIT_MS }, () => {
  let kafka: Kafka;
  beforeAll(async () => {
    kafka = await startKafka();
  }, TEST_LIMIT_MS);
  afterAll(() => kafka?.close());

  async function emptyTopic(partitions = 1) {
    return { topic: await kafka.createTopic(uniqueName("logs"), partitions), group: uniqueName("group") };
  }

  test("hands on what is in the topic, and commits behind it", async () => {
    const { topic, group } = await emptyTopic(2);
    const texts = numbered(20);
    await produce(
      kafka,
      texts.map((text, i) => ({ ...logsMessage(topic, text), partition: i % 2 })),
    );
    const { sink } = await startReading(kafka, { group_id: group, logs: { topic } });
    await until(() => expect(bodiesOf(sink).toSorted()).toEqual(texts));
    await until(async () => expect(await committedOffsets(kafka, group, topic, 2)).toEqual([10, 10]));
  });

  test("reads the topic that older configs have beside the signals, in the encoding that stands there", async () => {
    const { topic, group } = await emptyTopic();
    await produce(kafka, [{ topic, value: Buffer.from("plain") }]);
    const { sink } = await startReading(kafka, { group_id: group, topic, encoding: "text" });
    await until(() => expect(bodiesOf(sink)).toEqual(["plain"]));
  });

  test("commits no offset before every exporter has the message", async () => {
    const { topic, group } = await emptyTopic();
    const { sink } = await startReading(kafka, { group_id: group, logs: { topic } });
    sink.shut();
    await produce(kafka, [logsMessage(topic, "a"), logsMessage(topic, "b")]);
    await until(() => expect(sink.waiting).toBe(2));
    await until(async () => expect(await committedOffsets(kafka, group, topic)).toEqual([0]));
    sink.open();
    await until(async () => expect(await committedOffsets(kafka, group, topic)).toEqual([2]));
  });

  test("goes on behind what was committed after a stop, and reads again what was not", async () => {
    const { topic, group } = await emptyTopic();
    const keys = { group_id: group, logs: { topic } };
    const first = await startReading(kafka, keys);
    await produce(kafka, [logsMessage(topic, "a")]);
    await until(() => expect(bodiesOf(first.sink)).toEqual(["a"]));
    first.sink.refuse(new Refusal("transient", "not now"));
    await produce(kafka, [logsMessage(topic, "b")]);
    await until(() => expect(first.sink.refused).toBeGreaterThan(1));
    await first.agent.stop(1000);
    expect(await committedOffsets(kafka, group, topic)).toEqual([1]);
    const second = await startReading(kafka, keys);
    await until(() => expect(bodiesOf(second.sink)).toEqual(["b"]));
  });

  test("shares partitions with a second agent, takes them back when that stops, and loses nothing", async () => {
    const { topic, group } = await emptyTopic(4);
    const sink = collectingExporter();
    const keys = { group_id: group, logs: { topic } };
    const texts = numbered(60);
    const part = (from: number) =>
      texts.slice(from, from + 20).map((text, i) => ({ ...logsMessage(topic, text), partition: i % 4 }));
    await startReading(kafka, keys, sink);
    await produce(kafka, part(0));
    const other = await startReading(kafka, keys, sink);
    await produce(kafka, part(20));
    await until(() => expect(new Set(bodiesOf(sink)).size).toBe(40));
    await other.agent.stop(1000);
    await produce(kafka, part(40));
    await until(() => expect([...new Set(bodiesOf(sink))].toSorted()).toEqual(texts));
    await until(async () => expect(await committedOffsets(kafka, group, topic, 4)).toEqual([15, 15, 15, 15]));
  });

  test("leaves a partition unread while too much of it is unsettled, and reads the others", async () => {
    const { topic, group } = await emptyTopic(2);
    const text = "x".repeat(1000);
    const keys = { group_id: group, logs: { topic }, max_unsettled_size: 3000, max_partition_fetch_size: 1100 };
    const { sink } = await startReading(kafka, keys);
    sink.shut();
    for (let i = 0; i < 8; i++) await produce(kafka, [{ ...logsMessage(topic, text), partition: 0 }]);
    await until(() => expect(sink.waiting).toBe(3));
    await produce(kafka, [{ ...logsMessage(topic, "small"), partition: 1 }]);
    await until(() => expect(sink.waiting).toBe(4));
    sink.open();
    await until(() => expect(sink.count).toBe(9));
    await until(async () => expect(await committedOffsets(kafka, group, topic, 2)).toEqual([8, 1]));
  });

  test("says how many messages wait, and that a broker is gone", async () => {
    const { topic, group } = await emptyTopic();
    const { agent, sink } = await startReading(kafka, { group_id: group, logs: { topic }, max_lag: 5 });
    const status = () => agent.receivers()[0]!;
    sink.shut();
    await produce(
      kafka,
      numbered(10).map((text) => logsMessage(topic, text)),
    );
    await until(() => expect(status()).toMatchObject({ state: "DEGRADED", lag: 10 }));
    sink.open();
    await until(() => expect(sink.count).toBe(10));
    await produce(kafka, [logsMessage(topic, "one more")]);
    await until(() => expect(status().lag).toBeLessThan(2));
    expect(status().state).toBe("UP");
    const elsewhere = { brokers: ["127.0.0.1:1"], connect_timeout: "1s", group_id: group, logs: { topic } };
    const lost = await startReading(kafka, elsewhere);
    await until(() => expect(lost.agent.receivers()[0]).toMatchObject({ state: "DOWN", down: [group] }));
  });

  test("tries again what is refused for now until it is taken", async () => {
    const { topic, group } = await emptyTopic();
    const { sink } = await startReading(kafka, { group_id: group, logs: { topic } });
    sink.refuse(new Refusal("transient", "not now"));
    await produce(kafka, [logsMessage(topic, "a")]);
    await until(() => expect(sink.refused).toBeGreaterThan(2));
    expect(await committedOffsets(kafka, group, topic)).toEqual([0]);
    sink.refuse(undefined);
    await until(async () => expect(await committedOffsets(kafka, group, topic)).toEqual([1]));
    expect(bodiesOf(sink)).toEqual(["a"]);
  });

  test("makes a log record of a text, with its key, its headers and where it was", async () => {
    const { topic, group } = await emptyTopic();
    const headers = new Map([[Buffer.from("tenant"), Buffer.from("acme")]]);
    await produce(kafka, [{ topic, key: Buffer.from("k"), value: Buffer.from("hello"), headers }]);
    const { sink } = await startReading(kafka, { group_id: group, logs: { topic, encoding: "text" } });
    await until(() => expect(bodiesOf(sink)).toEqual(["hello"]));
    const words = JSON.stringify(decodeTree(sink.batches[0]!), (_key, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    for (const word of [
      '"messaging.header.tenant","value":{"stringValue":"acme"}',
      '"messaging.kafka.message.key"',
      topic,
    ])
      expect(words).toContain(word);
  });

  test("makes resource attributes of the headers that are asked for", async () => {
    const { topic, group } = await emptyTopic();
    const headers = new Map([
      [Buffer.from("tenant"), Buffer.from("acme")],
      [Buffer.from("other"), Buffer.from("x")],
    ]);
    await produce(kafka, [{ ...logsMessage(topic, "a"), headers }]);
    const extraction = { extract_headers: true, headers: ["tenant", "absent"] };
    const { sink } = await startReading(kafka, { group_id: group, logs: { topic }, header_extraction: extraction });
    await until(() => expect(sink.count).toBe(1));
    readRecords(sink.batches[0]!, ({ resource }) => {
      expect(resource.attributes.toObject()).toEqual({ "kafka.header.tenant": "acme" });
    });
  });

  test("reads a topic that is made only later", async () => {
    const topic = uniqueName("late");
    const { sink } = await startReading(kafka, { group_id: uniqueName("group"), logs: { topic } });
    await kafka.createTopic(topic);
    await produce(kafka, [logsMessage(topic, "a")]);
    await until(() => expect(bodiesOf(sink)).toEqual(["a"]));
  });
});

/** As texts that sort as they are numbered. */
function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `record ${String(i).padStart(4, "0")}`);
}
