import type { ConsumerMessages, JsMsg } from "@nats-io/jetstream";
import {
  type BrokerSource,
  type Dedup,
  isDeadLetterHeader,
  isNatsHeader,
  keyHeader,
  MessageIntake,
  type NatsLink,
  type NatsSession,
  natsErrorMessage,
  OldestFirstMap,
  rejectedHeaders,
} from "#brokers";
import type { BuiltInReceiverContext } from "#contract/built-in";
import { reasonLog, type SourceHealth } from "#contract/operations";
import type { MessageOutcome } from "#receiving";
import { backoff, ReadLoop } from "#resilience";
import { limitedLog, type Signal } from "../../plugin.js";
import type { NatsReceiverConfig } from "./config.js";
import { ensureConsumer } from "./ensure-consumer.js";
import { NatsMessage } from "./incoming-message.js";

const RETRY_MS = 1000;
/** How long a message that was refused for good is left alone before the next try. */
const REJECTED_DELAY_MS = 30_000;
/** The number of acknowledged messages to remember, in case an acknowledgement gets lost. */
const MAX_REMEMBERED = 10_000;

/**
 * Reads the messages of one durable consumer.
 *
 * - A message is acknowledged only when its outcome is `taken`. The server bounds the number of unacknowledged messages
 *   (`max_ack_pending`), so nothing waits here.
 * - While a message is being processed, the server is told so three times per `ack_wait`; otherwise it would redeliver
 *   the message.
 * - A message that is redelivered while its first copy is being processed, or after its acknowledgement was lost, is
 *   not handed in again.
 * - After any failure the consumer is opened again, because the stream may come back.
 */
export class NatsSource implements BrokerSource {
  private readonly signal: Signal;
  private readonly config: NatsReceiverConfig;
  private readonly link: NatsLink;
  private readonly context: BuiltInReceiverContext;
  private readonly intake: MessageIntake;
  private readonly logReason: (reason: string) => void;
  private readonly logRejected: (outcome: Extract<MessageOutcome, { kind: "rejected" }>) => void;
  /** The newest copy of each message in progress. */
  private readonly inProgress = new Map<string, JsMsg>();
  private readonly acknowledged = new OldestFirstMap<true>();
  private messages: ConsumerMessages | undefined;
  private readonly health: SourceHealth | undefined;
  private readonly loop: ReadLoop;
  private ackWaitMs: number;
  private stopProgress = () => {};

  constructor(
    signal: Signal,
    config: NatsReceiverConfig,
    link: NatsLink,
    context: BuiltInReceiverContext,
    dedup: Dedup | undefined,
  ) {
    this.signal = signal;
    this.config = config;
    this.link = link;
    this.context = context;
    const { encoding, subject, consumer } = config[signal];
    const { max_message_size: maxMessageBytes, stream } = config;
    this.intake = new MessageIntake({ signal, encoding, transport: "nats", maxMessageBytes, dedup }, context);
    this.ackWaitMs = config.ack_wait;
    const { clock, logger } = context;
    this.loop = new ReadLoop(clock);
    this.health = context.health?.source(subject, config.max_lag);
    this.logReason = reasonLog(clock, (reason, suppressed) =>
      logger.error({ stream, consumer, subject, reason, suppressed }, "cannot read from the stream; retrying"),
    );
    this.logRejected = limitedLog(clock, ({ refusal }, suppressed) =>
      logger.error(
        { stream, consumer, reason: refusal.message, suppressed },
        "a message is permanently refused and cannot be kept as a dead letter",
      ),
    );
  }

  start(): void {
    this.reportProgress();
    void this.loop.run({
      read: () => this.read(),
      onEnd: (error) => {
        if (error === undefined) return;
        this.health?.down(natsErrorMessage(error));
        this.logReason(natsErrorMessage(error));
      },
      delays: backoff({ first: RETRY_MS, max: RETRY_MS }, this.context),
    });
  }

  /** To be called when there is no connection. */
  reportDown(reason: string): void {
    this.health?.down(reason);
  }

  /** Resolves when every message has its outcome and the server has been told. */
  async stop(): Promise<void> {
    this.loop.stop();
    // The server keeps messages it has not handed out; messages on their way are returned to it.
    void this.messages?.close();
    await this.intake.stop();
    this.stopProgress();
  }

