import {
  entryKeys,
  formerSource,
  type HeaderValue,
  KAFKA_CLIENT,
  type KafkaClient,
  type KafkaMessage,
  type KafkaProducer,
  type KafkaProducerOptions,
  kafkaConnection,
  kafkaErrorIds,
  kafkaErrorMessage,
  rejectOnAbort,
  renewKafkaTls,
  type WrittenMessage,
  writeMessages,
} from "#brokers";
import { ERROR_CODES } from "#contract/errors";
import { loadClient } from "#system";
import {
  type Batch,
  defineExporter,
  type Exporter,
  Refusal,
  type SendOptions,
  SIGNALS,
  splitBatch,
} from "../../plugin.js";
import { type KafkaExporterConfig, kafkaExporterSchema, keyingOf, targetOf } from "./config.js";
import { keyedBatches } from "./keyed-batches.js";

/** Writes to Kafka topics. */
export const kafkaExporter = defineExporter<KafkaExporterConfig>({
  type: "kafka",
  summary: "Writes to Kafka topics; an entry is delivered when the brokers have confirmed it.",
  signals: SIGNALS,
  defaults: { timeout: "15s", sending_queue: { merge_backlog: false } },
  schema: kafkaExporterSchema,
  create: (config) => new KafkaExporter(config),
});

class KafkaExporter implements Exporter {
  private readonly config: KafkaExporterConfig;
  private readonly peer: string;
  private readonly acks: 1 | -1;
  private open: (() => KafkaProducer) | undefined;
  private renew = () => Promise.resolve();
  private producer: KafkaProducer | undefined;
  /** The previous send. An idempotent producer numbers its messages, so the previous send must end first. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(config: KafkaExporterConfig) {
    this.config = config;
    this.acks = config.producer.required_acks === 1 ? 1 : -1;
    this.peer = `kafka at ${config.brokers.join(", ")}`;
  }

  async start(): Promise<void> {
    const { Producer } = await loadClient<KafkaClient>(KAFKA_CLIENT);
    const { compression, idempotent, allow_auto_topic_creation: autocreateTopics } = this.config.producer;
    const connection = await kafkaConnection(this.config);
    const options: KafkaProducerOptions = {
      ...connection,
      compression,
      idempotent,
      acks: this.acks,
      autocreateTopics,
      // An idempotent producer only prevents duplicates if the producer itself retries.
      ...(idempotent && { retries: IDEMPOTENT_RETRIES, retryDelay: 200 }),
    };
    this.open = () => new Producer(options);
    this.renew = () => renewKafkaTls(options, this.config);
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const messages = this.messagesOf(batch, options);
    const sending = this.config.producer.idempotent ? this.sendInTurn(messages, abort) : this.produce(messages);
    await rejectOnAbort(this.peer, abort, sending);
  }

  async check(abort: AbortSignal): Promise<void> {
    const asking = this.current()
      .metadata({ topics: [], forceUpdate: true })
      .catch((error: unknown) => {
        void this.renew();
        throw this.refusalOf(error);
      });
    await rejectOnAbort(this.peer, abort, asking);
  }

  async stop(): Promise<void> {
    await this.closeProducer(this.producer);
  }

  private current(): KafkaProducer {
    this.producer ??= this.open!();
    return this.producer;
  }

  /** Closes a producer, which gives up what it is sending. */
  private async closeProducer(producer: KafkaProducer | undefined): Promise<void> {
    if (this.producer === producer) this.producer = undefined;
    await producer?.close().catch(() => {});
  }

  private sendInTurn(messages: KafkaMessage[], abort: AbortSignal): Promise<void> {
    const turn = this.last.then(async () => {
      if (abort.aborted) return;
      // A message that is sent again after a failure must not get the number of another message, so a new producer is
      // opened.
      const onAbort = () => void this.closeProducer(this.producer);
      abort.addEventListener("abort", onAbort, { once: true });
      try {
        await this.produce(messages);
      } catch (error) {
        await this.closeProducer(this.producer);
        throw error;
      } finally {
        abort.removeEventListener("abort", onAbort);
      }
    });
    this.last = turn.catch(() => {});
    return turn;
  }

  private async produce(messages: KafkaMessage[]): Promise<void> {
    const producer = this.current();
    try {
      await producer.send({ messages, acks: this.acks });
    } catch (error) {
      producer.clearMetadata();
      void this.renew();
      throw this.refusalOf(error);
    }
  }

  private messagesOf(batch: Batch, options: SendOptions | undefined): KafkaMessage[] {
    const messages: KafkaMessage[] = [];
    const keyOfRecord = entryKeys(batch, options);
    const groups = keyedBatches(batch, keyingOf(this.config, batch.signal));
    for (const [i, { key, batch: group, records }] of groups.entries()) {
      const keys: PartKeys = (index) => keyOfRecord(records === undefined ? index : records[index]!);
      this.addMessages({ batch: group, keys, options: optionsOfPart(options, i, groups.length) }, key, messages);
    }
    return messages;
  }

