import { randomUUID } from "node:crypto";
import type { Channel, ChannelModel, ConfirmChannel, ConsumeMessage } from "amqplib";
import {
  type BrokerSource,
  closeConnection,
  type IncomingMessage,
  keyHeader,
  MessageIntake,
  type MessageIntakeSettings,
  type RabbitClient,
  REDELIVERED_ATTRIBUTE,
  setbackOfHeaders,
} from "#brokers";
import type { BuiltInReceiverContext } from "#contract/built-in";
import { ERROR_CODES } from "#contract/errors";
import type { SourceHealth } from "#contract/operations";
import { waitAtMost } from "#contract/time";
import { connectionErrorMessage } from "#net";
import { backoff, ReadLoop } from "#resilience";
import { limitedLog, type Refusal, type Setback } from "../../plugin.js";
import type { RabbitmqReceiverConfig } from "./config.js";
import { type RefusedMessage, SetAsideMessages } from "./set-aside-messages.js";
import { type DeadLetterTarget, deadLetterTarget, declareTopology } from "./topology.js";

const LAG_INTERVAL_MS = 10_000;
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 10_000;
/** The time limit for declaring a queue and starting to consume it. */
const SETUP_LIMIT_MS = 30_000;
const TIMED_OUT = Symbol("late");
/** How long a stop waits for RabbitMQ to confirm messages sent to retry queues. */
const FLUSH_LIMIT_MS = 2000;
/** With retry queues, a message refused this often waits there, and another message gets its place here. */
const TRIES_BEFORE_RETRY_QUEUE = 1;

/**
 * Reads one queue and reconnects for as long as needed if the connection or the queue is gone.
 *
 * A message is acknowledged only when every exporter in the pipeline has it on disk, on the channel it came from. If
 * that channel is gone, RabbitMQ redelivers the message: it may arrive twice and is never lost.
 */
export class QueueReader implements BrokerSource {
  private readonly queue: string;
  private readonly config: RabbitmqReceiverConfig;
  private readonly client: RabbitClient;
  private readonly context: BuiltInReceiverContext;
  private readonly intake: MessageIntake;
  private readonly logRejected: (message: string) => void;
  private connection: ChannelModel | undefined;
  private consuming: { readonly channel: Channel; readonly tag: string } | undefined;
  private readonly loop: ReadLoop;
  private readonly health: SourceHealth | undefined;
  private readonly settling = new Set<Promise<void>>();
  private finished: Promise<void> = Promise.resolve();

  constructor(
    queue: string,
    settings: Pick<MessageIntakeSettings, "signal" | "encoding" | "dedup">,
    config: RabbitmqReceiverConfig,
    client: RabbitClient,
    context: BuiltInReceiverContext,
  ) {
    this.queue = queue;
    this.config = config;
    this.client = client;
    this.context = context;
    this.loop = new ReadLoop(context.clock);
    this.health = context.health?.source(queue, config.max_lag);
    const retries = this.retryDelays.length > 0 ? { maxTries: TRIES_BEFORE_RETRY_QUEUE } : {};
    const limits = { transport: "rabbitmq", maxMessageBytes: config.max_message_size };
    this.intake = new MessageIntake({ ...settings, ...limits, ...retries }, context);
    this.logRejected = limitedLog<string>(context.clock, (reason, suppressed) =>
      context.logger.error(
        { queue, reason, suppressed },
        "a message can be neither accepted nor kept as a dead letter, and no queue is configured for such messages: it stays where it is",
      ),
    );
  }

  /** Resolves after the first attempt to read, whether it succeeded or not. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.finished = this.run(resolve);
    });
  }

  /**
   * Accepts nothing new, waits for the outcomes of everything handed in, and returns messages that were only waiting.
   */
  async stop(): Promise<void> {
    this.loop.stop();
    const { consuming } = this;
    if (consuming !== undefined) consuming.channel.cancel(consuming.tag).catch(() => {});
    await this.intake.stop();
    await waitAtMost(FLUSH_LIMIT_MS, Promise.all(this.settling), this.context.clock);
    if (this.connection !== undefined) await closeConnection(this.connection);
    await this.finished;
  }

  private run(onFirst: () => void): Promise<void> {
    let lastReason: unknown;
    return this.loop.run({
      read: (onReading) =>
        this.read(() => {
          lastReason = undefined;
          this.health?.up();
          onReading();
          onFirst();
        }).finally(onFirst),
      onEnd: (reason) => {
        this.health?.down(String(reason));
        const { logger } = this.context;
        const facts = { queue: this.queue, peer: this.client.peer, reason };
        if (reason === lastReason) logger.debug(facts, "still cannot read from RabbitMQ");
        else logger.warn(facts, "cannot read from RabbitMQ; retrying");
        lastReason = reason;
      },
      delays: backoff({ first: FIRST_WAIT_MS, max: MAX_WAIT_MS }, this.context),
    });
  }

