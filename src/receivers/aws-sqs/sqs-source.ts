import {
  type BrokerSource,
  keyHeader,
  MessageIntake,
  type MessageIntakeSettings,
  rejectedHeaders,
  setbackOfHeaders,
} from "#brokers";
import { DEAD_LETTER_SOURCE_ATTRIBUTE, type SqsQueue } from "#brokers/sqs";
import type { BuiltInReceiverContext } from "#contract/built-in";
import { ERROR_CODES, errorMessage, toRefusal } from "#contract/errors";
import { reasonLog, type SourceHealth } from "#contract/operations";
import { waitAtMost } from "#contract/time";
import { atIntervals, backoff, ReadLoop, withTimeout } from "#resilience";
import { type Clock, limitedLog, type Refusal, type Setback } from "../../plugin.js";
import type { AwsSqsReceiverConfig } from "./config.js";
import { DeadLetterQueue } from "./dead-letter-queue.js";
import { Deletions } from "./deletions.js";
import { type HeldMessage, HeldMessages, REQUEST_LIMIT_MS } from "./held-messages.js";
import { type ReceivedMessage, readMessages, receiveCount, SqsMessage, SYSTEM_ATTRIBUTES } from "./incoming-message.js";

/** The limit of SQS. */
const MAX_MESSAGES = 10;
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 10_000;
/** How long a message that was refused for good is hidden before the next try. */
const REJECTED_DELAY_MS = 30_000;
/** With `retry_delays`, a message refused this often is given back, and another message gets its place here. */
const TRIES_BEFORE_RETURN = 1;
/**
 * How long a request waits at the server while messages are held here. A stop waits for it before it gives messages back:
 * a request that was given up could get them.
 */
const BUSY_WAIT_MS = 2000;
/**
 * A request that waits at a FIFO queue is not always answered when a deletion releases a group. So while messages are
 * held, requests do not wait there, but here for the next release, and at most this long. The same holds for a server
 * that does not wait.
 */
const EMPTY_WAIT_MS = 1000;
/** How long a stop waits for messages that may be on their way, and for the last deletions. */
const LAST_ANSWER_MS = 500;
const FLUSH_LIMIT_MS = 5000;

/**
 * Reads one queue.
 *
 * - A message is deleted only when its outcome is `taken`. Deletions that SQS has not confirmed are repeated; a message
 *   that is delivered again meanwhile is not handed in a second time.
 * - While a message is being processed, SQS is told to hide it from others. After a crash it appears again within
 *   `visibility_timeout`.
 * - No more messages are read than `max_in_flight` allows.
 * - Messages of a FIFO queue are handed in one by one within their group.
 */
export class SqsSource implements BrokerSource {
  private readonly queue: SqsQueue;
  private readonly config: AwsSqsReceiverConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly isBinary: boolean;
  private readonly intake: MessageIntake;
  private readonly held: HeldMessages;
  private readonly deletions: Deletions;
  private readonly groups = new MessageGroups();
  private readonly deadLetters: DeadLetterQueue | undefined;
  private readonly health: SourceHealth | undefined;
  private readonly loop: ReadLoop;
  private readonly polls = new AbortController();
  private readonly inProgress = new Set<Promise<void>>();
  private readonly logReason: (reason: string) => void;
  private readonly logRejected: (refusal: Refusal) => void;
  private running: Promise<unknown> = Promise.resolve();
  private endWatch = () => {};

  constructor(
    queue: SqsQueue,
    settings: Pick<MessageIntakeSettings, "signal" | "encoding" | "dedup">,
    config: AwsSqsReceiverConfig,
    context: BuiltInReceiverContext,
  ) {
    this.queue = queue;
    this.config = config;
    this.context = context;
    this.isBinary = settings.encoding === "otlp_proto";
    const { retry_delays, max_message_size: maxMessageBytes, dead_letter_queue: target } = config;
    const tries = retry_delays.length > 0 ? { maxTries: TRIES_BEFORE_RETURN } : {};
    this.intake = new MessageIntake({ ...settings, ...tries, transport: "aws_sqs", maxMessageBytes }, context);
    const { clock, logger } = context;
    this.loop = new ReadLoop(clock);
    this.health = context.health?.source(queue.name, config.max_lag);
    this.logReason = reasonLog(clock, (reason, suppressed) =>
      logger.error({ queue: queue.name, reason, suppressed }, "cannot read from the queue; retrying"),
    );
    this.logRejected = limitedLog(clock, ({ message: reason }, suppressed) =>
      logger.error(
        { queue: queue.name, reason, suppressed },
        "a message is permanently refused and cannot be kept as a dead letter",
      ),
    );
    this.held = new HeldMessages(queue, config.visibility_timeout, context);
    this.deletions = new Deletions(queue, this.held, context, this.logReason);
    this.deadLetters = target === undefined ? undefined : new DeadLetterQueue(queue.other(target), context.clock);
  }