  /** Splits batches that are too large for a message. */
  private addMessages({ batch, keys, options }: BatchPart, key: Buffer | undefined, to: KafkaMessage[]): void {
    const { topic, encoding } = targetOf(this.config, batch.signal);
    const { max_message_bytes: limit } = this.config.producer;
    const bytes = limit - MESSAGE_OVERHEAD;
    for (const piece of partsOf({ batch, keys, options }, encoding === "otlp_proto" ? { bytes } : {})) {
      const written = writeMessages(piece.batch, encoding, piece.options, piece.keys);
      const largest = Math.max(...written.map(({ body }) => body.length));
      if (largest <= bytes) {
        for (const { body, headers, attributes } of written) {
          const own = key ?? messageKey(attributes);
          to.push({
            topic: (this.config.back_to_topic ? formerTopic(attributes) : undefined) ?? topic,
            ...(own && { key: own }),
            value: asBuffer(body),
            headers: headerMap(headers),
          });
        }
      } else if (piece.batch.count === 1) throw tooLarge(largest, limit);
      else
        for (const half of partsOf(piece, { records: Math.ceil(piece.batch.count / 2) }))
          this.addMessages(half, key, to);
    }
  }

  private refusalOf(error: unknown): Refusal {
    const ids = kafkaErrorIds(error);
    const message = `${this.peer}: ${kafkaErrorMessage(error)}`;
    const status = ids[0];
    const options = { cause: error, ...(status !== undefined && { status }) };
    if (ids.some((id) => TOO_LARGE.has(id)))
      return new Refusal("permanent", message, { ...options, code: ERROR_CODES.SLUICE_TOO_LARGE, category: "schema" });
    if (ids.includes("INVALID_RECORD")) return new Refusal("permanent", message, { ...options, category: "schema" });
    const isUnknown = ids.includes("UNKNOWN_TOPIC_OR_PARTITION") || /Unknown topic/.test(message);
    if (isUnknown && this.config.unknown_topic === "dead_letter")
      return new Refusal("permanent", message, { ...options, category: "integration" });
    const blame = ids.some((id) => RECORD_ERRORS.has(id)) ? "entry" : "backend";
    return new Refusal("transient", message, { ...options, blame });
  }
}

type PartKeys = ReturnType<typeof entryKeys>;

/** Records that are sent together, with the keys that they have one by one, and together as OTLP. */
interface BatchPart {
  readonly batch: Batch;
  readonly keys: PartKeys;
  readonly options: SendOptions | undefined;
}

/** No two parts have the same key, and none has that of another record. */
function partsOf({ batch, keys, options }: BatchPart, limits: Parameters<typeof splitBatch>[1]): BatchPart[] {
  const batches = splitBatch(batch, limits);
  let before = 0;
  return batches.map((each, i) => {
    const first = before;
    before += each.count;
    const own: PartKeys = (index) => keys(first + index);
    return { batch: each, keys: own, options: optionsOfPart(options, i, batches.length) };
  });
}

function optionsOfPart(options: SendOptions | undefined, part: number, parts: number): SendOptions | undefined {
  if (parts === 1 || !options?.idempotencyKey) return options;
  return { ...options, idempotencyKey: `${options.idempotencyKey}/${part}` };
}

const IDEMPOTENT_RETRIES = 20;
/** Bytes that a broker counts besides the body: the header of the record set, key and message headers. */
const MESSAGE_OVERHEAD = 1024;
/** Broker errors that concern the sent records, or a failure that the broker cannot name. */
const RECORD_ERRORS: ReadonlySet<string> = new Set([
  "CORRUPT_MESSAGE",
  "INVALID_TIMESTAMP",
  "INVALID_REQUEST",
  "UNKNOWN_SERVER_ERROR",
]);
const TOO_LARGE: ReadonlySet<string> = new Set(["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"]);

function tooLarge(bytes: number, limit: number): Refusal {
  const message = `a message of ${bytes} bytes is larger than producer.max_message_bytes, ${limit}`;
  return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_TOO_LARGE, category: "schema" });
}

/** The key that the message had in the topic it was read from. */
function messageKey(attributes: WrittenMessage["attributes"]): Buffer | undefined {
  const key = attributes["messaging.kafka.message.key"];
  if (key instanceof Uint8Array) return asBuffer(key);
  return typeof key === "string" ? Buffer.from(key) : undefined;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function headerMap(headers: Readonly<Record<string, HeaderValue>>): Map<Buffer, Buffer> {
  return new Map(
    Object.entries(headers).map(([name, value]) => [
      Buffer.from(name),
      value instanceof Uint8Array ? asBuffer(value) : Buffer.from(String(value)),
    ]),
  );
}

/** The topic that a dead letter was in. Its source is `topic/partition/offset`, and no topic has a slash in its name. */
function formerTopic(attributes: Readonly<Record<string, unknown>>): string | undefined {
  return formerSource(attributes)?.replace(/\/\d+\/\d+$/, "");
}
