import {
  isDeadLetterHeader,
  type KafkaClient,
  type KafkaConsumerOptions,
  type KafkaProducer,
  type KafkaRecord,
  kafkaErrorMessage,
  rejectedHeaders,
} from "#brokers";
import type { Refusal } from "../../plugin.js";

/** A message that can be neither accepted nor kept as a dead letter, with its place in Kafka. */
interface RejectedMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly record: KafkaRecord;
  readonly refusal: Refusal;
  /** The header by which the message keeps its key. */
  readonly keyHeader: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/**
 * Writes messages that can be neither accepted nor kept to a dead-letter topic: with key, body and headers, and further
 * headers that say why. A message may be there twice, if the agent ends before it has committed the offset.
 */
export class DeadLetterTopic {
  private readonly kafka: KafkaClient;
  private readonly connection: KafkaConsumerOptions;
  private readonly pattern: string;
  private producer: KafkaProducer | undefined;

  /** `{topic}` in the pattern stands for the message's topic. */
  constructor(kafka: KafkaClient, connection: KafkaConsumerOptions, pattern: string) {
    this.kafka = kafka;
    this.connection = connection;
    this.pattern = pattern;
  }

  /** Resolves when the brokers have confirmed the message. Rejects with the reason why they have not. */
  async write({ topic, partition, offset, record, refusal, keyHeader, at }: RejectedMessage): Promise<void> {
    const { groupId: _, ...connection } = this.connection;
    this.producer ??= new this.kafka.Producer({ ...connection, acks: -1, autocreateTopics: true });
    const story = { ...rejectedHeaders(refusal, `${topic}/${partition}/${offset}`, at), ...keyHeader };
    const isOwn = (name: string) => !isDeadLetterHeader(name) && !Object.hasOwn(story, name);
    const own = record.headers.filter(([name]) => isOwn(String(name ?? "")));
    const headers = new Map(own.map(([name, value]) => [name ?? EMPTY, value ?? EMPTY]));
    for (const [name, value] of Object.entries(story)) headers.set(Buffer.from(name), Buffer.from(value));
    const message = {
      topic: this.pattern.replaceAll("{topic}", topic),
      ...(record.key !== null && { key: record.key }),
      ...(record.value !== null && { value: record.value }),
      headers,
    };
    try {
      await this.producer.send({ messages: [message], acks: -1 });
    } catch (error) {
      await this.close();
      throw new Error(`the dead-letter topic ${message.topic} does not accept it: ${kafkaErrorMessage(error)}`, {
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    const { producer } = this;
    this.producer = undefined;
    await producer?.close().catch(() => {});
  }
}

const EMPTY = Buffer.alloc(0);
