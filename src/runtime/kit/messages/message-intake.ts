import type { Intake, ReceiverContext } from "../../contract/component.js";
import type { Setback } from "../../contract/dead-letter.js";
import type { Outcome } from "../../contract/debt.js";
import type { Origin } from "../../contract/delivery.js";
import { ERROR_CODES } from "../../contract/error-codes.js";
import { BUSY_RETRY_AFTER_MS, type Refusal } from "../../contract/refusal.js";
import type { Batch } from "../../telemetry/batch.js";
import { isMalformed } from "../../telemetry/bytes/malformed.js";
import type { Signal } from "../../telemetry/bytes/signal.js";
import { type ReceiverCounters, receiverCounters } from "../receiver-counters.js";
import type { IncomingMessage, MessageEncoding } from "./message.js";
import { readMessage, wholeMessage } from "./read-message.js";

/**
 * What a broker is to be told of a message:
 *
 * - `taken`: every exporter behind has it on disk, or, for the reason that `setback` gives, has kept it as a dead letter:
 *   acknowledge.
 * - `rejected`: nobody can take it, and nobody here could keep it: the broker must. Its refusal says whether another time
 *   makes sense; with `maxTries` only.
 * - `returned`: we are stopping: the broker must hand it out again.
 */
export type MessageOutcome =
  | { readonly kind: "taken"; readonly setback?: Setback | undefined }
  | { readonly kind: "rejected"; readonly refusal: Refusal }
  | { readonly kind: "returned" };

export interface MessageIntakeSettings {
  readonly signal: Signal;
  readonly encoding: MessageEncoding;
  /** The broker's name, as `transport` in metrics. */
  readonly transport: string;
  readonly maxMessageBytes: number;
  /** Has the last word on what was read, such as attributes from headers. */
  readonly complete?: ((batch: Batch, message: IncomingMessage) => Batch) | undefined;
  /** After how many refusals for now a message is rejected with the last of them; it waits for ever unless told. */
  readonly maxTries?: number;
}

/**
 * Where the messages of one signal go in. What is not readable, or refused for good by a processor, is handed in again as
 * a dead letter with its original bytes and headers. What is refused for now waits here, unacknowledged, and is tried
 * again: as a broker hands out only so many unacknowledged messages, that is the back-pressure.
 */
export class MessageIntake {
  private readonly settings: MessageIntakeSettings;
  private readonly context: ReceiverContext;
  private readonly intake: Intake;
  private readonly counters: ReceiverCounters;
  private readonly inProgress = new Set<Promise<unknown>>();
  private readonly endWaits = new Set<() => void>();
  private isStopping = false;

  /** The receiver must have a pipeline for the signal. */
  constructor(settings: MessageIntakeSettings, context: ReceiverContext) {
    this.settings = settings;
    this.context = context;
    this.intake = context.intakes[settings.signal]!;
    const { signal, transport } = settings;
    this.counters = receiverCounters(context.metrics, signal, { receiver: context.id, transport });
  }

  /** How many messages have no outcome yet. */
  get size(): number {
    return this.inProgress.size;
  }

  /** Never rejects. With a `setback` the message is kept as a dead letter, whatever it is. */
  accept(message: IncomingMessage, setback?: Setback): Promise<MessageOutcome> {
    const outcome = this.handIn(message, setback);
    this.inProgress.add(outcome);
    void outcome.then(() => this.inProgress.delete(outcome));
    return outcome;
  }

  /** Ends all waits, and resolves when every message has its outcome. */
  async stop(): Promise<void> {
    this.isStopping = true;
    for (const end of this.endWaits) end();
    await Promise.all(this.inProgress);
  }

  private async handIn(message: IncomingMessage, given: Setback | undefined): Promise<MessageOutcome> {
    const { batch, setback: unread } = this.read(message);
    let setback = given ?? unread;
    const origin = this.originOf(message);
    for (let tries = 0; !this.isStopping; tries++) {
      const outcome = await this.intake.accept(batch, origin, setback);
      if (outcome.ok) return this.taken(batch, outcome, setback);
      const { refusal } = outcome;
      if (refusal.kind !== "permanent") {
        if (tries + 1 === this.settings.maxTries) return this.rejected(batch, refusal);
        await this.wait(refusal, tries);
      } else if (setback !== undefined) return this.rejected(batch, refusal);
      else setback = setbackOf(refusal.code, refusal.message);
    }
    return { kind: "returned" };
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

  private taken(batch: Batch, { rejected }: Extract<Outcome, { ok: true }>, setback?: Setback): MessageOutcome {
    this.counters.accepted.add(batch.count - rejected);
    if (rejected > 0) this.counters.refused.add(rejected);
    return { kind: "taken", setback };
  }

  private rejected(batch: Batch, refusal: Refusal): MessageOutcome {
    this.counters.refused.add(batch.count);
    return { kind: "rejected", refusal };
  }

  private wait({ retryAfterMs }: Refusal, tries: number): Promise<void> {
    const backoff = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 16));
    // An agent without room says "a second", which is for clients far away; here a look costs nothing.
    const asked = retryAfterMs === BUSY_RETRY_AFTER_MS ? 0 : (retryAfterMs ?? 0);
    const ms = Math.max(asked, backoff) * (0.5 + this.context.random() / 2);
    if (this.isStopping) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.endWaits.delete(end);
        resolve();
      };
      const cancel = this.context.clock.after(ms, end);
      this.endWaits.add(end);
    });
  }
}

const FIRST_WAIT_MS = 20;
const MAX_WAIT_MS = 5000;

function unreadable(message: string): Setback {
  return setbackOf(ERROR_CODES.SLUICE_MESSAGE_UNREADABLE, message);
}

function setbackOf(code: string, message: string): Setback {
  return { reason: "rejected", category: "schema", code, message };
}