  /** Reads until it fails, and returns the reason. */
  private async read(onReading: () => void): Promise<string> {
    let problem = "the connection was closed";
    const note = (error: Error) => {
      problem = error instanceof RangeError ? UNREADABLE_HEADERS : connectionErrorMessage(error);
    };
    try {
      const connection = await this.client.connect(note);
      this.connection = connection;
      const closed = new Promise<void>((resolve) => connection.on("close", () => resolve()));
      try {
        const { ended } = await this.withSetupLimit(this.consume(connection, note));
        onReading();
        if (!this.loop.isStopping) await Promise.race([closed, ended]);
      } finally {
        this.consuming = undefined;
        if (!this.loop.isStopping) await closeConnection(connection);
        else await closed;
        this.connection = undefined;
      }
    } catch (error) {
      note(error as Error);
    }
    return problem;
  }

  /**
   * If a queue's leader is gone, RabbitMQ may never answer while the connection stays open. The timeout then starts
   * everything over.
   */
  private async withSetupLimit<T>(work: Promise<T>): Promise<T> {
    const answer = await waitAtMost(SETUP_LIMIT_MS, work, this.context.clock, () => TIMED_OUT);
    if (answer === TIMED_OUT)
      throw new Error(`RabbitMQ does not answer for the queue within ${SETUP_LIMIT_MS / 1000} s`);
    return answer as T;
  }

  /** `ended` resolves when RabbitMQ delivers nothing more on this channel. */
  private async consume(
    connection: ChannelModel,
    note: (error: Error) => void,
  ): Promise<{ readonly ended: Promise<void> }> {
    const { declare, prefetch } = this.config;
    const isPublishing = this.retryDelays.length > 0 || this.deadLetterTarget !== undefined;
    const confirmed = isPublishing ? await connection.createConfirmChannel() : undefined;
    const channel = confirmed ?? (await connection.createChannel());
    const aside = confirmed && this.asideMessages(confirmed);
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    channel.on("error", note);
    channel.on("close", end);
    if (declare !== undefined) await declareTopology(channel, this.queue, declare);
    await channel.prefetch(prefetch);
    const { consumerTag } = await channel.consume(this.queue, (message) => {
      if (message !== null) return this.take(channel, aside, message);
      note(new Error("the queue was deleted, or its leader has moved"));
      end();
    });
    this.consuming = { channel, tag: consumerTag };
    this.measureLag(channel);
    this.context.logger.info({ queue: this.queue, peer: this.client.peer }, "reading from RabbitMQ");
    return { ended };
  }

  /** Asks how many messages wait, for as long as the channel is read. */
  private measureLag(channel: Channel): void {
    if (this.health === undefined || this.consuming?.channel !== channel) return;
    channel.checkQueue(this.queue).then(
      ({ messageCount }) => {
        this.health!.setLag(messageCount);
        this.context.clock.after(LAG_INTERVAL_MS, () => this.measureLag(channel));
      },
      () => {}, // the channel is gone, and with it this measurement
    );
  }

  private asideMessages(channel: ConfirmChannel): SetAsideMessages {
    const { declare } = this.config;
    return new SetAsideMessages({ channel, queue: this.queue, declared: declare, target: this.deadLetterTarget });
  }

  private take(channel: Channel, aside: SetAsideMessages | undefined, message: ConsumeMessage): void {
    const setback = this.config.as_dead_letters ? describeDeath(message) : undefined;
    const incoming = new QueueMessage(message, this.queue);
    const rejected = () => {
      const { isIdOfDelivery } = incoming;
      return { message, isIdOfDelivery, keyHeader: keyHeader(incoming, this.context.id) };
    };
    void this.intake.accept(incoming, setback).then((outcome) => {
      try {
        if (outcome.kind === "taken") channel.ack(message);
        else if (outcome.kind === "returned") channel.nack(message, false, true);
        else this.setAside(channel, aside, rejected(), outcome.refusal);
      } catch {
        // The channel is gone: RabbitMQ redelivers the message.
      }
    });
  }

  /** A stop waits for this: a message put into a retry queue but not acknowledged would exist twice. */
  private setAside(
    channel: Channel,
    aside: SetAsideMessages | undefined,
    rejected: RefusedMessage,
    refusal: Refusal,
  ): void {
    const settled = this.settleRejected(channel, aside, rejected, refusal).catch(() => {}); // RabbitMQ redelivers it
    this.settling.add(settled);
    void settled.then(() => this.settling.delete(settled));
  }