  private async read(): Promise<void> {
    const session = await this.link.connected();
    if (session !== undefined && !this.loop.isStopping) await this.consume(session);
  }

  /** Ends when no more messages come: the consumer or the stream is gone, or the receiver stops. */
  private async consume(session: NatsSession): Promise<void> {
    const { consumer, ackWaitMs } = await ensureConsumer(session, this.signal, this.config);
    this.ackWaitMs = ackWaitMs;
    if (this.loop.isStopping) return;
    const callback = (message: JsMsg) => void this.take(message, session);
    const messages = await consumer.consume({ callback, max_messages: MAX_PULLED, abort_on_missing_resource: true });
    this.messages = messages;
    this.health?.up();
    this.health?.setLag((await consumer.info(true).catch(() => undefined))?.num_pending ?? 0);
    if (this.loop.isStopping) void messages.close();
    // Without this the client would notice only by missing heartbeats, half a minute after the server is back.
    const forget = this.link.onceLost(() => void messages.close());
    try {
      const error = await messages.closed();
      if (error) throw error;
    } finally {
      forget();
      this.messages = undefined;
    }
  }

  private async take(message: JsMsg, session: NatsSession): Promise<void> {
    if (this.loop.isStopping) return tryAnswer(() => message.nak());
    const key = keyOf(message);
    if (message.redelivered && this.acknowledged.has(key)) return tryAnswer(() => message.ack());
    this.health?.setLag(message.info.pending);
    const isKnown = this.inProgress.has(key);
    this.inProgress.set(key, message);
    if (isKnown) return;
    const outcome = await this.intake.accept(new NatsMessage(message));
    const newest = this.inProgress.get(key)!;
    if (outcome.kind === "taken") this.acknowledge(key, newest);
    else if (outcome.kind === "returned") tryAnswer(() => newest.nak());
    else await this.setAside(key, newest, outcome, session);
    this.inProgress.delete(key);
  }

  private acknowledge(key: string, message: JsMsg): void {
    tryAnswer(() => message.ack());
    this.acknowledged.set(key, true);
    if (this.acknowledged.size > MAX_REMEMBERED) this.acknowledged.delete(this.acknowledged.oldest!);
  }

  /** A message may be acknowledged once it is stored at the other subject. Otherwise it stays in the stream. */
  private async setAside(
    key: string,
    message: JsMsg,
    outcome: Extract<MessageOutcome, { kind: "rejected" }>,
    { stream, transport }: NatsSession,
  ): Promise<void> {
    this.logRejected(outcome);
    const { dead_letter_subject: subject } = this.config;
    if (subject === undefined) return tryAnswer(() => message.nak(REJECTED_DELAY_MS));
    const headers = transport.headers();
    for (const [name, values] of message.headers ?? [])
      if (!isDeadLetterHeader(name) && !isNatsHeader(name)) for (const value of values) headers.append(name, value);
    const story = rejectedHeaders(outcome.refusal, message.subject, this.context.clock.now());
    const kept = keyHeader(new NatsMessage(message), this.context.id);
    for (const [name, value] of Object.entries({ ...story, ...kept })) headers.set(name, value);
    try {
      await stream.publish(subject, message.data, { headers });
      this.acknowledge(key, message);
    } catch (error) {
      this.logReason(natsErrorMessage(error));
      tryAnswer(() => message.nak(REJECTED_DELAY_MS));
    }
  }

  private reportProgress(): void {
    this.stopProgress = this.context.clock.after(this.ackWaitMs / 3, () => {
      for (const message of this.inProgress.values()) tryAnswer(() => message.working());
      this.reportProgress();
    });
  }
}

/**
 * Identifies a message across redeliveries. A recreated stream counts from the beginning, so the time tells its
 * messages from the old ones. The time is written in two parts because formatting the whole number takes twice as long.
 */
function keyOf({ info: { streamSequence, timestampNanos } }: JsMsg): string {
  return `${streamSequence}@${Math.floor(timestampNanos / NS_PER_S)}.${timestampNanos % NS_PER_S}`;
}

const NS_PER_S = 1e9;

/** Ignores errors: on a closed connection no answer is possible, and the server redelivers the message. */
function tryAnswer(give: () => void): void {
  try {
    give();
  } catch {
    // see the function's comment
  }
}

/** The number of messages requested ahead of the ones that have arrived. */
const MAX_PULLED = 500;
