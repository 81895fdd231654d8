import type { ReceiverContext } from "../../contract/component.js";
import type { Setback } from "../../contract/dead-letter.js";
import type { Origin } from "../../contract/delivery.js";
import { ERROR_CODES } from "../../contract/error-codes.js";
import type { Batch } from "../../telemetry/batch.js";
import { isMalformed } from "../../telemetry/bytes/malformed.js";
import { BatchIntake, type BatchIntakeSettings, type MessageOutcome } from "./batch-intake.js";
import type { IncomingMessage, MessageEncoding } from "./message.js";
import { readMessage, wholeMessage } from "./read-message.js";

export interface MessageIntakeSettings extends BatchIntakeSettings {
  readonly encoding: MessageEncoding;
  readonly maxMessageBytes: number;
  /** Has the last word on what was read, such as attributes from headers. */
  readonly complete?: ((batch: Batch, message: IncomingMessage) => Batch) | undefined;
}

/**
 * Where the messages of one signal go in. What is not readable is handed in as a dead letter with its original bytes and
 * headers; all else is as `BatchIntake` has it. As a broker hands out only so many unacknowledged messages, those that wait
 * here are the back-pressure.
 */
export class MessageIntake {
  private readonly settings: MessageIntakeSettings;
  private readonly batches: BatchIntake;

  /** The receiver must have a pipeline for the signal. */
  constructor(settings: MessageIntakeSettings, context: ReceiverContext) {
    this.settings = settings;
    this.batches = new BatchIntake(settings, context);
  }

  /** How many messages have no outcome yet. */
  get size(): number {
    return this.batches.size;
  }

  /** Never rejects. With a `setback` the message is kept as a dead letter, whatever it is. */
  async accept(message: IncomingMessage, setback?: Setback): Promise<MessageOutcome> {
    const { batch, setback: unread } = this.read(message);
    return this.batches.accept(batch, this.originOf(message), setback ?? unread);
  }

  /** Ends all waits, and resolves when every message has its outcome. */
  stop(): Promise<void> {
    return this.batches.stop();
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

function unreadable(message: string): Setback {
  return { reason: "rejected", category: "schema", code: ERROR_CODES.SLUICE_MESSAGE_UNREADABLE, message };
}
