import type { Origin, ReceiverContext, Setback } from "#contract";
import { ACCEPTED, type Outcome } from "#contract";
import { ERROR_CODES, Refusal } from "#contract/errors";
import type { Batch } from "#otlp";
import { isMalformed } from "#otlp/signals";
import { BatchIntake, type BatchIntakeSettings, type MessageOutcome } from "#receiving";
import type { Dedup } from "../dedup/dedup.js";
import { type IncomingMessage, MESSAGE_HEADERS, type MessageEncoding } from "./message.js";
import { readMessage, wholeMessage } from "./read-message.js";

export interface MessageIntakeSettings extends BatchIntakeSettings {
  readonly encoding: MessageEncoding;
  readonly maxMessageBytes: number;
  /** Has the last word on what was read, such as attributes from headers. */
  readonly complete?: ((batch: Batch, message: IncomingMessage) => Batch) | undefined;
  /** Recognises messages that were taken before, by the key of their sender or the broker's name for them. */
  readonly dedup?: Dedup | undefined;
}

/**
 * Where the messages of one signal go in. What is not readable is handed in as a dead letter with its original bytes and
 * headers; all else is as `BatchIntake` has it. As a broker hands out only so many unacknowledged messages, those that wait
 * here are the back-pressure.
 */
export class MessageIntake {
  private readonly settings: MessageIntakeSettings;
  private readonly batches: BatchIntake;
  private readonly inProgress = new Set<Promise<unknown>>();

  /** The receiver must have a pipeline for the signal. */
  constructor(settings: MessageIntakeSettings, context: ReceiverContext) {
    this.settings = settings;
    this.batches = new BatchIntake(settings, context);
  }

  /** Never rejects. With a `setback` the message is kept as a dead letter, whatever it is. */
  accept(message: IncomingMessage, setback?: Setback): Promise<MessageOutcome> {
    const { batch, setback: unread } = this.read(message);
    const reason = setback ?? unread;
    const origin = this.originOf(message);
    const { dedup } = this.settings;
    const key = dedup && keyOf(message);
    if (dedup === undefined || key === undefined || batch.count === 0)
      return this.batches.accept(batch, origin, reason);
    const outcome = this.acceptOnce(dedup, key, batch, origin, reason);
    this.inProgress.add(outcome);
    void outcome.then(() => this.inProgress.delete(outcome));
    return outcome;
  }

  /** Ends all waits, and resolves when every message has its outcome. */
  async stop(): Promise<void> {
    await this.batches.stop();
    await Promise.all(this.inProgress);
  }

  /** What was taken before is taken. Its origin has a key: so it is known again also by queues that had taken it when the agent died. */
  private async acceptOnce(
    dedup: Dedup,
    key: string,
    batch: Batch,
    origin: Partial<Origin>,
    setback: Setback | undefined,
  ): Promise<MessageOutcome> {
    let outcome: MessageOutcome = { kind: "taken" };
    await dedup.accept(key, batch, async (fresh, identity) => {
      outcome = await this.batches.accept(fresh, { ...origin, key: identity() }, setback);
      return outcome.kind === "taken" ? ACCEPTED : NOT_TAKEN;
    });
    return outcome;
  }

  private read(message: IncomingMessage): { batch: Batch; setback?: Setback | undefined } {
    const { signal, encoding, maxMessageBytes, complete } = this.settings;
    const { length } = message.body;
    if (length > maxMessageBytes) {
      const reason = `the message has ${length} bytes; max_message_size is ${maxMessageBytes}`;
      return { batch: wholeMessage(signal, message), setback: unreadable(reason) };
    }
    try {
      const batch = readMessage(signal, encoding, message);
      return { batch: complete?.(batch, message) ?? batch };
    } catch (error) {
      if (!isMalformed(error)) throw error;
      const reason = `the message is no ${signal} in ${encoding}: ${error.message}`;
      return { batch: wholeMessage(signal, message), setback: unreadable(reason) };
    }
  }

  private originOf({ headers }: IncomingMessage): Partial<Origin> {
    const metadata = new Map<string, readonly string[]>();
    for (const [name, value] of Object.entries(headers)) {
      if (typeof value === "string") metadata.set(name.toLowerCase(), [value]);
    }
    const { transport } = this.settings;
    return metadata.size === 0 ? { transport } : { transport, metadata };
  }
}

/** The key that the sender gave it, or else what the broker knows it by. */
function keyOf({ headers, id }: IncomingMessage): string | undefined {
  const given = headers[MESSAGE_HEADERS.idempotencyKey];
  return typeof given === "string" && given !== "" ? given : id;
}

const NOT_TAKEN: Outcome = { ok: false, refusal: new Refusal("transient", "the message was not taken") };

function unreadable(message: string): Setback {
  return { reason: "rejected", category: "schema", code: ERROR_CODES.SLUICE_MESSAGE_UNREADABLE, message };
}
