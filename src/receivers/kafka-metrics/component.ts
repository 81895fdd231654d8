import {
  KAFKA_CLIENT,
  type KafkaAdmin,
  type KafkaClient,
  type KafkaTopicMetadata,
  kafkaConnection,
  kafkaErrorMessage,
  renewKafkaTls,
} from "#brokers";
import { PointCollector, type ScrapeMoment, ScrapingReceiver } from "#receiving";
import { loadClient } from "#system";
import { compilePattern, type Pattern } from "#text/patterns";
import { defineReceiver, type ReceiverContext } from "../../plugin.js";
import { KAFKA_METRICS, type KafkaMetric, type KafkaMetricsConfig, kafkaMetricsSchema } from "./config.js";

/** Metrics about the brokers, topics and consumer groups of a Kafka cluster. */
export const kafkaMetricsReceiver = defineReceiver<KafkaMetricsConfig>({
  type: "kafka_metrics",
  aliases: ["kafkametrics"],
  summary: "Collects metrics about the brokers, topics and consumer groups of a Kafka cluster.",
  signals: ["metrics"],
  workers: "one",
  schema: kafkaMetricsSchema,
  create: (config, context) => new KafkaMetricsReceiver(config, context),
});

const SCOPE = "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/kafkametricsreceiver";
const NEWEST = -1n;
const OLDEST = -2n;
/** Kafka's numbers for kinds of things that have settings. */
const TOPIC = 2;
const BROKER = 4;
const HOUR_SECONDS = 3600;
/** How many groups are asked for at the same time. */
const GROUPS_AT_ONCE = 20;
const TOPIC_SETTINGS: readonly (readonly [KafkaMetric, string, number])[] = [
  ["kafka.topic.min_insync_replicas", "min.insync.replicas", 1],
  ["kafka.topic.log_retention_period", "retention.ms", 1000],
  ["kafka.topic.log_retention_size", "retention.bytes", 1],
];

type Topics = ReadonlyMap<string, KafkaTopicMetadata>;

/** One collection: its points, and what fails in it. */
interface KafkaCollection extends ScrapeMoment {
  readonly admin: KafkaAdmin;
  readonly points: PointCollector;
}

class KafkaMetricsReceiver extends ScrapingReceiver<KafkaMetricsConfig, typeof KAFKA_METRICS> {
  private readonly topicPattern: Pattern;
  private readonly groupPattern: Pattern;
  private connection: Awaited<ReturnType<typeof kafkaConnection>> | undefined;
  private client: KafkaClient | undefined;
  private admin: KafkaAdmin | undefined;
  private began = 0;

  constructor(config: KafkaMetricsConfig, context: ReceiverContext) {
    super(config, context, { table: KAFKA_METRICS, transport: "kafka" });
    this.topicPattern = compilePattern(config.topic_match);
    this.groupPattern = compilePattern(config.group_match);
  }

  protected override async open(): Promise<void> {
    this.began = this.context.clock.now();
    this.client = await loadClient<KafkaClient>(KAFKA_CLIENT);
    this.connection = await kafkaConnection(this.config);
  }

  protected override async close(): Promise<void> {
    await this.closeAdmin();
  }

  /** The calls of the client cannot be aborted: closing it ends them. */
  protected override async collect(moment: ScrapeMoment): Promise<PointCollector[]> {
    const found: PointCollector[] = [];
    const measured = this.measure(moment, found).catch(async (error: unknown) => {
      moment.failed("all", new Error(kafkaErrorMessage(error), { cause: error }));
      await this.reset();
    });
    const close = () => void this.closeAdmin();
    moment.abort.addEventListener("abort", close, { once: true });
    await measured;
    moment.abort.removeEventListener("abort", close);
    return found;
  }

