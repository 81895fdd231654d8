import type { Channel, ChannelModel, ConfirmChannel, ConsumeMessage } from "amqplib";
import { limitedLog, type ReceiverContext } from "../../plugin.js";
import {
  closeConnection,
  connectionErrorMessage,
  type IncomingMessage,
  MessageIntake,
  type MessageIntakeSettings,
  type MessageOutcome,
  type RabbitClient,
  waitAtMost,
} from "../../runtime/kit.js";
import type { RabbitmqReceiverConfig } from "./config.js";
import { describeDeath } from "./death.js";
import { declareTopology, retryQueue } from "./topology.js";

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 10_000;
/** How long declaring a queue and beginning to read it may take. */
const SETUP_LIMIT_MS = 30_000;
const LATE = Symbol("late");
/** With retry queues a message that is refused so often waits there, and another gets its place here. */
const TRIES_BEFORE_RETRY_QUEUE = 5;
/** How often a message has been in a retry queue. */
const RETRIES_HEADER = "x-retry-count";

/**
 * Reads one queue, for as long as it takes: a connection or a queue that is gone is looked for again and again.
 *
 * A message is acknowledged when every exporter behind has it on disk and not before, on the channel it came from. When that
 * is gone, RabbitMQ hands the message out again: it may arrive twice, and is never lost.
 */
export class QueueReader {
  private readonly queue: string;
  private readonly config: RabbitmqReceiverConfig;
  private readonly client: RabbitClient;
  private readonly context: ReceiverContext;
  private readonly intake: MessageIntake;
  private readonly logRejected: (message: string) => void;
  private connection: ChannelModel | undefined;
  private consuming: { readonly channel: Channel; readonly tag: string } | undefined;
  private cancelWait = () => {};
  private isStopping = false;
  private finished: Promise<void> = Promise.resolve();

  constructor(
    queue: string,
    settings: Pick<MessageIntakeSettings, "signal" | "encoding" | "dedup">,
    config: RabbitmqReceiverConfig,
    client: RabbitClient,
    context: ReceiverContext,
  ) {
    this.queue = queue;
    this.config = config;
    this.client = client;
    this.context = context;
    const retries = this.retryDelays.length > 0 ? { maxTries: TRIES_BEFORE_RETRY_QUEUE } : {};
    const limits = { transport: "rabbitmq", maxMessageBytes: config.max_message_size };
    this.intake = new MessageIntake({ ...settings, ...limits, ...retries }, context);
    this.logRejected = limitedLog<string>(context.clock, (reason, suppressed) =>
      context.logger.error(
        { queue, reason, suppressed },
        "a message can be neither taken nor kept as a dead letter, and its queue has no dead-letter exchange: it stays in the queue",
      ),
    );
  }

  /** Resolves after the first try to read, however it went. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.finished = this.run(resolve);
    });
  }

  /** Takes nothing new, waits for the outcome of all that was handed in, and gives back what only waited. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.cancelWait();
    const { consuming } = this;
    if (consuming !== undefined) consuming.channel.cancel(consuming.tag).catch(() => {});
    await this.intake.stop();
    if (this.connection !== undefined) await closeConnection(this.connection);
    await this.finished;
  }

  private async run(onFirst: () => void): Promise<void> {
    let said: string | undefined;
    for (let failures = 0; !this.isStopping; ) {
      const problem = await this.read(() => {
        failures = 0;
        said = undefined;
        onFirst();
      });
      onFirst();
      if (this.isStopping) return;
      const { logger } = this.context;
      const facts = { queue: this.queue, peer: this.client.peer, reason: problem };
      if (problem === said) logger.debug(facts, "RabbitMQ still cannot be read");
      else logger.warn(facts, "RabbitMQ cannot be read; trying again until it can");
      said = problem;
      await this.wait(Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** failures++));
    }
  }

  /** Reads until it cannot any more, and gives the reason. */
  private async read(onReading: () => void): Promise<string> {
    let problem = "the connection was closed";
    const note = (error: Error) => {
      problem = connectionErrorMessage(error);
    };
    try {
      const connection = await this.client.connect(note);
      this.connection = connection;
      const closed = new Promise<void>((resolve) => connection.on("close", () => resolve()));
      try {
        const { ended } = await this.answered(this.consume(connection, note));
        onReading();
        if (!this.isStopping) await Promise.race([closed, ended]);
      } finally {
        this.consuming = undefined;
        if (!this.isStopping) await closeConnection(connection);
        else await closed;
        this.connection = undefined;
      }
    } catch (error) {
      note(error as Error);
    }
    return problem;
  }

