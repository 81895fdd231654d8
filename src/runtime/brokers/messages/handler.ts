import type { Exporter, ExporterContext, ExporterFactory, SendOptions } from "#contract";
import { defineExporter } from "#contract";
import type { Batch } from "#otlp";
import { MalformedError } from "#otlp/signals";
import { ONLY_DEPTH, parseJson } from "#text/json";
import { OldestFirstMap } from "../oldest-first-map.js";
import { sourceOf } from "./dead-letter-headers.js";
import { HandledEvents } from "./handled-events.js";
import { type HandlerConfig, handlerSchema } from "./handler-config.js";
import { HEADER_ATTRIBUTE, RECEIVE_COUNT_ATTRIBUTE, REDELIVERED_ATTRIBUTE } from "./message.js";
import type { MessageKey } from "./message-key.js";
import { type WrittenMessage, writeMessages } from "./write-messages.js";

/** A message as a handler gets it: the sender's body and headers. */
export interface HandlerMessage {
  readonly body: Uint8Array;
  /** The body as text. */
  text(): string;
  /**
   * The body parsed as JSON, and checked by the schema if there is one: anything with a `parse` method that throws, such
   * as a schema of zod. Throws a permanent refusal for invalid JSON and for what the schema rejects: the message becomes
   * a dead letter.
   */
  json<T = unknown>(schema?: { parse(value: unknown): T }): T;
  /** The sender's headers. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** Further facts about the message: `messaging.message.id`, `messaging.destination.name` and so on. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /**
   * The same each time the message is handled, also after restarts and replays, and never that of another message: the
   * sender's own key, or one of ours. Never empty.
   */
  readonly idempotencyKey: string;
  /** Only for a message that was a dead letter: its id, and how often it was replayed. */
  readonly replayed: SendOptions["replayed"];
  readonly delivery: HandlerDelivery;
}

/** Where a message came from, and which attempt this is. */
interface HandlerDelivery {
  /**
   * 1 for the first attempt since the message came, or since it was replayed. A broker that counts its deliveries, as
   * SQS does, adds the earlier ones.
   */
  readonly attempt: number;
  /** Whether it may have been handled before: it is tried again, was replayed, or the broker says that it has sent it before. */
  readonly redelivered: boolean;
  /** When the message came into the queue of the handler; without a queue, when this attempt began. */
  readonly firstSeenAt: Date;
  /** The queue, topic, stream or table, and for Kafka `topic/partition/offset`; the receiver if there is none. */
  readonly source: string;
  readonly receiver: string;
  /** When the attempt times out; undefined if it never does. */
  readonly deadline: Date | undefined;
}

/** The second argument of a handler, beside the message. */
export interface HandlerContext {
  /** Fires when the timeout is over, or the agent gives up at its stop. */
  readonly abort: AbortSignal;
  /**
   * With `event_handled` in the config: a connection with an open transaction. Whatever the handler writes with it is
   * committed together with the message's key, when `handle` resolves. The handler must not commit or roll back itself.
   * It is a `Client` of the package pg.
   */
  readonly client?: {
    query<Row = Record<string, unknown>>(
      text: string,
      values?: unknown[],
    ): Promise<{ rows: Row[]; rowCount: number | null }>;
  };
}

interface HandlerDefinition {
  /** The type in the config, under exporters. */
  readonly type: string;
  readonly summary?: string;
  /** Defaults of the exporter's keys, in YAML form: `{ timeout: "30s" }`. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /**
   * Processes the message. The message is done when the promise resolves; an error is retried, and a permanent
   * `Refusal` makes the message a dead letter at once.
   */
  handle(message: HandlerMessage, context: HandlerContext): Promise<unknown>;
}

/**
 * Makes an exporter from a function that handles one message. It gets the durable queue, retries with backoff, the
 * circuit breaker, dead letters and replay, all configurable: behind a broker's receiver it is a consumer that loses
 * nothing. A message may be handled twice after a crash, unless its handler writes with the transaction that
 * `event_handled` gives it; its `idempotencyKey` identifies it.
 *
 * @example
 * const shipOrder = defineHandler({
 *   type: "ship_order",
 *   async handle(message) {
 *     const { id } = message.json() as { id?: string };
 *     if (id === undefined) throw new Refusal("permanent", "an order without an id");
 *   },
 * });
 */