  private async measure(moment: ScrapeMoment, found: PointCollector[]): Promise<void> {
    const { scrapers } = this.config;
    this.admin ??= new this.client!.Admin(this.connection!);
    const { admin } = this;
    const { id, brokers } = await admin.metadata({ topics: [], forceUpdate: true });
    const points = new PointCollector(this.began, this.resourceOf(id), { scope: SCOPE });
    found.push(points);
    const collection: KafkaCollection = { ...moment, admin, points };
    if (scrapers.has("brokers")) await this.part("brokers", collection, () => this.addBrokers(brokers, collection));
    if (!scrapers.has("topics") && !scrapers.has("consumers")) return;
    const topics = await this.topics(admin);
    if (scrapers.has("topics")) await this.part("topics", collection, () => this.addTopics(topics, collection));
    if (scrapers.has("consumers")) await this.part("consumers", collection, () => this.addGroups(topics, collection));
  }

  /** A part that fails does not affect the others. */
  private async part(name: string, { failed }: KafkaCollection, measure: () => Promise<void>): Promise<void> {
    try {
      await measure();
    } catch (error) {
      failed(name, new Error(kafkaErrorMessage(error), { cause: error }));
      await this.reset();
    }
  }

  /** The next collection opens new connections, with certificates that may have been renewed. */
  private async reset(): Promise<void> {
    await this.closeAdmin();
    await renewKafkaTls(this.connection!, this.config);
  }

  private async closeAdmin(): Promise<void> {
    const { admin } = this;
    this.admin = undefined;
    await admin?.close().catch(() => {});
  }

  private resourceOf(clusterId: string): Record<string, string> {
    const { cluster_alias: alias, resource_attributes: wanted } = this.config;
    return {
      ...(wanted["kafka.cluster.alias"].enabled && { "kafka.cluster.alias": alias }),
      ...(wanted["kafka.cluster.id"].enabled && clusterId !== "" && { "kafka.cluster.id": clusterId }),
    };
  }

  private async topics(admin: KafkaAdmin): Promise<Topics> {
    const names = (await admin.listTopics()).filter((name) => this.topicPattern.test(name));
    if (names.length === 0) return new Map();
    return (await admin.metadata({ topics: names, forceUpdate: true })).topics;
  }

  private async addBrokers(brokers: ReadonlyMap<number, unknown>, { admin, points }: KafkaCollection): Promise<void> {
    this.output.add(points, "kafka.brokers", brokers.size);
    if (!this.output.wants("kafka.broker.log_retention_period")) return;
    const configurationKeys = ["log.retention.hours"];
    const resources = [...brokers.keys()].map((id) => ({
      resourceType: BROKER,
      resourceName: String(id),
      configurationKeys,
    }));
    for (const { resourceName: broker, configs } of await admin.describeConfigs({ resources })) {
      const hours = numberOf(configs.find(({ name }) => name === configurationKeys[0])?.value);
      const seconds = hours === undefined ? undefined : hours * HOUR_SECONDS;
      this.output.add(points, "kafka.broker.log_retention_period", seconds, { broker });
    }
  }

  private async addTopics(topics: Topics, { admin, points }: KafkaCollection): Promise<void> {
    const { output } = this;
    const [newest, oldest] = await Promise.all([offsetsOf(admin, topics, NEWEST), offsetsOf(admin, topics, OLDEST)]);
    for (const [topic, { partitions }] of topics) {
      output.add(points, "kafka.topic.partitions", partitions.length, { topic });
      output.add(points, "kafka.topic.replication_factor", partitions[0]?.replicas.length, { topic });
      for (const [partition, { replicas, isr }] of partitions.entries()) {
        const labels = { topic, partition };
        output.add(points, "kafka.partition.replicas", replicas.length, labels);
        output.add(points, "kafka.partition.replicas_in_sync", isr.length, labels);
        const key = `${topic}/${partition}`;
        output.add(points, "kafka.partition.current_offset", newest.get(key), labels);
        output.add(points, "kafka.partition.oldest_offset", oldest.get(key), labels);
      }
    }
    await this.addTopicSettings([...topics.keys()], admin, points);
  }

