import { z } from "zod";
import { KAFKA_CLIENT, kafkaConnectionKeys } from "#brokers";
import { gauge, type MetricTable, metricKeys, optional, resourceAttributeKey, scrapingKeys, upDown } from "#receiving";
import { withClient } from "#system";
import { compilePattern } from "#text/patterns";
import { ignored, section } from "../../plugin.js";

const MINUTE_MS = 60_000;
const offset = (description: string) => gauge("1", description, true);

/** The metrics of the Collector's receiver with this name. */
export const KAFKA_METRICS = {
  "kafka.broker.log_retention_period": optional(gauge("s", "How long a broker keeps records.", true)),
  "kafka.brokers": upDown("{brokers}", "Brokers of the cluster."),
  "kafka.consumer_group.lag": offset("Records of a partition that a group has not read yet."),
  "kafka.consumer_group.lag_sum": offset("Records of a topic that a group has not read yet."),
  "kafka.consumer_group.members": upDown("{members}", "Members of a group."),
  "kafka.consumer_group.offset": offset("The offset of a partition that a group has committed."),
  "kafka.consumer_group.offset_sum": offset("The sum of a group's offsets of a topic."),
  "kafka.partition.current_offset": offset("The offset of a partition's next record."),
  "kafka.partition.oldest_offset": offset("The offset of a partition's oldest record."),
  "kafka.partition.replicas": upDown("{replicas}", "Replicas of a partition."),
  "kafka.partition.replicas_in_sync": upDown("{replicas}", "Replicas of a partition that are in sync."),
  "kafka.topic.log_retention_period": optional(gauge("s", "How long a topic keeps records.", true)),
  "kafka.topic.log_retention_size": optional(gauge("By", "How much a topic keeps; -1: no limit.", true)),
  "kafka.topic.min_insync_replicas": optional(gauge("{replicas}", "How many replicas must be in sync.", true)),
  "kafka.topic.partitions": upDown("{partitions}", "Partitions of a topic."),
  "kafka.topic.replication_factor": optional(gauge("1", "Replicas of a topic's first partition.", true)),
} satisfies MetricTable;

export type KafkaMetric = keyof typeof KAFKA_METRICS;

function pattern(byDefault: string) {
  return z
    .string()
    .superRefine((source, context) => {
      try {
        compilePattern(source);
      } catch (error) {
        context.addIssue({ code: "custom", message: `not a pattern: ${(error as Error).message}` });
      }
    })
    .default(byDefault);
}

const keys = z.strictObject({
  ...kafkaConnectionKeys,
  ...scrapingKeys(MINUTE_MS),
  scrapers: z
    .array(z.enum(["brokers", "topics", "consumers"]))
    .nullish()
    .transform((list) => new Set(list ?? []))
    .meta({ description: "What is measured: brokers, topics, consumers." }),
  topic_match: pattern("^[^_].*$").meta({ description: "Topics whose names match this are measured." }),
  group_match: pattern(".*").meta({ description: "Consumer groups whose names match this are measured." }),
  cluster_alias: z.string().default("").meta({ description: "The value of the attribute kafka.cluster.alias." }),
  refresh_frequency: ignored("the brokers are asked at each collection"),
  ...metricKeys(KAFKA_METRICS),
  resource_attributes: section(
    z.strictObject({
      "kafka.cluster.alias": resourceAttributeKey(false),
      "kafka.cluster.id": resourceAttributeKey(false),
    }),
  )
    .prefault({})
    .meta({ description: "Which attributes the resource has." }),
});

export const kafkaMetricsSchema = withClient(KAFKA_CLIENT, keys);

export type KafkaMetricsConfig = z.infer<typeof keys>;