  /** A queue whose leader is gone may keep RabbitMQ from answering, while the connection lives on: then all begins anew. */
  private async answered<T>(work: Promise<T>): Promise<T> {
    const answer = await waitAtMost(SETUP_LIMIT_MS, work, this.context.clock, () => LATE);
    if (answer === LATE) throw new Error(`RabbitMQ does not answer for the queue within ${SETUP_LIMIT_MS / 1000} s`);
    return answer as T;
  }

  /** `ended` resolves when RabbitMQ hands out nothing on this channel any more. */
  private async consume(
    connection: ChannelModel,
    note: (error: Error) => void,
  ): Promise<{ readonly ended: Promise<void> }> {
    const hasRetries = this.retryDelays.length > 0;
    const channel = await (hasRetries ? connection.createConfirmChannel() : connection.createChannel());
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    channel.on("error", note);
    channel.on("close", end);
    const { declare, prefetch } = this.config;
    if (declare !== undefined) await declareTopology(channel, this.queue, declare);
    await channel.prefetch(prefetch);
    const { consumerTag } = await channel.consume(this.queue, (message) => {
      if (message !== null) return this.take(channel, message);
      note(new Error("the queue was deleted, or its leader has moved"));
      end();
    });
    this.consuming = { channel, tag: consumerTag };
    this.context.logger.info({ queue: this.queue, peer: this.client.peer }, "reading from RabbitMQ");
    return { ended };
  }

  private take(channel: Channel, message: ConsumeMessage): void {
    const setback = this.config.as_dead_letters ? describeDeath(message) : undefined;
    void this.intake.accept(toIncoming(message, this.queue), setback).then(async (outcome) => {
      try {
        await this.settle(channel, message, outcome);
      } catch {
        // The channel is gone: RabbitMQ hands the message out again.
      }
    });
  }

  private async settle(channel: Channel, message: ConsumeMessage, outcome: MessageOutcome): Promise<void> {
    if (outcome.kind === "taken") return channel.ack(message);
    if (outcome.kind === "returned") return channel.nack(message, false, true);
    const { refusal } = outcome;
    if (refusal.kind !== "permanent" && (await this.postpone(channel as ConfirmChannel, message))) return;
    if (this.hasDeadLetterExchange) return channel.nack(message, false, false);
    this.logRejected(refusal.message);
    await this.wait(MAX_WAIT_MS);
    channel.nack(message, false, true);
  }

  /** False when it has been in every retry queue. It is acknowledged once RabbitMQ has confirmed that it has it there. */
  private async postpone(channel: ConfirmChannel, message: ConsumeMessage): Promise<boolean> {
    const retries = Number(message.properties.headers?.[RETRIES_HEADER] ?? 0);
    const delay = this.retryDelays[retries];
    if (delay === undefined) return false;
    const headers = { ...message.properties.headers, [RETRIES_HEADER]: retries + 1 };
    const options = { ...message.properties, headers, persistent: true };
    await new Promise<void>((resolve, reject) => {
      const onConfirm = (error: unknown) => (error ? reject(error) : resolve());
      channel.sendToQueue(retryQueue(this.queue, delay), message.content, options, onConfirm);
    });
    channel.ack(message);
    return true;
  }

  private get retryDelays(): readonly number[] {
    return this.config.declare?.retry_delays ?? [];
  }

  private get hasDeadLetterExchange(): boolean {
    return this.config.declare?.dead_letter ?? this.config.has_dead_letter_exchange;
  }

  private wait(ms: number): Promise<void> {
    if (this.isStopping) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.context.clock.after(ms, resolve);
      const before = this.cancelWait;
      this.cancelWait = () => {
        before();
        cancel();
        resolve();
      };
    });
  }
}

function toIncoming({ content, fields, properties }: ConsumeMessage, queue: string): IncomingMessage {
  const { messageId, correlationId, contentType, type, timestamp } = properties;
  return {
    body: content,
    headers: properties.headers ?? {},
    facts: {
      "messaging.system": "rabbitmq",
      "messaging.destination.name": queue,
      "messaging.rabbitmq.exchange": fields.exchange,
      "messaging.rabbitmq.destination.routing_key": fields.routingKey,
      "messaging.message.id": messageId,
      "messaging.message.conversation_id": correlationId,
      "messaging.message.content_type": contentType,
      "messaging.message.type": type,
    },
    id: typeof messageId === "string" && messageId !== "" ? `${queue}/${messageId}` : undefined,
    // RabbitMQ's timestamps are seconds.
    sentAtMs: typeof timestamp === "number" ? timestamp * 1000 : undefined,
  };
}
