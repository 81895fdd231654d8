import { createHash } from "node:crypto";
import {
  formerSource,
  type MessageEncoding,
  RabbitClient,
  rejectOnAbort,
  sendAll,
  type WrittenMessage,
  writeMessages,
} from "#brokers";
import { defineBuiltInExporter } from "#contract/built-in";
import { ERROR_CODES } from "#contract/errors";
import { nonEmptyText } from "#text/json";
import {
  type Batch,
  type Exporter,
  type ExporterContext,
  Refusal,
  type SendOptions,
  SIGNALS,
  type Signal,
} from "../../plugin.js";
import { type RabbitmqExporterConfig, rabbitmqExporterSchema } from "./config.js";
import { ConfirmedChannel, type Publication } from "./confirmed-channel.js";

/** Publishes to RabbitMQ. A batch is delivered when RabbitMQ has confirmed its messages. */
export const rabbitmqExporter = defineBuiltInExporter<RabbitmqExporterConfig>({
  type: "rabbitmq",
  summary: "Publishes to exchanges of RabbitMQ, with confirms.",
  signals: SIGNALS,
  defaults: { sending_queue: { merge_backlog: false } },
  schema: rabbitmqExporterSchema,
  refusesSignal: ({ encoding }, signal) =>
    signal === "logs" || encoding.startsWith("otlp_") ? undefined : `encoding ${encoding} is only for logs`,
  create: (config, context) => new RabbitmqExporter(config, context),
});

/** The Collector's defaults. */
const ROUTING_KEYS: Readonly<Record<Signal, string>> = {
  logs: "otlp_logs",
  traces: "otlp_spans",
  metrics: "otlp_metrics",
};

const CONTENT_TYPES: Readonly<Record<MessageEncoding, string>> = {
  otlp_proto: "application/x-protobuf",
  otlp_json: "application/json",
  text: "text/plain",
  raw: "application/octet-stream",
  json: "application/json",
};

class RabbitmqExporter implements Exporter {
  private readonly config: RabbitmqExporterConfig;
  private readonly context: ExporterContext;
  private channel!: ConfirmedChannel;

  constructor(config: RabbitmqExporterConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
  }

  async start(): Promise<void> {
    const client = await RabbitClient.create(this.config.connection, this.context.id);
    const unroutableKind = this.config.on_unroutable === "dead_letter" ? "permanent" : "transient";
    this.channel = new ConfirmedChannel(client, unroutableKind);
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const messages = writeMessages(batch, this.config.encoding, options);
    for (const { body } of messages) this.refuseTooLarge(body);
    return sendAll("rabbitmq", abort, messages, (message) =>
      this.channel.publish(this.publication(message, batch.signal)),
    );
  }

  async check(abort: AbortSignal): Promise<void> {
    await rejectOnAbort("rabbitmq", abort, this.channel.open());
  }

  stop(): Promise<void> {
    return this.channel?.close();
  }

  /** RabbitMQ would close the channel for such a message, and everything under way on it would fail. */
  private refuseTooLarge({ length }: Uint8Array): void {
    const { max_message_size: max } = this.config;
    if (length <= max) return;
    const message = `a message of ${length} bytes is larger than max_message_size, ${max}`;
    throw new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_MESSAGE_TOO_LARGE, category: "integration" });
  }

  private publication({ key, body, headers, attributes }: WrittenMessage, signal: Signal): Publication {
    const { routing, encoding, durable, on_unroutable } = this.config;
    const lastQueue = routing.back_to_queue ? deadLetteredQueue(attributes) : undefined;
    return {
      exchange: lastQueue === undefined ? routing.exchange : "",
      routingKey: lastQueue ?? (routing.routing_key || ROUTING_KEYS[signal]),
      body,
      options: {
        headers: withoutDeathHeaders(headers),
        persistent: durable,
        mandatory: on_unroutable !== "drop",
        contentType: nonEmptyText(attributes["messaging.message.content_type"]) ?? CONTENT_TYPES[encoding],
        messageId: shortId(nonEmptyText(attributes["messaging.message.id"]) ?? key),
        ...optional("correlationId", nonEmptyText(attributes["messaging.message.conversation_id"])),
        ...optional("type", nonEmptyText(attributes["messaging.message.type"])),
      },
    };
  }
}

/**
 * An AMQP short string has at most this many bytes, and many entry keys are longer. A longer key is replaced by its
 * hash, which is the same each time.
 */
function shortId(id: string): string {
  return Buffer.byteLength(id) <= MAX_SHORT_STRING ? id : createHash("sha256").update(id).digest("hex");
}

const MAX_SHORT_STRING = 255;

/**
 * Returns the queue that a message was dead-lettered in, by us or by RabbitMQ, which lists the latest dead-lettering
 * first.
 */
function deadLetteredQueue(attributes: WrittenMessage["attributes"]): string | undefined {
  const deaths = attributes["messaging.header.x-death"];
  const former = formerSource(attributes);
  if (former !== undefined || !Array.isArray(deaths)) return former;
  return nonEmptyText((deaths[0] as { queue?: unknown } | undefined)?.queue);
}

/** Removes RabbitMQ's headers about earlier dead-letterings, because a message that is sent again starts anew. */
function withoutDeathHeaders(headers: WrittenMessage["headers"]): Record<string, unknown> {
  const names = Object.keys(headers);
  if (!names.some((name) => isDeathHeader(name) || headers[name] instanceof Uint8Array)) return headers;
  // Built from entries, because a header may be called __proto__.
  return Object.fromEntries(
    names
      .filter((name) => !isDeathHeader(name))
      .map((name) => [name, headers[name] instanceof Uint8Array ? Buffer.from(headers[name]) : headers[name]]),
  );
}

function isDeathHeader(name: string): boolean {
  return /^x-(death|first-death-|last-death-|retry-count$)/.test(name);
}

function optional<Key extends string>(key: Key, value: string | undefined): Partial<Record<Key, string>> {
  return value === undefined ? {} : ({ [key]: value } as Record<Key, string>);
}
