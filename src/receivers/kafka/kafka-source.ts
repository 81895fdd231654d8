import { isUtf8 } from "node:buffer";
import {
  type BrokerSource,
  type IncomingMessage,
  KAFKA_CLIENT,
  type KafkaClient,
  type KafkaConsumerOptions,
  type KafkaRecord,
  type KafkaRecordSet,
  kafkaConnection,
  kafkaErrorMessage,
  keyHeader,
  MessageIntake,
  renewKafkaTls,
  type SourceServices,
  setbackOfHeaders,
} from "#brokers";
import type { BuiltInReceiverContext } from "#contract/built-in";
import { ERROR_CODES } from "#contract/errors";
import type { SourceHealth } from "#contract/operations";
import { backoff, ReadLoop } from "#resilience";
import { loadClient } from "#system";
import { type Batch, editRecords, limitedLog, type Refusal, type Setback, StartError } from "../../plugin.js";
import { encodingOf, fitsSignal, type KafkaReceiverConfig, NO_RECORDS_OF_SIGNAL, topicsOf } from "./config.js";
import { DeadLetterTopic } from "./dead-letter-topic.js";
import { GroupSession, type SessionParts, TopicsChanged } from "./group-session.js";
import type { Partition } from "./partition.js";

/** One member of the consumer group, which reads all topics of all signals. */
export class KafkaSource implements BrokerSource {
  private readonly config: KafkaReceiverConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly intakes = new Map<string, MessageIntake>();
  private readonly partitions = new Map<string, Partition>();
  private readonly services: SourceServices;
  private readonly loop: ReadLoop;
  private readonly health: SourceHealth | undefined;
  private readonly logRejected: (reason: string) => void;
  private deadLetterTopic: DeadLetterTopic | undefined;
  private session: GroupSession | undefined;
  private running: Promise<void> = Promise.resolve();

  constructor(config: KafkaReceiverConfig, context: BuiltInReceiverContext, services: SourceServices) {
    this.config = config;
    this.context = context;
    this.services = services;
    this.loop = new ReadLoop(context.clock);
    this.health = context.health?.source(config.group_id, config.max_lag);
    const { clock, logger } = context;
    const what = config.message_marking.on_permanent_error
      ? "a message was permanently refused and is skipped because of message_marking.on_permanent_error"
      : "a message was permanently refused and no exporter can keep it as a dead letter; its partition waits";
    this.logRejected = limitedLog(clock, (reason, suppressed) => logger.error({ reason, suppressed }, what));
  }

  async start(): Promise<void> {
    const { config, context } = this;
    const kafka = await loadClient<KafkaClient>(KAFKA_CLIENT);
    const connection: KafkaConsumerOptions = { ...(await kafkaConnection(config)), groupId: config.group_id };
    if (config.dead_letter_topic !== "")
      this.deadLetterTopic = new DeadLetterTopic(kafka, connection, config.dead_letter_topic);
    const { signals, dedup } = this.services;
    for (const signal of signals) {
      const encoding = encodingOf(config, signal);
      if (!fitsSignal(encoding, signal)) throw new StartError(NO_RECORDS_OF_SIGNAL, ["encoding"]);
      const settings = {
        signal,
        encoding,
        transport: "kafka",
        maxMessageBytes: config.max_message_size,
        complete: headerExtraction(config),
        dedup,
      };
      const intake = new MessageIntake(settings, context);
      for (const topic of topicsOf(config, signal)) {
        if (this.intakes.has(topic))
          throw new StartError(`pipelines of several signals read ${topic}: a message is of one signal`, ["topic"]);
        this.intakes.set(topic, intake);
      }
    }
    const topics = [...this.intakes.keys()];
    const onRecords: SessionParts["onRecords"] = (partition, records) => this.takeAll(partition, records);
    this.running = this.run({ kafka, config, connection, context, topics, partitions: this.partitions, onRecords });
  }

  async stop(): Promise<void> {
    this.loop.stop();
    this.session?.pause();
    await Promise.all(new Set([...this.intakes.values()].map((intake) => intake.stop())));
    await this.session?.close();
    await this.running;
    await this.deadLetterTopic?.close();
  }

  /** Runs one session after the other until the receiver stops. */
  private run(parts: SessionParts): Promise<void> {
    const delays = backoff({ first: FIRST_WAIT_MS, max: MAX_WAIT_MS }, this.context);
    return this.loop.run({
      read: (onReading) => this.runSession(parts, onReading),
      onEnd: () => {},
      delays: (failures, reason) => (reason instanceof TopicsChanged ? 0 : delays(failures)),
    });
  }

  /** Returns why the session ended. A stop closes the session itself. */
  private async runSession(parts: SessionParts, onReading: () => void): Promise<unknown> {
    const { logger } = this.context;
    const session = new GroupSession(parts);
    this.session = session;
    const reason = await this.join(session, parts, onReading).catch((error: unknown) => error);
    if (this.loop.isStopping) return undefined;
    if (!(reason instanceof TopicsChanged)) this.health?.down(kafkaErrorMessage(reason));
    logger.warn(
      { reason: kafkaErrorMessage(reason), brokers: this.config.brokers },
      "not connected to Kafka; retrying",
    );
    await session.close();
    await renewKafkaTls(parts.connection, this.config);
    return reason;
  }