export function defineHandler({ type, summary = "", defaults = {}, handle }: HandlerDefinition): ExporterFactory {
  return defineExporter<HandlerConfig>({
    type,
    summary,
    schema: handlerSchema,
    defaults: { ...defaults, sending_queue: { ...ONE_BY_ONE, ...(defaults["sending_queue"] as object | undefined) } },
    signals: ["logs"],
    create: (config, context) => new Handler(handle, config, context),
  });
}

/** Calls the function for each message whose key was not handled before. */
class Handler implements Exporter {
  private readonly handle: HandlerDefinition["handle"];
  private readonly events: HandledEvents | undefined;
  private readonly keys = new HandledKeys();

  constructor(handle: HandlerDefinition["handle"], config: HandlerConfig, context: ExporterContext) {
    this.handle = handle;
    this.events = config.event_handled && new HandledEvents(config.event_handled, context);
  }

  async start(): Promise<void> {
    await this.events?.start();
  }

  async stop(): Promise<void> {
    await this.events?.stop();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    for (const written of writeMessages(batch, "raw", options)) {
      const message = toMessage(written, options);
      await this.keys.once(written.key, () => this.handleMessage(written.key, message, abort));
    }
    return undefined;
  }

  private async handleMessage(key: MessageKey, message: HandlerMessage, abort: AbortSignal): Promise<void> {
    const { events, handle } = this;
    if (events === undefined) await handle(message, { abort });
    else
      await events.handleOnce(key, abort, (client) =>
        handle(message, { abort, client: client as HandlerContext["client"] & object }),
      );
  }
}

/** Sends waiting messages one by one, because the timeout is for a single message. */
const ONE_BY_ONE = { merge_backlog: false };

function toMessage({ key, body, attributes }: WrittenMessage, options: SendOptions | undefined): HandlerMessage {
  const text = () => Buffer.from(body.buffer, body.byteOffset, body.length).toString("utf8");
  const own = Object.entries(attributes).filter(([name]) => name.startsWith(HEADER_ATTRIBUTE));
  return {
    body,
    text,
    json: <T>(schema?: { parse(value: unknown): T }) => parseBody(text(), schema),
    headers: Object.fromEntries(own.map(([name, value]) => [name.slice(HEADER_ATTRIBUTE.length), value])),
    attributes,
    idempotencyKey: key,
    replayed: options?.replayed,
    delivery: deliveryOf(attributes, options),
  };
}

function deliveryOf(attributes: WrittenMessage["attributes"], options: SendOptions | undefined): HandlerDelivery {
  const { attempt = 1, firstSeenAt = Date.now(), receiver = "", deadlineAt } = options?.delivery ?? {};
  const received = options?.replayed === undefined ? Number(attributes[RECEIVE_COUNT_ATTRIBUTE] ?? 1) : 1;
  return {
    attempt: attempt + received - 1,
    redelivered: attempt > 1 || options?.replayed !== undefined || attributes[REDELIVERED_ATTRIBUTE] === true,
    firstSeenAt: new Date(firstSeenAt),
    source: sourceOf(attributes) ?? receiver,
    receiver,
    deadline: deadlineAt === undefined ? undefined : new Date(deadlineAt),
  };
}

function parseBody<T>(text: string, schema: { parse(value: unknown): T } | undefined): T {
  let value: unknown;
  try {
    value = parseJson(text, ONLY_DEPTH);
  } catch (cause) {
    throw new MalformedError(`the message is not JSON: ${(cause as Error).message}`, -1, { cause });
  }
  if (schema === undefined) return value as T;
  try {
    return schema.parse(value);
  } catch (cause) {
    throw new MalformedError(`the message does not match the schema: ${(cause as Error).message}`, -1, { cause });
  }
}

/**
 * Keys of messages that this process has handled or is handling. If one of several messages fails, those before it are
 * not handled again, and a message that a broker delivers twice is handled once. Bounded, and lost in a crash.
 */
class HandledKeys {
  private readonly handled = new OldestFirstMap<true>();
  private readonly running = new Map<string, Promise<void>>();

  /** Does the work unless this was done for the key before. A second copy waits for the first one. */
  async once(key: MessageKey, work: () => Promise<void>): Promise<void> {
    for (let other = this.running.get(key); other !== undefined; other = this.running.get(key))
      await other.catch(() => {});
    if (this.handled.has(key)) return;
    const running = work();
    this.running.set(key, running);
    try {
      await running;
      this.add(key);
    } finally {
      this.running.delete(key);
    }
  }

  private add(key: string): void {
    this.handled.set(key, true);
    if (this.handled.size > MAX_KEYS) this.handled.delete(this.handled.oldest!);
  }
}

const MAX_KEYS = 100_000;
