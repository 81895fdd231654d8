import { z } from "zod";
import { KAFKA_CLIENT, kafkaConnectionKeys, MESSAGE_ENCODINGS } from "#brokers";
import { availableCompression, wordOrNone } from "#net/otlp";
import { withClient } from "#system";
import {
  byteSize,
  caseInsensitiveEnum,
  deprecated,
  duration,
  ignored,
  type Signal,
  section,
  unsupported,
} from "../../plugin.js";

function target(topic: string, what: string) {
  return section(
    z.strictObject({
      topic: z
        .string()
        .min(1, "expected the name of a topic")
        .default(topic)
        .meta({ description: "The topic to write to." }),
      encoding: z.enum(MESSAGE_ENCODINGS).default(DEFAULT_ENCODING).meta({
        description: "The format of messages; text, raw and json write the body of each log record as a message.",
      }),
      topic_from_metadata_key: unsupported("use routing and one exporter for each topic"),
      message_key_from_metadata_key: unsupported("keys are made by the partition_* keys"),
    }),
  )
    .prefault({})
    .meta({ description: `Where ${what} are written to.` });
}

const DEFAULT_TOPICS: Readonly<Record<Signal, string>> = {
  logs: "otlp_logs",
  traces: "otlp_spans",
  metrics: "otlp_metrics",
};
const DEFAULT_ENCODING = "otlp_proto";

/** Older configs have one topic and one encoding for all signals. */
const UNDER_SIGNAL = "write it under logs, traces or metrics";

const keys = z
  .strictObject({
    ...kafkaConnectionKeys,
    logs: target(DEFAULT_TOPICS.logs, "logs"),
    traces: target(DEFAULT_TOPICS.traces, "traces"),
    metrics: target(DEFAULT_TOPICS.metrics, "metrics"),
    topic: deprecated(z.string().min(1).optional(), UNDER_SIGNAL),
    encoding: deprecated(
      z.enum(["otlp_proto", "otlp_json"], "expected otlp_proto or otlp_json; others are written under logs").optional(),
      UNDER_SIGNAL,
    ),
    topic_from_attribute: unsupported("use routing and one exporter for each topic"),
    include_metadata_keys: unsupported("client metadata is not written to Kafka"),
    partition_traces_by_id: z.boolean().default(false).meta({
      description: "Write each trace to separate messages in one partition, with the trace id as key.",
    }),
    partition_metrics_by_resource_attributes: z
      .boolean()
      .default(false)
      .meta({ description: "Write the metrics of each resource to separate messages in one partition." }),
    partition_logs_by_resource_attributes: z
      .boolean()
      .default(false)
      .meta({ description: "Write the logs of each resource to separate messages in one partition." }),
    partition_logs_by_trace_id: z
      .boolean()
      .default(false)
      .meta({ description: "Write the logs of each trace to separate messages in one partition." }),
    producer: section(
      z.strictObject({
        max_message_bytes: byteSize().default(1_000_000).meta({
          description:
            "Larger requests are cut into several messages; a larger record becomes a dead letter. The topic's max.message.bytes must allow it.",
        }),
        required_acks: z
          .union([z.literal(1), z.literal(-1), z.literal("all")], {
            error: "expected 1 or -1 (all): with 0 the broker never confirms a message",
          })
          .default("all")
          .meta({
            description:
              "Which replicas must have a message before it counts as delivered: 1 is the leader; -1 or all means every in-sync replica.",
          }),
        compression: availableCompression(wordOrNone(caseInsensitiveEnum(["none", "gzip", "snappy", "lz4", "zstd"])))
          .default("none")
          .meta({ description: "How messages are compressed; zstd needs Node.js 22.15 or newer." }),
        idempotent: z.boolean().default(false).meta({
          description:
            "The broker stores a message once even if it is sent again after a lost answer. Sends one request at a time, and needs required_acks: all.",
        }),
        allow_auto_topic_creation: z
          .boolean()
          .default(true)
          .meta({ description: "Let the broker create missing topics, if it is configured to." }),
        compression_params: ignored("compression levels are not supported"),
        flush_max_messages: ignored("use sending_queue.batch"),
        linger: ignored("use sending_queue.batch"),
      }),
    )
      .prefault({})
      .meta({ description: "How messages are written." }),
    unknown_topic: z.enum(["retry", "dead_letter"]).default("retry").meta({
      description: "What to do with data whose topic does not exist: wait, or make it a dead letter.",
    }),
    back_to_topic: z.boolean().default(false).meta({
      description: "Write messages of a dead-letter topic, when they are replayed, to the topic that they came from.",
    }),
    conn_linger: ignored("connections stay open"),
    publish_timeout: duration().optional().meta({ ignored: "use timeout" }),
  })
  .superRefine((config, context) => {
    const issue = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
    for (const signal of ["traces", "metrics"] as const) {
      if (!config[signal].encoding.startsWith("otlp_"))
        issue([signal, "encoding"], "expected otlp_proto or otlp_json: the others are only for log records");
    }
    const { idempotent, required_acks: acks } = config.producer;
    if (idempotent && acks === 1) issue(["producer", "required_acks"], "expected all: idempotent needs it");
    if (config.partition_logs_by_trace_id && config.partition_logs_by_resource_attributes)
      issue(["partition_logs_by_trace_id"], "expected one of this and partition_logs_by_resource_attributes");
  });

export const kafkaExporterSchema = withClient(KAFKA_CLIENT, keys);

export type KafkaExporterConfig = z.infer<typeof keys>;

/** Returns the topic and encoding of a signal. Old keys apply if nothing is written under the signal. */
export function targetOf(config: KafkaExporterConfig, signal: Signal) {
  const { topic, encoding } = config[signal];
  return {
    topic: topic === DEFAULT_TOPICS[signal] ? (config.topic ?? topic) : topic,
    encoding: encoding === DEFAULT_ENCODING ? (config.encoding ?? encoding) : encoding,
  };
}

/**
 * Returns the kind of message keys for a signal. Undefined means that messages have no key and go to the partitions in
 * turn.
 */
export function keyingOf(config: KafkaExporterConfig, signal: Signal): "trace" | "resource" | undefined {
  if (signal === "traces") return config.partition_traces_by_id ? "trace" : undefined;
  if (signal === "metrics") return config.partition_metrics_by_resource_attributes ? "resource" : undefined;
  if (config.partition_logs_by_trace_id) return "trace";
  return config.partition_logs_by_resource_attributes ? "resource" : undefined;
}