  start(): void {
    this.held.start();
    if (this.health !== undefined) this.endWatch = watchQueue(this.queue, this.health, this.context.clock);
    const pollers = Array.from({ length: this.config.num_pollers }, () => this.poll());
    this.running = Promise.all(pollers);
  }

  /** Resolves when every message has its outcome and SQS has been told, or does not respond. */
  async stop(): Promise<void> {
    this.loop.stop();
    this.held.wake();
    this.endWatch();
    const limitMs = LAST_ANSWER_MS + (this.held.size > 0 ? BUSY_WAIT_MS : 0);
    await waitAtMost(limitMs, this.running, this.context.clock, () => this.polls.abort());
    await this.running;
    await this.intake.stop();
    await waitAtMost(FLUSH_LIMIT_MS, this.flush(), this.context.clock);
    this.deletions.stop();
  }

  private async flush(): Promise<void> {
    await Promise.all(this.inProgress);
    await this.deletions.flush();
    await this.held.stop();
  }

  private poll(): Promise<void> {
    const delays = backoff({ first: FIRST_WAIT_MS, max: MAX_WAIT_MS }, this.context);
    return this.loop.run({
      read: (onReading) => this.readMessages(onReading),
      onEnd: (error) => {
        this.health?.down(errorMessage(error));
        this.logReason(errorMessage(error));
      },
      delays: (failures, error) =>
        Math.max(delays(failures), Math.min(MAX_WAIT_MS, toRefusal(error).retryAfterMs ?? 0)),
    });
  }

  private async readMessages(onReading: () => void): Promise<void> {
    while (!this.loop.isStopping) {
      const room = this.config.max_in_flight - this.held.size;
      if (room <= 0) await this.held.nextRelease(MAX_WAIT_MS);
      else {
        const { releases } = this.held;
        const askedAt = this.context.clock.monotonic();
        const messages = await this.receive(Math.min(room, MAX_MESSAGES));
        onReading();
        this.health?.up();
        for (const message of messages) this.take(message);
        const isEarly = this.context.clock.monotonic() - askedAt < EMPTY_WAIT_MS;
        if (messages.length === 0 && isEarly && releases === this.held.releases)
          await this.held.nextRelease(EMPTY_WAIT_MS);
      }
    }
  }

  private async receive(count: number): Promise<ReceivedMessage[]> {
    const { wait_time, visibility_timeout } = this.config;
    const waitMs = this.held.size > 0 ? Math.min(wait_time, this.queue.isFifo ? 0 : BUSY_WAIT_MS) : wait_time;
    const request = {
      MaxNumberOfMessages: count,
      WaitTimeSeconds: Math.floor(waitMs / 1000),
      VisibilityTimeout: Math.ceil(visibility_timeout / 1000),
      MessageSystemAttributeNames: SYSTEM_ATTRIBUTES,
      MessageAttributeNames: ["All"],
    };
    const { clock } = this.context;
    const answer = await withTimeout(waitMs + REQUEST_LIMIT_MS, clock, [this.polls.signal], (abort) =>
      this.queue.call("ReceiveMessage", request, abort),
    );
    return readMessages(answer["Messages"]);
  }

  private take(message: ReceivedMessage): void {
    const held = this.held.add(message);
    if (held === undefined) return;
    if (this.loop.isStopping) return void this.held.giveBack(held, 0);
    if (this.deletions.has(message.MessageId)) return this.deletions.add(held);
    const group = this.queue.isFifo ? message.Attributes["MessageGroupId"] : undefined;
    const work = this.groups
      .inTurn(
        group,
        () => this.handIn(held),
        () => this.held.giveBack(held, 0),
      )
      .then(() => void this.inProgress.delete(work));
    this.inProgress.add(work);
  }

  /** Resolves with whether the message is done with. */
  private async handIn(held: HeldMessage): Promise<boolean> {
    const incoming = new SqsMessage(held.message, this.queue.name, this.isBinary);
    const setback = this.config.as_dead_letters ? describeDeath(incoming) : undefined;
    const outcome = await this.intake.accept(incoming, setback);
    const isDone =
      outcome.kind === "taken" ||
      (outcome.kind === "rejected" && (await this.setAside(held, incoming, outcome.refusal)));
    if (isDone) this.deletions.add(held);
    else if (outcome.kind === "returned") await this.held.giveBack(held, 0);
    return isDone;
  }

