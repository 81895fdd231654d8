import { z } from "zod";
import {
  dedupSection,
  KAFKA_CLIENT,
  kafkaConnectionKeys,
  MESSAGE_ENCODINGS,
  type MessageEncoding,
  maxLagKey,
} from "#brokers";
import { withClient } from "#system";
import {
  byteSize,
  caseInsensitiveEnum,
  deprecated,
  duration,
  ignored,
  SIGNALS,
  type Signal,
  section,
  unsupported,
} from "../../plugin.js";

const MIB = 1024 * 1024;

function topicName() {
  return z
    .string()
    .min(1, "expected the name of a topic")
    .refine((name) => !name.startsWith("^"), "expected the name of a topic; patterns of names are not supported");
}

/** The config section of a signal. */
function source(topic: string) {
  return section(
    z.strictObject({
      topic: topicName()
        .optional()
        .meta({ description: `The topic to read. Default ${topic}.` }),
      topics: z.array(topicName()).min(1).optional().meta({ description: "Several topics instead of one." }),
      encoding: z.enum(MESSAGE_ENCODINGS).optional().meta({
        description:
          "The encoding of messages; with text, raw and json each becomes one log record. Default otlp_proto.",
      }),
      exclude_topic: unsupported("patterns of topics are not supported; name the topics"),
      exclude_topics: unsupported("patterns of topics are not supported; name the topics"),
    }),
  )
    .optional()
    .meta({ description: `Where ${topic.replace("otlp_", "").replace("spans", "traces")} are read from.` });
}

const DEFAULT_TOPICS: Readonly<Record<Signal, string>> = {
  logs: "otlp_logs",
  traces: "otlp_spans",
  metrics: "otlp_metrics",
};

/** Older configs have one topic and one encoding outside the signal sections. */
const MOVE_UNDER_SIGNAL = "write it under logs, traces or metrics";

