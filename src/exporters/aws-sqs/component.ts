import { type MessageEncoding, OldestFirstMap, type WrittenMessage, writeMessages } from "#brokers";
import { refusedSqsSignal, SqsClient, SqsQueue, type SqsQueueAddress, sqsQueueOf } from "#brokers/sqs";
import { defineBuiltInExporter } from "#contract/built-in";
import { chooseRefusal, copyRefusal, toRefusal } from "#contract/errors";
import {
  type Batch,
  type Exporter,
  type ExporterContext,
  type Refusal,
  type SendOptions,
  SIGNALS,
  type Signal,
} from "../../plugin.js";
import { type AwsSqsExporterConfig, awsSqsExporterSchema } from "./config.js";
import { entryOf, formerQueue } from "./outgoing-message.js";
import { sendMessages } from "./send-messages.js";

/** Sends messages to SQS. A batch is delivered when SQS has confirmed each of its messages. */
export const awsSqsExporter = defineBuiltInExporter<AwsSqsExporterConfig>({
  type: "aws_sqs",
  summary: "Sends messages to queues of Amazon SQS, with deduplication ids in FIFO queues.",
  signals: SIGNALS,
  defaults: { sending_queue: { merge_backlog: false } },
  schema: awsSqsExporterSchema,
  refusesSignal: refusedSqsSignal,
  create: (config, context) => new AwsSqsExporter(config, context),
});

interface SqsTarget {
  readonly queue: SqsQueue;
  readonly encoding: MessageEncoding;
}

/** The number of messages to remember that were taken, while others of their batch were not. */
const MAX_REMEMBERED = 10_000;

class AwsSqsExporter implements Exporter {
  private readonly config: AwsSqsExporterConfig;
  private readonly context: ExporterContext;
  private readonly clients: SqsClient[] = [];
  private readonly targets = new Map<Signal, SqsTarget>();
  private readonly formerQueues = new Map<string, SqsQueue>();
  /** Messages that SQS has taken, by queue and key. They are skipped when the rest of their batch is sent again. */
  private readonly taken = new OldestFirstMap<true>();

  constructor(config: AwsSqsExporterConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
  }

  async start(): Promise<void> {
    const queues = new Map<SqsQueueAddress, SqsQueue>();
    for (const signal of SIGNALS) {
      const found = sqsQueueOf(this.config, signal);
      if (found === undefined) continue;
      const { address, encoding } = found;
      const queue = queues.get(address) ?? (await this.openQueue(address));
      queues.set(address, queue);
      this.targets.set(signal, { queue, encoding });
    }
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const { queue, encoding } = this.targets.get(batch.signal)!;
    const messages = writeMessages(batch, encoding, options);
    const results = Array.from<Refusal | undefined>({ length: messages.length });
    const queues = this.byQueue(messages, queue);
    for (const [target, indexes] of queues) {
      const left = indexes.filter((i) => !this.taken.has(takenKey(target, messages[i]!)));
      const facts = { signal: batch.signal, encoding, isFifo: target.isFifo };
      const entries = left.map((i) => entryOf(messages[i]!, facts, this.config));
      const refusals = await sendMessages(target, entries, this.config.max_message_size, abort);
      for (const [at, i] of left.entries()) results[i] = refusals[at];
    }
    this.remember(queues, messages, results);
    throwIfRefused(results, batch.count);
  }

  /** Asks for an attribute of each queue. An answer without the permission for it is an answer too. */
  async check(abort: AbortSignal): Promise<void> {
    for (const queue of new Set([...this.targets.values()].map((target) => target.queue))) {
      try {
        await queue.call("GetQueueAttributes", { AttributeNames: ["QueueArn"] }, abort);
      } catch (error) {
        if (toRefusal(error).kind !== "permanent") throw error;
      }
    }
  }

  async stop(): Promise<void> {
    for (const client of this.clients) client.stop();
  }

  private async openQueue(address: SqsQueueAddress): Promise<SqsQueue> {
    const client = new SqsClient(this.config, address, this.context);
    this.clients.push(client);
    await client.start();
    return new SqsQueue(client, address);
  }

  private byQueue(messages: readonly WrittenMessage[], queue: SqsQueue): Map<SqsQueue, number[]> {
    const indexes = new Map<SqsQueue, number[]>();
    for (const [i, message] of messages.entries()) {
      const former = this.config.back_to_queue ? formerQueue(message) : undefined;
      const target = former === undefined ? queue : this.formerQueue(former, queue);
      indexes.set(target, [...(indexes.get(target) ?? []), i]);
    }
    return indexes;
  }

  private formerQueue(name: string, near: SqsQueue): SqsQueue {
    const queue = this.formerQueues.get(name) ?? near.other(name);
    this.formerQueues.set(name, queue);
    return queue;
  }

  /** Remembers what was taken as long as something of the batch is left to send. */
  private remember(
    queues: ReadonlyMap<SqsQueue, readonly number[]>,
    messages: readonly WrittenMessage[],
    results: readonly (Refusal | undefined)[],
  ): void {
    const isLeft = results.some((refusal) => refusal !== undefined);
    if (!isLeft && this.taken.size === 0) return;
    for (const [queue, indexes] of queues) {
      for (const i of indexes) {
        if (results[i] !== undefined) continue;
        const key = takenKey(queue, messages[i]!);
        if (isLeft) this.taken.set(key, true);
        else this.taken.delete(key);
      }
    }
    while (this.taken.size > MAX_REMEMBERED) this.taken.delete(this.taken.oldest!);
  }
}

function takenKey({ name }: SqsQueue, message: WrittenMessage): string {
  return `${name}/${message.key}`;
}

/**
 * Throws if messages were not taken. If SQS will never take some of them, the queue is told which ones are left (see
 * `Undelivered`), each by itself, so that the others are not sent again. Otherwise the batch is sent again as it is, with
 * the same keys.
 */
function throwIfRefused(results: readonly (Refusal | undefined)[], records: number): void {
  const refusals = results.filter((refusal) => refusal !== undefined);
  if (refusals.length === 0) return;
  const chosen = refusals.reduce(chooseRefusal);
  if (!refusals.some(isForGood) || results.length === 1 || results.length !== records) throw chosen;
  const marks = Uint16Array.from(results, (refusal, i) => {
    if (refusal === undefined) return 0;
    return isForGood(refusal) ? Math.min(i + 2, MAX_SHARES) : 1;
  });
  const kind = chosen.kind === "permanent" ? "transient" : chosen.kind;
  throw copyRefusal(chosen, { kind, undelivered: { marks, isOutage: false } });
}

const MAX_SHARES = 65_535;

/** Whether the message itself is why it was refused. */
function isForGood({ kind, category }: Refusal): boolean {
  return kind === "permanent" && category !== "integration";
}