  /** Returns true once the message is in the dead-letter queue. Otherwise gives it back, to be redelivered later. */
  private async setAside(held: HeldMessage, incoming: SqsMessage, refusal: Refusal): Promise<boolean> {
    const { retry_delays: delays } = this.config;
    const count = receiveCount(held.message);
    if (refusal.kind !== "permanent") {
      await this.held.giveBack(held, delays[Math.min(count, delays.length) - 1]!);
      return false;
    }
    this.logRejected(refusal);
    const failure = rejectedHeaders(refusal, this.queue.name, this.context.clock.now(), { attempts: count });
    const story = { ...failure, ...keyHeader(incoming, this.context.id) };
    try {
      if (this.deadLetters === undefined) throw refusal;
      await this.deadLetters.add(held.message, story);
      return true;
    } catch (error) {
      if (error !== refusal) this.logReason(errorMessage(error));
      await this.held.giveBack(held, REJECTED_DELAY_MS);
      return false;
    }
  }
}

/** The reason of our dead letter: that in the headers of the message, or that of SQS. */
function describeDeath({ headers, facts }: SqsMessage): Setback {
  const own = setbackOfHeaders(headers);
  if (own !== undefined) return own;
  const source = facts[DEAD_LETTER_SOURCE_ATTRIBUTE];
  const message =
    source === undefined ? "it was in a dead-letter queue" : `SQS handed it out too often in ${String(source)}`;
  return { reason: "imported", category: "integration", code: ERROR_CODES.SLUICE_BROKER_DEAD_LETTER, message };
}

/** Messages of a FIFO queue that must keep their order. */
interface MessageGroup {
  last: Promise<void>;
  waiting: number;
  hasFailed: boolean;
}

/**
 * Keeps the order of message groups of a FIFO queue: the messages of a group are handled one after the other, and other
 * groups do not wait for them. If a message is not taken, those of its group behind it are skipped. SQS hands them out
 * again after that message.
 */
class MessageGroups {
  private readonly groups = new Map<string, MessageGroup>();

  /** Calls `handle`, which resolves with whether the message was taken, or `skip`. Without an id it does not wait. */
  async inTurn(id: string | undefined, handle: () => Promise<boolean>, skip: () => Promise<void>): Promise<void> {
    if (id === undefined) return void (await handle());
    const group = this.groups.get(id) ?? { last: Promise.resolve(), waiting: 0, hasFailed: false };
    this.groups.set(id, group);
    group.waiting += 1;
    const turn = group.last.then(async () => {
      if (group.hasFailed) await skip();
      else group.hasFailed = !(await handle());
    });
    group.last = turn.finally(() => {
      group.waiting -= 1;
      if (group.waiting === 0) this.groups.delete(id);
    });
    await group.last;
  }
}

const INTERVAL_MS = 10_000;

/**
 * Asks at intervals how many messages wait, and where SQS moves those that are not deleted. An agent without the
 * permission for that goes without. The returned function ends it.
 */
function watchQueue(queue: SqsQueue, health: SourceHealth, clock: Clock): () => void {
  const stopping = new AbortController();
  const AttributeNames = ["ApproximateNumberOfMessages", "RedrivePolicy"];
  const measure = async (abort: AbortSignal) => {
    const { Attributes = {} } = await queue.call("GetQueueAttributes", { AttributeNames }, abort);
    const { ApproximateNumberOfMessages: lag, RedrivePolicy: policy } = Attributes as Record<string, string>;
    if (lag !== undefined && Number.isFinite(Number(lag))) health.setLag(Number(lag));
    health.describe(redriveFacts(policy));
  };
  // The requests for messages say what is wrong.
  void atIntervals({ first: 0, interval: INTERVAL_MS }, clock, stopping.signal, () =>
    withTimeout(REQUEST_LIMIT_MS, clock, [stopping.signal], measure).catch(() => {}),
  );
  return () => stopping.abort();
}

/** The redrive policy of a queue: after how many deliveries SQS moves a message, and where to. */
function redriveFacts(policy: string | undefined): Readonly<Record<string, string | number>> {
  try {
    const { maxReceiveCount, deadLetterTargetArn } = JSON.parse(policy ?? "{}") as Record<string, unknown>;
    if (deadLetterTargetArn === undefined) return {};
    return { max_receive_count: Number(maxReceiveCount), dead_letter_queue: String(deadLetterTargetArn) };
  } catch {
    return {};
  }
}