  private async addTopicSettings(topics: readonly string[], admin: KafkaAdmin, points: PointCollector): Promise<void> {
    const wanted = TOPIC_SETTINGS.filter(([metric]) => this.output.wants(metric));
    if (wanted.length === 0 || topics.length === 0) return;
    const configurationKeys = wanted.map(([, name]) => name);
    const resources = topics.map((resourceName) => ({ resourceType: TOPIC, resourceName, configurationKeys }));
    for (const { resourceName: topic, configs } of await admin.describeConfigs({ resources })) {
      for (const [metric, setting, divisor] of wanted) {
        const value = numberOf(configs.find(({ name }) => name === setting)?.value);
        this.output.add(points, metric, value === undefined ? undefined : Math.trunc(value / divisor), { topic });
      }
    }
  }

  private async addGroups(topics: Topics, collection: KafkaCollection): Promise<void> {
    const { admin } = collection;
    const known = await admin.listGroups();
    const groups = [...known.values()]
      .filter(({ groupType }) => groupType !== "share")
      .map(({ id }) => id)
      .filter((id) => this.groupPattern.test(id));
    if (groups.length === 0) return;
    const newest = await offsetsOf(admin, topics, NEWEST);
    for (let i = 0; i < groups.length; i += GROUPS_AT_ONCE) {
      const some = groups.slice(i, i + GROUPS_AT_ONCE);
      await Promise.all(some.map((group) => this.addGroup(group, topics, newest, collection)));
    }
  }

  private async addGroup(
    group: string,
    topics: Topics,
    newest: ReadonlyMap<string, number>,
    { admin, points, failed }: KafkaCollection,
  ): Promise<void> {
    const { output } = this;
    try {
      const described = await admin.describeGroups({ groups: [group] });
      output.add(points, "kafka.consumer_group.members", described.get(group)?.members.size, { group });
      const [offsets] = await admin.listConsumerGroupOffsets({ groups: [group] });
      for (const { name: topic, partitions } of offsets?.topics ?? []) {
        if (!topics.has(topic)) continue;
        let sums: { offset: number; lag: number } | undefined;
        for (const { partitionIndex: partition, committedOffset } of partitions) {
          const end = newest.get(`${topic}/${partition}`);
          if (committedOffset < 0n || end === undefined) continue;
          const committed = Number(committedOffset);
          const lag = Math.max(0, end - committed);
          sums = { offset: (sums?.offset ?? 0) + committed, lag: (sums?.lag ?? 0) + lag };
          output.add(points, "kafka.consumer_group.offset", committed, { group, topic, partition });
          output.add(points, "kafka.consumer_group.lag", lag, { group, topic, partition });
        }
        output.add(points, "kafka.consumer_group.offset_sum", sums?.offset, { group, topic });
        output.add(points, "kafka.consumer_group.lag_sum", sums?.lag, { group, topic });
      }
    } catch (error) {
      failed(`consumers: ${group}`, new Error(kafkaErrorMessage(error), { cause: error }));
    }
  }
}

/** The newest or oldest offset of all partitions, by topic and number. */
async function offsetsOf(admin: KafkaAdmin, topics: Topics, timestamp: bigint): Promise<ReadonlyMap<string, number>> {
  if (topics.size === 0) return new Map();
  const asked = [...topics].map(([name, { partitions }]) => ({
    name,
    partitions: partitions.map((_, partitionIndex) => ({ partitionIndex, timestamp })),
  }));
  const found = await admin.listOffsets({ topics: asked });
  return new Map(
    found.flatMap(({ name, partitions }) =>
      partitions.map(({ partitionIndex, offset }) => [`${name}/${partitionIndex}`, Number(offset)] as const),
    ),
  );
}

function numberOf(text: string | null | undefined): number | undefined {
  return text !== undefined && text !== null && /^-?\d{1,19}$/.test(text) ? Number(text) : undefined;
}