  /** Rejects when the session ends. */
  private async join(session: GroupSession, { topics }: SessionParts, onReading: () => void): Promise<void> {
    await session.start();
    this.health?.up();
    onReading();
    this.context.logger.info({ group: this.config.group_id, topics }, "joined the consumer group");
    await session.failed;
  }

  private takeAll(partition: Partition, batches: readonly KafkaRecordSet[]): void {
    const intake = this.intakes.get(partition.topic);
    if (intake === undefined) return;
    let lag = 0;
    for (const each of this.partitions.values()) lag += each.lag;
    this.health?.setLag(lag);
    const from = partition.position;
    for (const { firstOffset, firstTimestamp, lastOffsetDelta, attributes, records } of batches) {
      const isControl = (attributes & CONTROL_BATCH) !== 0;
      for (const record of isControl ? [] : records) {
        const offset = firstOffset + BigInt(record.offsetDelta);
        // A broker returns whole record sets, even if only the last record of a set was asked for.
        if (offset < from) continue;
        void this.take(intake, partition, offset, messageOf(partition, offset, firstTimestamp, record), record);
      }
      partition.skipTo(firstOffset + BigInt(lastOffsetDelta) + 1n);
    }
  }

  private async take(
    intake: MessageIntake,
    partition: Partition,
    offset: bigint,
    message: IncomingMessage,
    record: KafkaRecord,
  ): Promise<void> {
    const unsettled = partition.take(offset, message.body.length);
    const setback = this.config.as_dead_letters ? (setbackOfHeaders(message.headers) ?? UNKNOWN_DEATH) : undefined;
    for (;;) {
      const outcome = await intake.accept(message, setback);
      if (outcome.kind === "returned") return;
      if (outcome.kind === "taken" || (await this.setAside(partition, offset, message, record, outcome.refusal))) break;
      await this.loop.pause(MAX_WAIT_MS);
      if (this.loop.isStopping) return;
    }
    partition.settle(unsettled);
    this.session?.wake();
  }

  /** Returns whether reading may continue after a message that can be neither accepted nor kept. */
  private async setAside(
    partition: Partition,
    offset: bigint,
    incoming: IncomingMessage,
    record: KafkaRecord,
    refusal: Refusal,
  ): Promise<boolean> {
    const { topic, index } = partition;
    const { message_marking } = this.config;
    const at = this.context.clock.now();
    try {
      const message = { topic, partition: index, offset, record, refusal, at };
      await this.deadLetterTopic?.write({ ...message, keyHeader: keyHeader(incoming, this.context.id) });
      if (this.deadLetterTopic !== undefined) return true;
      this.logRejected(refusal.message);
    } catch (error) {
      this.logRejected(`${refusal.message}; ${(error as Error).message}`);
    }
    return message_marking.on_permanent_error;
  }
}

/** Adds the wanted headers to every resource; undefined if none are wanted. */
function headerExtraction({ header_extraction: wanted }: KafkaReceiverConfig): MessageCompletion | undefined {
  if (!wanted?.extract_headers || wanted.headers.length === 0) return undefined;
  return (batch, { headers }) => {
    const found = wanted.headers.filter((name) => headers[name] !== undefined);
    if (found.length === 0) return batch;
    return editRecords(batch, ({ resource }) => {
      for (const name of found) resource.attributes.set(`kafka.header.${name}`, headers[name] as string | Uint8Array);
    });
  };
}

const UNKNOWN_DEATH: Setback = {
  reason: "imported",
  category: "integration",
  code: ERROR_CODES.SLUICE_BROKER_DEAD_LETTER,
  message: "it was in a dead-letter topic",
};

type MessageCompletion = (batch: Batch, message: IncomingMessage) => Batch;

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 5000;
/** The attribute bit of a record set that marks the start or end of a transaction instead of data. */
const CONTROL_BATCH = 0b100000;

function messageOf(
  { topic, topicId, index }: Partition,
  offset: bigint,
  firstTimestamp: bigint,
  record: KafkaRecord,
): IncomingMessage {
  const { key, value, headers, timestampDelta } = record;
  return {
    // A tombstone has no body.
    body: value ?? NO_BODY,
    headers:
      headers.length === 0
        ? NO_HEADERS
        : Object.fromEntries(headers.map(([name, text]) => [String(name), textOf(text)])),
    facts: {
      "messaging.system": "kafka",
      "messaging.destination.name": topic,
      "messaging.destination.partition.id": String(index),
      "messaging.kafka.offset": offset,
      "messaging.kafka.message.key": key === null ? undefined : textOf(key),
    },
    id: `${topic}/${topicId}/${index}/${offset}`,
    sentAtMs: Number(firstTimestamp + timestampDelta),
  };
}

const NO_BODY = Buffer.alloc(0);
const NO_HEADERS = {};

function textOf(bytes: Buffer | null): string | Buffer {
  if (bytes === null) return "";
  return isUtf8(bytes) ? bytes.toString() : bytes;
}
