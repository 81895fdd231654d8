import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { ReceiverFactory } from "../../../src/plugin.js";
import { kafkaMetricsReceiver } from "../../../src/receivers/kafka-metrics/component.js";
import { kafkaMetricsSchema } from "../../../src/receivers/kafka-metrics/config.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { listeningLogger } from "../../exporters/support.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { hasKafka, type Kafka, startKafka } from "../../support/servers/kafka.js";
import { kafkaTestClient } from "../../support/servers/kafka-client.js";
import { produce, uniqueName } from "../kafka/harness.js";
import { pointsOf } from "../prometheus/harness.js";
import { startReceiver } from "../started-receiver.js";

const quick = { collection_interval: "50ms", initial_delay: 0 };

async function start(config: object) {
  const intake = new TestIntake();
  const logger = listeningLogger();
  const factory = kafkaMetricsReceiver as ReceiverFactory;
  const receiver = await startReceiver(factory, { ...quick, ...config }, intake, logger, "metrics");
  onTestFinished(() => receiver.stop());
  const values = () =>
    Object.fromEntries(
      intake.batches.slice(-1).flatMap((batch) =>
        pointsOf(batch).map(({ name, labels, data }) => {
          const own = Object.values(labels).join(",");
          return [own === "" ? name : `${name}{${own}}`, Number(data["asInt"])];
        }),
      ),
    );
  return { intake, logger, values };
}

const on = (...names: string[]) => Object.fromEntries(names.map((name) => [name, { enabled: true }]));

