import { createHash } from "node:crypto";
import {
  ensureNatsStream,
  hasNatsCode,
  isNatsHeader,
  MESSAGE_HEADERS,
  NatsLink,
  type NatsSession,
  natsErrorMessage,
  rejectOnAbort,
  sendAll,
  type WrittenMessage,
  withoutCredentials,
  writeMessages,
} from "#brokers";
import { ERROR_CODES } from "#contract/errors";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  Refusal,
  type SendOptions,
  SIGNALS,
} from "../../plugin.js";
import { type NatsExporterConfig, natsExporterSchema } from "./config.js";

/** Publishes to JetStream. A batch is delivered once the stream has confirmed each of its messages. */
export const natsExporter = defineExporter<NatsExporterConfig>({
  type: "nats",
  summary: "Publishes to NATS JetStream, with message ids by which the stream recognises duplicates.",
  signals: SIGNALS,
  defaults: { sending_queue: { merge_backlog: false } },
  schema: natsExporterSchema,
  create: (config, context) => new NatsExporter(config, context),
});

/** The client forgets a request without an answer after this time, whatever the exporter's own timeout is. */
const CONFIRM_MS = 60_000;

class NatsExporter implements Exporter {
  private readonly config: NatsExporterConfig;
  private readonly link: NatsLink;
  private readonly peer: string;
  /** The session in which the stream is known to exist. */
  private prepared: { readonly session: NatsSession; readonly done: Promise<void> } | undefined;

  constructor(config: NatsExporterConfig, context: ExporterContext) {
    this.config = config;
    this.link = new NatsLink(config, context);
    this.peer = config.servers.map(withoutCredentials).join(", ");
  }

  start(): Promise<void> {
    return this.link.start();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const session = this.usableSession();
    const { subject, encoding } = this.config[batch.signal];
    const messages = writeMessages(batch, encoding, options);
    refuseTooLarge(messages, session.connection.info?.max_payload);
    return sendAll(this.peer, abort, messages, (message) => this.publish(session, subject, message));
  }

  async check(abort: AbortSignal): Promise<void> {
    await rejectOnAbort(this.peer, abort, this.usableSession().connection.flush());
  }

  stop(): Promise<void> {
    return this.link.stop();
  }

  /** Refuses while the connection is down, so that messages wait in the queue and not inside the client. */
  private usableSession(): NatsSession {
    const session = this.link.current;
    if (session !== undefined) return session;
    throw new Refusal("transient", `${this.peer}: ${this.link.reason}`, { status: "DISCONNECTED", blame: "backend" });
  }

  private async publish(session: NatsSession, subject: string, message: WrittenMessage): Promise<void> {
    await this.prepare(session);
    const { stream, transport } = session;
    const headers = transport.headers();
    for (const name in message.headers)
      if (!isNatsHeader(name)) headers.set(headerName(name), headerValue(message.headers[name]!));
    const key = headerKey(message.key);
    headers.set(MESSAGE_HEADERS.idempotencyKey, key);
    try {
      await stream.publish(subject, message.body, {
        headers,
        timeout: CONFIRM_MS,
        msgID: key,
        ...(this.config.stream !== undefined && { expect: { streamName: this.config.stream } }),
      });
    } catch (error) {
      throw refusalOfPublish(error, subject, this.peer);
    }
  }

  private prepare(session: NatsSession): Promise<void> {
    const { stream, create_stream } = this.config;
    if (!create_stream || stream === undefined) return Promise.resolve();
    if (this.prepared?.session !== session) {
      const done = session
        .manager()
        .then((manager) =>
          ensureNatsStream(
            manager,
            stream,
            SIGNALS.map((signal) => this.config[signal].subject),
          ),
        )
        .catch((error: unknown) => {
          this.prepared = undefined;
          throw refusalOfPublish(error, stream, this.peer);
        });
      this.prepared = { session, done };
    }
    return this.prepared.done;
  }
}

/** A NATS header name is a line of text without spaces or colons. */
function headerName(name: string): string {
  return name.replace(/[^!-9;-~]/g, "_");
}

function headerValue(value: WrittenMessage["headers"][string]): string {
  const text = value instanceof Uint8Array ? Buffer.from(value).toString("base64") : String(value);
  return text.replace(/[\r\n]+/g, " ");
}

/**
 * A key that a header cannot hold as it is becomes its hash: without line breaks or surrounding spaces it could be the
 * key of another message.
 */
function headerKey(key: string): string {
  if (key === key.trim() && !/[\r\n]/.test(key)) return key;
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}

/** Bytes reserved for headers, which count towards the server's limit: names, values and separators. */
const HEADER_ROOM = 4096;

/**
 * Publishes nothing of a batch if one of its messages is too large. The queue then splits the batch and sends the
 * halves.
 */
function refuseTooLarge(messages: readonly WrittenMessage[], maxPayload = Number.POSITIVE_INFINITY): void {
  const largest = Math.max(...messages.map(({ body }) => body.length));
  if (largest + HEADER_ROOM <= maxPayload) return;
  throw tooLarge(`a message of ${largest} bytes, but the server accepts ${maxPayload} with headers (max_payload)`);
}

/**
 * Returns the refusal for a message that the stream did not accept. Only its size is permanent: streams can be created,
 * and servers come back.
 */
function refusalOfPublish(error: unknown, subject: string, peer: string): Refusal {
  const message = `${peer}: ${subject}: ${natsErrorMessage(error)}`;
  if (hasNatsCode(error, "messageTooLarge")) return tooLarge(message, error);
  const { name, code } = (error ?? {}) as { readonly name?: string; readonly code?: unknown };
  const status = typeof code === "number" || typeof code === "string" ? String(code) : name;
  const blame = name === "TimeoutError" ? {} : ({ blame: "backend" } as const);
  return new Refusal("transient", message, { ...(status !== undefined && { status }), ...blame, cause: error });
}

function tooLarge(message: string, cause?: unknown): Refusal {
  return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_TOO_LARGE, category: "schema", cause });
}