const keys = z
  .strictObject({
    ...kafkaConnectionKeys,
    logs: source(DEFAULT_TOPICS.logs),
    traces: source(DEFAULT_TOPICS.traces),
    metrics: source(DEFAULT_TOPICS.metrics),
    topic: deprecated(
      topicName().optional().meta({ description: "The topic of signals without their own." }),
      MOVE_UNDER_SIGNAL,
    ),
    encoding: deprecated(
      z.enum(MESSAGE_ENCODINGS).optional().meta({ description: "The encoding for signals without their own." }),
      MOVE_UNDER_SIGNAL,
    ),
    group_id: z
      .string()
      .min(1)
      .default("sluice")
      .meta({ description: "The consumer group: agents of one group share partitions." }),
    group_instance_id: z.string().min(1).optional().meta({
      description:
        "A name that this agent keeps across restarts, so its partitions wait for it. Each agent needs its own.",
    }),
    group_rebalance_strategy: ignored(
      "partitions are shared evenly among the agents of the group that read their topic",
    ),
    initial_offset: caseInsensitiveEnum(["latest", "earliest"])
      .default("latest")
      .meta({ description: "Where a group starts in a partition that it has never read." }),
    session_timeout: duration()
      .default(10_000)
      .meta({ description: "An agent that is silent for this long loses its partitions to others." }),
    heartbeat_interval: duration().default(3000).meta({ description: "How often an agent sends a heartbeat." }),
    rebalance_timeout: duration()
      .default(60_000)
      .meta({ description: "How long the group waits for its members during a rebalance." }),
    min_fetch_size: byteSize()
      .default(1)
      .meta({ description: "A broker waits until it has this many bytes to return." }),
    max_fetch_wait: duration()
      .default(250)
      .meta({ description: "A broker answers after this time with the data it has." }),
    max_fetch_size: byteSize()
      .default(16 * MIB)
      .meta({ description: "The maximum size of one answer, all partitions together." }),
    max_partition_fetch_size: byteSize()
      .default(MIB)
      .meta({ description: "The maximum size of one partition's data in an answer." }),
    default_fetch_size: ignored("use max_partition_fetch_size"),
    max_unsettled_size: byteSize()
      .default(4 * MIB)
      .meta({
        description:
          "A partition with more unsettled bytes than this is not read until they are in the exporters' queues.",
      }),
    max_message_size: byteSize()
      .default(16 * MIB)
      .meta({ description: "Larger messages become dead letters." }),
    autocommit: section(
      z.strictObject({
        enable: z
          .literal(true, "expected true: without commits, every restart would read everything again")
          .default(true)
          .meta({
            description: "Offsets are committed once every exporter of the pipeline has their messages on disk.",
          }),
        interval: duration().default(1000).meta({ description: "How often they are committed." }),
      }),
    )
      .default({ enable: true, interval: 1000 })
      .meta({ description: "How offsets are committed." }),
    message_marking: section(
      z.strictObject({
        after: z
          .literal(true, "expected true: a message is only marked once every exporter of the pipeline has it on disk")
          .default(true)
          .meta({ description: "Messages are always marked after they were processed." }),
        on_error: z
          .literal(false, "expected false: temporarily refused messages are retried until they are accepted")
          .default(false)
          .meta({ description: "Temporarily refused messages are always retried." }),
        on_permanent_error: z.boolean().default(false).meta({
          description:
            "Skip a message that is permanently refused and that no exporter can keep as a dead letter: it is lost. Otherwise its partition waits.",
        }),
      }),
    )
      .default({ after: true, on_error: false, on_permanent_error: false })
      .meta({ description: "When messages count as read." }),
    header_extraction: section(
      z.strictObject({
        extract_headers: z
          .boolean()
          .default(false)
          .meta({ description: "Keep headers of messages as attributes of the resource." }),
        headers: z
          .array(z.string())
          .default([])
          .meta({ description: "The headers to keep; they become kafka.header.NAME." }),
      }),
    )
      .optional()
      .meta({ description: "Headers of messages as attributes." }),
    dead_letter_topic: z
      .string()
      .regex(/^(?:[\w.-]|\{topic\})*$/, "expected the name of a topic; {topic} stands for the topic of the message")
      .default("{topic}.dlq")
      .meta({
        description:
          'The topic for messages that are permanently refused and that no exporter can keep as a dead letter. {topic} stands for the topic of the message. "": none, and the partition waits.',
      }),
    as_dead_letters: z
      .boolean()
      .default(false)
      .meta({ description: "The topics are dead-letter topics: their messages become dead letters of our exporters." }),
    dedup: dedupSection("messages"),
    max_lag: maxLagKey,
    error_backoff: ignored("refused messages are retried after 20 ms, then after twice as long each time, up to 5 s"),
  })
  .superRefine((config, context) => {
    const seen = new Map<string, Signal>();
    for (const signal of SIGNALS) {
      // The pipelines decide at start which signals the old topic is for.
      const written = topicsOf(config, signal).filter((topic) => topic !== config.topic);
      for (const topic of written) {
        const other = seen.get(topic);
        if (other !== undefined) {
          const message = `the topic ${topic} is read for ${other} already: a message is of one signal`;
          context.addIssue({ code: "custom", path: [signal, "topic"], message });
        }
        seen.set(topic, signal);
      }
      const { encoding = "otlp_proto" } = config[signal] ?? {};
      if (!fitsSignal(encoding, signal))
        context.addIssue({
          code: "custom",
          path: [signal, "encoding"],
          message: NO_RECORDS_OF_SIGNAL,
        });
    }
    if (config.heartbeat_interval > config.session_timeout)
      context.addIssue({ code: "custom", path: ["heartbeat_interval"], message: "expected less than session_timeout" });
    if (config.rebalance_timeout < config.session_timeout)
      context.addIssue({
        code: "custom",
        path: ["rebalance_timeout"],
        message: "expected no less than session_timeout",
      });
  });

export const kafkaReceiverSchema = withClient(KAFKA_CLIENT, keys);

export type KafkaReceiverConfig = z.infer<typeof keys>;

export const NO_RECORDS_OF_SIGNAL = "expected otlp_proto or otlp_json: the others make log records";

/** The topics that a signal is read from. */
export function topicsOf(config: SignalSources, signal: Signal): readonly string[] {
  const { topics, topic = config.topic ?? DEFAULT_TOPICS[signal] } = config[signal] ?? {};
  return topics ?? [topic];
}

/** The encoding of a signal's messages. */
export function encodingOf(config: SignalSources, signal: Signal): MessageEncoding {
  return config[signal]?.encoding ?? config.encoding ?? "otlp_proto";
}

export function fitsSignal(encoding: MessageEncoding, signal: Signal): boolean {
  return signal === "logs" || encoding.startsWith("otlp_");
}

type SignalSources = Pick<KafkaReceiverConfig, Signal | "topic" | "encoding">;
