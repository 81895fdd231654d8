import type { SqsQueue } from "#brokers/sqs";
import { pause, withTimeout } from "#resilience";
import type { ReceiverContext } from "../../plugin.js";
import type { ReceivedMessage } from "./incoming-message.js";

/** A message that this agent has received, and neither deleted nor given back. */
export interface HeldMessage {
  readonly message: ReceivedMessage;
  /** The receipt of the newest delivery. SQS does not always accept older ones. */
  receipt: string;
}

/** How long a request may take. */
export const REQUEST_LIMIT_MS = 10_000;

/**
 * The messages that this agent holds. As long as it does, SQS is told three times per `visibility_timeout` to hide them
 * from others.
 */
export class HeldMessages {
  private readonly queue: SqsQueue;
  private readonly visibilityMs: number;
  private readonly context: ReceiverContext;
  private readonly held = new Map<string, HeldMessage>();
  private readonly givenBack = new Map<HeldMessage, number>();
  private extending: Promise<void> = Promise.resolve();
  private returning: Promise<void> | undefined;
  private cancelTimer = () => {};
  private isStopped = false;
  /** How many messages have been deleted or given back. */
  releases = 0;
  private wakes: (() => void)[] = [];

  constructor(queue: SqsQueue, visibilityMs: number, context: ReceiverContext) {
    this.queue = queue;
    this.visibilityMs = visibilityMs;
    this.context = context;
  }

  get size(): number {
    return this.held.size;
  }

  start(): void {
    if (this.isStopped) return;
    this.cancelTimer = this.context.clock.after(this.visibilityMs / 3, () => {
      this.extending = this.extend();
      void this.extending.then(() => this.start());
    });
  }

  /** Hides nothing any more. Resolves when no request is under way. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancelTimer();
    await this.extending;
    await this.returning;
  }

  /** Returns undefined if the message is held already; then only its new receipt is kept. */
  add(message: ReceivedMessage): HeldMessage | undefined {
    const known = this.held.get(message.MessageId);
    if (known !== undefined) {
      known.receipt = message.ReceiptHandle;
      return undefined;
    }
    const held = { message, receipt: message.ReceiptHandle };
    this.held.set(message.MessageId, held);
    return held;
  }

  /** To be called when the message was deleted. */
  release({ message: { MessageId } }: HeldMessage): void {
    this.held.delete(MessageId);
    this.releases += 1;
    this.wake();
  }

  /** Resolves when a message has been deleted or given back or `wake` is called, and at the latest after this time. */
  nextRelease(ms: number): Promise<void> {
    const woken = new AbortController();
    this.wakes.push(() => woken.abort());
    return pause(ms, this.context.clock, woken.signal);
  }

  /** Ends the wait for a release. */
  wake(): void {
    for (const wake of this.wakes.splice(0)) wake();
  }

  /**
   * Lets SQS hand the message out again after this time. If SQS cannot be told, that happens after
   * `visibility_timeout`.
   */
  giveBack(held: HeldMessage, delayMs: number): Promise<void> {
    this.givenBack.set(held, delayMs);
    this.returning ??= this.returnAll();
    return this.returning;
  }

  private async returnAll(): Promise<void> {
    await this.extending; // an extension that comes later would hide the message again
    while (this.givenBack.size > 0) {
      const messages = [...this.givenBack];
      this.givenBack.clear();
      for (const [held] of messages) this.release(held);
      await this.change(messages);
    }
    this.returning = undefined;
  }

  private async extend(): Promise<void> {
    const messages = [...this.held.values()].filter((held) => !this.givenBack.has(held));
    await this.change(messages.map((held) => [held, this.visibilityMs]));
  }

  /** An expired receipt is no problem: the message is redelivered. */
  private async change(messages: readonly (readonly [HeldMessage, number])[]): Promise<void> {
    const entries = messages.map(([{ receipt }, ms]) => ({
      ReceiptHandle: receipt,
      VisibilityTimeout: Math.ceil(ms / 1000),
    }));
    await withTimeout(REQUEST_LIMIT_MS, this.context.clock, [], (abort) =>
      this.queue.callInBatches("ChangeMessageVisibilityBatch", entries, abort),
    );
  }
}