  private async settleRejected(
    channel: Channel,
    aside: SetAsideMessages | undefined,
    rejected: RefusedMessage,
    refusal: Refusal,
  ): Promise<void> {
    const { message } = rejected;
    const now = this.context.clock.now();
    const isForNow = refusal.kind !== "permanent" && aside !== undefined;
    const left = isForNow ? await aside.postpone(rejected, now) : "exhausted";
    if (left === "postponed") return channel.ack(message);
    if (left === "exhausted" && (await aside?.deadLetter(rejected, refusal, now))) return channel.ack(message);
    if (left === "exhausted" && this.hasDeadLetterExchange) return channel.nack(message, false, false);
    this.logRejected(left === "gone" ? `${refusal.message}; its retry queue is gone` : refusal.message);
    await this.loop.pause(MAX_WAIT_MS);
    channel.nack(message, false, true);
  }

  private get retryDelays(): readonly number[] {
    return this.config.declare?.retry_delays ?? [];
  }

  /** Where rejected messages are published with the reason; undefined if that is not known. */
  private get deadLetterTarget(): DeadLetterTarget | undefined {
    const { declare, dead_letter_exchange: exchange } = this.config;
    if (declare !== undefined) return deadLetterTarget(this.queue, declare);
    return exchange === undefined ? undefined : { exchange, routingKey: this.queue };
  }

  private get hasDeadLetterExchange(): boolean {
    const { declare, has_dead_letter_exchange } = this.config;
    return this.deadLetterTarget !== undefined || (declare === undefined && has_dead_letter_exchange);
  }
}

/**
 * The client library recurses for every level of nesting, loses its connection over it, and gets the same message
 * again.
 */
const UNREADABLE_HEADERS =
  "a message has headers that are nested thousands of levels deep, which the client library cannot read; all later messages wait until you remove it from the queue";

/**
 * A message as the rest of the agent sees it. Its properties are computed on demand, because OTLP needs none of them.
 */
class QueueMessage implements IncomingMessage {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, unknown>>;
  private readonly message: ConsumeMessage;
  private readonly queue: string;
  private deliveryId: string | undefined;

  constructor(message: ConsumeMessage, queue: string) {
    this.message = message;
    this.queue = queue;
    this.body = message.content;
    this.headers = message.properties.headers ?? {};
  }

  get facts(): Readonly<Record<string, unknown>> {
    const { fields, properties } = this.message;
    return {
      "messaging.system": "rabbitmq",
      "messaging.destination.name": this.queue,
      "messaging.rabbitmq.exchange": fields.exchange,
      "messaging.rabbitmq.destination.routing_key": fields.routingKey,
      "messaging.message.id": properties.messageId,
      "messaging.message.conversation_id": properties.correlationId,
      "messaging.message.content_type": properties.contentType,
      "messaging.message.type": properties.type,
      ...(fields.redelivered && { [REDELIVERED_ATTRIBUTE]: true }),
    };
  }

  /** RabbitMQ has no id for a message, so only its sender can give it one that it keeps when it is delivered again. */
  get id(): string {
    const { messageId } = this.message.properties;
    if (!this.isIdOfDelivery) return `${this.queue}/${messageId as string}`;
    this.deliveryId ??= `${this.queue}#${randomUUID()}`;
    return this.deliveryId;
  }

  get isIdOfDelivery(): boolean {
    const { messageId } = this.message.properties;
    return typeof messageId !== "string" || messageId === "";
  }

  /** AMQP timestamps are seconds, but many senders write milliseconds. */
  get sentAtMs(): number | undefined {
    const { timestamp } = this.message.properties;
    if (typeof timestamp !== "number") return undefined;
    return timestamp < YEAR_5138_S ? timestamp * 1000 : timestamp;
  }
}

const YEAR_5138_S = 1e11;

/** One entry of the history that RabbitMQ keeps in a dead-lettered message. */
interface Death {
  readonly queue?: unknown;
  readonly reason?: unknown;
  readonly count?: unknown;
}

/** Turns RabbitMQ's record of how a message got into a dead-letter queue into the reason of our dead letter. */
function describeDeath({ properties }: ConsumeMessage): Setback {
  const own = setbackOfHeaders(properties.headers ?? {});
  if (own !== undefined) return own;
  const history: unknown = properties.headers?.["x-death"];
  const deaths = Array.isArray(history) ? (history as Death[]) : [];
  const lines = deaths.map(
    ({ queue, reason, count }) => `${String(reason)} in ${String(queue)} (${String(count)} times)`,
  );
  const message =
    lines.length === 0 ? "it was in a dead-letter queue" : `dead-lettered by RabbitMQ: ${lines.join(", ")}`;
  return { reason: "imported", category: "integration", code: ERROR_CODES.SLUICE_BROKER_DEAD_LETTER, message };
}
