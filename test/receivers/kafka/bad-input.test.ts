import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { reliability } from "../../../src/extensions/reliability/component.js";
import { plainRecords } from "../../../src/testing.js";
import { listeningLogger } from "../../exporters/support.js";
import { agentOf } from "../../support/agent.js";
import { collectingExporter } from "../../support/collecting-exporter.js";
import { TEST_LIMIT_MS } from "../../support/limits.js";
import { hasKafka, type Kafka, startKafka } from "../../support/servers/kafka.js";
import { until } from "../../support/until.js";
import { bodiesOf, committedOffsets, logsMessage, produce, startReading, uniqueName } from "./harness.js";

describe.skipIf(!hasKafka)("bad input from kafka", { timeout: TEST_LIMIT_MS }, () => {
  let kafka: Kafka;
  beforeAll(async () => {
    kafka = await startKafka({ "message.max.bytes": 3_000_000 });
  }, TEST_LIMIT_MS);
  afterAll(() => kafka?.close());

  /** An agent that keeps dead letters. */
  async function startKeeping(keys: object) {
    const directory = mkdtempSync(join(tmpdir(), "sluice-test-"));
    const sink = collectingExporter();
    const logger = listeningLogger();
    const agent = agentOf(
      JSON.stringify({
        extensions: { reliability: { directory } },
        receivers: {
          kafka: { brokers: [kafka.broker], initial_offset: "earliest", autocommit: { interval: "50ms" }, ...keys },
        },
        exporters: { collect: {} },
        service: { extensions: ["reliability"], pipelines: { logs: { receivers: ["kafka"], exporters: ["collect"] } } },
      }),
      { components: [reliability, sink.factory], logger },
    );
    await agent.start();
    onTestFinished(async () => {
      await agent.stop(1000);
      rmSync(directory, { recursive: true, force: true });
    });
    return { agent, sink, logger };
  }

  test("is kept as a dead letter with its bytes and headers, and what follows is read", async () => {
    const topic = await kafka.createTopic(uniqueName("logs"));
    const group = uniqueName("group");
    const earlier = { "x-sluice-error": "an earlier failure", "x-sluice-dead-letter-id": "old-1" };
    const headers = new Map(
      Object.entries({ tenant: "acme", ...earlier }).map(([name, value]) => [Buffer.from(name), Buffer.from(value)]),
    );
    await produce(kafka, [
      { topic, key: Buffer.from("k"), value: Buffer.from("this is not OTLP"), headers },
      { topic, value: Buffer.alloc(2_000_000, 1) },
      { topic, key: Buffer.from("tombstone") },
      logsMessage(topic, "fine"),
    ]);
    const { agent, sink } = await startKeeping({ group_id: group, logs: { topic }, max_message_size: "1MiB" });
    await until(() => expect(bodiesOf(sink)).toEqual(["fine"]));
    await until(async () => expect(await committedOffsets(kafka, group, topic)).toEqual([4]));
    const { entries } = await agent.admin!.listDeadLetters({});
    expect(entries.map(({ failure }) => failure?.error.code)).toEqual([
      "SLUICE_MESSAGE_UNREADABLE",
      "SLUICE_MESSAGE_UNREADABLE",
    ]);
    expect(entries.map(({ failure }) => failure?.error.message).join()).toMatch(/max_message_size/);
    const payloads = (await Promise.all(entries.map(({ id }) => agent.admin!.payload(id)))).join();
    for (const word of [Buffer.from("this is not OTLP").toString("base64"), "acme", topic])
      expect(payloads).toContain(word);
  });

  test("holds up its partition when no exporter can keep it, or is skipped if configured", async () => {
    const topic = await kafka.createTopic(uniqueName("logs"));
    await produce(kafka, [{ topic, value: Buffer.from("this is not OTLP") }, logsMessage(topic, "fine")]);
    const [waits, skips] = [uniqueName("group"), uniqueName("group")];
    const first = await startReading(kafka, { group_id: waits, logs: { topic }, dead_letter_topic: "" });
    await until(() => expect(bodiesOf(first.sink)).toEqual(["fine"]));
    const marking = { on_permanent_error: true };
    await startReading(kafka, {
      group_id: skips,
      logs: { topic },
      message_marking: marking,
      dead_letter_topic: "",
    });
    await until(async () => expect(await committedOffsets(kafka, skips, topic)).toEqual([2]));
    expect(await committedOffsets(kafka, waits, topic)).toEqual([0]);
  });

  test("goes to the dead-letter topic with its key, headers and reason when no exporter can keep it, and can be replayed from there", async () => {
    const topic = await kafka.createTopic(uniqueName("logs"));
    await kafka.createTopic(`${topic}.dlq`);
    const group = uniqueName("group");
    const headers = new Map([[Buffer.from("tenant"), Buffer.from("acme")]]);
    await produce(kafka, [
      logsMessage(topic, "fine"),
      { topic, key: Buffer.from("k"), value: Buffer.from("this is not OTLP"), headers },
    ]);
    await startReading(kafka, { group_id: group, logs: { topic } });
    await until(async () => expect(await committedOffsets(kafka, group, topic)).toEqual([2]));
    const raw = (name: string) => ({ group_id: uniqueName("group"), logs: { topic: name, encoding: "raw" } });
    const { sink } = await startReading(kafka, raw(`${topic}.dlq`));
    await until(() => expect(sink.count).toBe(1));
    expect(plainRecords(sink.batches[0]!)[0]).toMatchObject({
      body: new Uint8Array(Buffer.from("this is not OTLP")),
      attributes: {
        "messaging.kafka.message.key": "k",
        "messaging.header.tenant": "acme",
        "messaging.header.x-sluice-error-class": "SLUICE_MESSAGE_UNREADABLE",
        "messaging.header.x-sluice-error": expect.stringContaining("is not logs in otlp_proto"),
        "messaging.header.x-sluice-attempts": "1",
        "messaging.header.x-sluice-source": `${topic}/0/1`,
        "messaging.header.x-sluice-failed-at": expect.stringMatching(/^\d{4}-/),
      },
    });
    expect(JSON.stringify(plainRecords(sink.batches[0]!)[0]!.attributes)).not.toMatch(/old-1|an earlier failure/);
    const directory = mkdtempSync(join(tmpdir(), "sluice-test-"));
    const agent = agentOf(
      JSON.stringify({
        extensions: { reliability: { directory } },
        receivers: {
          kafka: { brokers: [kafka.broker], initial_offset: "earliest", as_dead_letters: true, ...raw(`${topic}.dlq`) },
        },
        exporters: {
          kafka: { brokers: [kafka.broker], back_to_topic: true, logs: { topic: "other", encoding: "raw" } },
        },
        service: { extensions: ["reliability"], pipelines: { logs: { receivers: ["kafka"], exporters: ["kafka"] } } },
      }),
      { components: [reliability] },
    );
    await agent.start();
    onTestFinished(async () => {
      await agent.stop(1000);
      rmSync(directory, { recursive: true, force: true });
    });
    const letters = async () => (await agent.admin!.listDeadLetters({})).entries;
    await until(async () => expect(await letters()).toHaveLength(1));
    const [letter] = await letters();
    expect(letter!.failure!.error.message).toContain(`dead letter of ${topic}/0/1: SLUICE_MESSAGE_UNREADABLE`);
    await agent.admin!.replay({ ids: [letter!.id] }, { by: "ann" });
    const back = await startReading(kafka, raw(topic));
    await until(() => expect(back.sink.count).toBe(3));
    const { attributes } = back.sink.batches
      .flatMap((batch) => plainRecords(batch))
      .find(({ attributes }) => "messaging.header.x-replayed" in attributes)!;
    expect(attributes).toMatchObject({ "messaging.kafka.message.key": "k", "messaging.header.tenant": "acme" });
    expect(Object.keys(attributes).filter((name) => name.includes("x-sluice-"))).toEqual([]);
  });

  test("of credentials is said in the log, and the right ones are let in", async () => {
    const topic = await kafka.createTopic(uniqueName("logs"));
    await produce(kafka, [logsMessage(topic, "a")]);
    const keys = (password: string) => ({
      brokers: [kafka.saslBroker],
      group_id: uniqueName("group"),
      logs: { topic },
      auth: { sasl: { username: "ann", password, mechanism: "PLAIN" } },
    });
    const wrong = await startKeeping(keys("guess"));
    await until(() => expect(JSON.stringify(wrong.logger.lines)).toMatch(/not connected to Kafka.*[Aa]uthentication/));
    expect(JSON.stringify(wrong.logger.lines)).not.toContain("guess");
    const right = await startKeeping(keys("secret"));
    await until(() => expect(bodiesOf(right.sink)).toEqual(["a"]));
  });
});