describe.skipIf(!hasKafka)("the kafka_metrics receiver with a real broker", () => {
  let kafka: Kafka;
  beforeAll(async () => {
    kafka = await startKafka({ "log.retention.hours": 48 });
  });
  afterAll(() => kafka?.close());

  const message = (topic: string, partition: number) => ({ topic, partition, value: Buffer.from("x") });

  /** Commits offsets as a member of a group does, and leaves it again. */
  async function commit(groupId: string, topic: string, offsets: readonly bigint[]): Promise<void> {
    const { Consumer } = await kafkaTestClient();
    const consumer = new Consumer({ ...kafka.connection, groupId });
    consumer.topics.trackAll(topic);
    await consumer.joinGroup({});
    await consumer.commit({
      offsets: offsets.map((offset, partition) => ({ topic, partition, offset, leaderEpoch: -1 })),
    });
    await consumer.close(true);
  }

  it("measures brokers, topics and their partitions with the Collector's names", async () => {
    const topic = await kafka.createTopic(uniqueName("orders"), 2);
    await produce(kafka, [message(topic, 0), message(topic, 0), message(topic, 1)]);
    const { values, logger } = await start({
      brokers: [kafka.broker],
      scrapers: ["brokers", "topics"],
      topic_match: `^${topic}$`,
    });
    await expect.poll(values, { timeout: patienceMs }).toEqual({
      "kafka.brokers": 1,
      [`kafka.topic.partitions{${topic}}`]: 2,
      [`kafka.partition.replicas{${topic},0}`]: 1,
      [`kafka.partition.replicas{${topic},1}`]: 1,
      [`kafka.partition.replicas_in_sync{${topic},0}`]: 1,
      [`kafka.partition.replicas_in_sync{${topic},1}`]: 1,
      [`kafka.partition.current_offset{${topic},0}`]: 2,
      [`kafka.partition.current_offset{${topic},1}`]: 1,
      [`kafka.partition.oldest_offset{${topic},0}`]: 0,
      [`kafka.partition.oldest_offset{${topic},1}`]: 0,
    });
    expect(logger.lines).toEqual([]);
  });

  it("measures settings, and the cluster as the resource, if they are on", async () => {
    const topic = await kafka.createTopic(uniqueName("orders"));
    const { values, intake } = await start({
      ...{ brokers: kafka.broker, scrapers: ["brokers", "topics"], topic_match: topic, cluster_alias: "main" },
      metrics: on(
        ...["kafka.broker.log_retention_period", "kafka.topic.log_retention_period"],
        ...["kafka.topic.log_retention_size", "kafka.topic.min_insync_replicas", "kafka.topic.replication_factor"],
      ),
      resource_attributes: on("kafka.cluster.alias", "kafka.cluster.id"),
    });
    await expect.poll(values, { timeout: patienceMs }).toMatchObject({
      "kafka.broker.log_retention_period{1}": 48 * 3600,
      [`kafka.topic.log_retention_period{${topic}}`]: 48 * 3600,
      [`kafka.topic.log_retention_size{${topic}}`]: -1,
      [`kafka.topic.min_insync_replicas{${topic}}`]: 1,
      [`kafka.topic.replication_factor{${topic}}`]: 1,
    });
    expect(pointsOf(intake.batches[0]!)[0]!.resource).toEqual({
      "kafka.cluster.alias": "main",
      "kafka.cluster.id": expect.stringMatching(/.+/),
    });
  });

  it("measures how far consumer groups are behind", async () => {
    const topic = await kafka.createTopic(uniqueName("orders"), 2);
    const other = await kafka.createTopic(uniqueName("other"));
    await produce(
      kafka,
      [0, 0, 0, 1, 1].map((partition) => message(topic, partition)),
    );
    await commit("shop", topic, [1n, 2n]);
    await commit("shop", other, [0n]);
    await commit("hidden", topic, [0n]);
    const { values, logger } = await start({
      ...{ brokers: [kafka.broker], scrapers: ["consumers"], group_match: "^shop$", topic_match: "^orders" },
    });
    await expect.poll(values, { timeout: patienceMs }).toEqual({
      "kafka.consumer_group.members{shop}": 0,
      [`kafka.consumer_group.offset{shop,${topic},0}`]: 1,
      [`kafka.consumer_group.offset{shop,${topic},1}`]: 2,
      [`kafka.consumer_group.lag{shop,${topic},0}`]: 2,
      [`kafka.consumer_group.lag{shop,${topic},1}`]: 0,
      [`kafka.consumer_group.offset_sum{shop,${topic}}`]: 3,
      [`kafka.consumer_group.lag_sum{shop,${topic}}`]: 2,
    });
    expect(logger.lines).toEqual([]);
  });

  it("says why a user with a wrong password gets nothing", async () => {
    const { logger } = await start({
      ...{ brokers: [kafka.saslBroker], scrapers: ["brokers"] },
      auth: { sasl: { username: "ann", password: "wrong" } },
    });
    await expect.poll(() => logger.lines.length, { timeout: patienceMs }).toBeGreaterThan(0);
    expect(logger.lines[0]!.fields).toMatchObject({ reason: expect.stringMatching(/[Aa]uthentication/) });
  });

  for (const each of receiverConformance(kafkaMetricsReceiver as ReceiverFactory, {
    config: () => ({ ...quick, brokers: [kafka.broker], scrapers: ["brokers"] }),
    patienceMs,
  }))
    it(each.name, () => each.run());
});

describe.skipIf(!hasKafka)("the kafka_metrics receiver without a broker", () => {
  it("goes on when nobody answers, and when something else does", async () => {
    const server = createServer((socket) => void socket.on("error", () => {}).end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    for (const broker of ["127.0.0.1:1", `127.0.0.1:${port}`]) {
      const { logger } = await start({ brokers: [broker], scrapers: ["topics"], request_timeout: "300ms" });
      await expect.poll(() => logger.lines.length, { timeout: patienceMs }).toBeGreaterThan(0);
    }
  });

  it("refuses settings that cannot work", () => {
    const problems = (config: object) =>
      kafkaMetricsSchema.safeParse(config).error?.issues.map(({ path }) => path.join("."));
    expect(problems({ scrapers: ["brokers", "lag"] })).toEqual(["scrapers.1"]);
    expect(problems({ topic_match: "(" })).toEqual(["topic_match"]);
    expect(problems({ scrapers: ["topics"], protocol_version: "2.0.0", refresh_frequency: "10m" })).toBeUndefined();
  });
});
