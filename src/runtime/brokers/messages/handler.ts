import type { ExporterFactory, SendOptions } from "#contract";
import { defineExporter } from "#contract";
import type { Batch } from "#otlp";
import { MalformedError } from "#otlp/signals";
import { OldestFirstMap } from "../oldest-first-map.js";
import { HEADER_ATTRIBUTE, MESSAGE_HEADERS } from "./message.js";
import { type WrittenMessage, writeMessages } from "./write-messages.js";

/** A message as a handler gets it: the sender's body and headers. */
export interface HandlerMessage {
  readonly body: Uint8Array;
  /** The body as text. */
  text(): string;
  /** The body parsed as JSON. Throws a permanent refusal for invalid JSON: the message becomes a dead letter. */
  json(): unknown;
  /** The sender's headers. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** Further facts about the message: `messaging.message.id`, `messaging.destination.name` and so on. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /**
   * The same each time the message is handled, also after restarts and replays: the sender's own key, or one of ours.
   */
  readonly idempotencyKey: string;
  /** Only for a message that was a dead letter: its id, and how often it was replayed. */
  readonly replayed: SendOptions["replayed"];
}

interface HandlerDefinition {
  /** The type in the config, under exporters. */
  readonly type: string;
  readonly summary?: string;
  /** Defaults of the exporter's keys, in YAML form: `{ timeout: "30s" }`. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /**
   * Processes the message. The message is done when the promise resolves; an error is retried, and a permanent
   * `Refusal` makes the message a dead letter at once. `abort` fires when the timeout is over.
   */
  handle(message: HandlerMessage, abort: AbortSignal): Promise<unknown>;
}

/**
 * Makes an exporter from a function that handles one message. It gets the durable queue, retries with backoff, the
 * circuit breaker, dead letters and replay, all configurable: behind a broker's receiver it is a consumer that loses
 * nothing. A message may be handled twice after a crash; its `idempotencyKey` identifies it.
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
  return defineExporter({
    type,
    summary,
    defaults: { ...defaults, sending_queue: { ...ONE_BY_ONE, ...(defaults["sending_queue"] as object | undefined) } },
    signals: ["logs"],
    create: () => {
      const handled = new RecentKeys();
      return {
        async send(batch: Batch, abort: AbortSignal, options?: SendOptions) {
          for (const message of messagesOf(batch, options)) {
            if (handled.has(message.idempotencyKey)) continue;
            await handle(message, abort);
            handled.add(message.idempotencyKey);
          }
          return undefined;
        },
      };
    },
  });
}

/** Sends waiting messages one by one, because the timeout is for a single message. */
const ONE_BY_ONE = { merge_backlog: false };

function messagesOf(batch: Batch, options: SendOptions | undefined): HandlerMessage[] {
  return writeMessages(batch, "raw", options).map((written) => toMessage(written, options));
}

function toMessage({ body, headers, attributes }: WrittenMessage, options: SendOptions | undefined): HandlerMessage {
  const text = () => Buffer.from(body.buffer, body.byteOffset, body.length).toString("utf8");
  const own = Object.entries(attributes).filter(([name]) => name.startsWith(HEADER_ATTRIBUTE));
  return {
    body,
    text,
    json: () => parseJson(text()),
    headers: Object.fromEntries(own.map(([name, value]) => [name.slice(HEADER_ATTRIBUTE.length), value])),
    attributes,
    idempotencyKey: String(headers[MESSAGE_HEADERS.idempotencyKey] ?? ""),
    replayed: options?.replayed,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new MalformedError(`the message is not JSON: ${(cause as Error).message}`, -1, { cause });
  }
}

/**
 * Keys of messages that this process has handled. If one of several messages fails, those before it are not handled
 * again, and a message that a broker delivers twice is handled once. Bounded, and lost in a crash.
 */
class RecentKeys {
  private readonly keys = new OldestFirstMap<true>();

  has(key: string): boolean {
    return this.keys.has(key);
  }

  add(key: string): void {
    if (key === "") return;
    this.keys.set(key, true);
    if (this.keys.size > MAX_KEYS) this.keys.delete(this.keys.oldest!);
  }
}

const MAX_KEYS = 100_000;
