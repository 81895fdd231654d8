import { OldestFirstMap } from "#brokers";
import type { SqsQueue } from "#brokers/sqs";
import { jittered, withTimeout } from "#resilience";
import type { ReceiverContext } from "../../plugin.js";
import { type HeldMessage, type HeldMessages, REQUEST_LIMIT_MS } from "./held-messages.js";

/** The number of deleted messages to remember, in case SQS hands one out again. */
const MAX_REMEMBERED = 10_000;
const RETRY_MS = 1000;

/**
 * Deletes the messages whose data is safe. A message stays held until SQS has confirmed its deletion, and failed
 * deletions are repeated.
 */
export class Deletions {
  private readonly queue: SqsQueue;
  private readonly held: HeldMessages;
  private readonly context: ReceiverContext;
  private readonly onFailure: (reason: string) => void;
  private readonly pending = new Set<HeldMessage>();
  private readonly safe = new OldestFirstMap<true>();
  private deleting: Promise<void> | undefined;
  private cancelRetry = () => {};

  constructor(queue: SqsQueue, held: HeldMessages, context: ReceiverContext, onFailure: (reason: string) => void) {
    this.queue = queue;
    this.held = held;
    this.context = context;
    this.onFailure = onFailure;
  }

  /** Whether the data of the message is safe, so that it need only be deleted. */
  has(messageId: string): boolean {
    return this.safe.has(messageId);
  }

  add(message: HeldMessage): void {
    this.safe.set(message.message.MessageId, true);
    if (this.safe.size > MAX_REMEMBERED) this.safe.delete(this.safe.oldest!);
    this.pending.add(message);
    void this.flush();
  }

  /** Resolves when SQS has been asked to delete everything there is. */
  flush(): Promise<void> {
    this.cancelRetry();
    this.deleting ??= this.deleteAll();
    return this.deleting;
  }

  /** Gives up what SQS has not confirmed. It will hand these messages out again. */
  stop(): void {
    this.cancelRetry();
  }

  private async deleteAll(): Promise<void> {
    await Promise.resolve(); // outcomes of the same tick share a request
    let failed: string | undefined;
    while (this.pending.size > 0 && failed === undefined) failed = await this.deleteRound([...this.pending]);
    this.deleting = undefined;
    if (failed === undefined) return;
    this.onFailure(failed);
    this.cancelRetry = this.context.clock.after(jittered(RETRY_MS, this.context), () => void this.flush());
  }

  /** Returns why some messages must be tried again. */
  private async deleteRound(messages: readonly HeldMessage[]): Promise<string | undefined> {
    const entries = messages.map(({ receipt }) => ({ ReceiptHandle: receipt }));
    const refusals = await withTimeout(REQUEST_LIMIT_MS, this.context.clock, [], (abort) =>
      this.queue.callInBatches("DeleteMessageBatch", entries, abort),
    );
    let failed: string | undefined;
    for (const [i, message] of messages.entries()) {
      const refusal = refusals[i];
      // SQS no longer accepts an expired receipt. It redelivers the message with a new one.
      const isOver = refusal === undefined || (refusal.kind === "permanent" && refusal.category === "schema");
      if (isOver) {
        this.pending.delete(message);
        this.held.release(message);
      } else failed = refusal.message;
    }
    return failed;
  }
}
