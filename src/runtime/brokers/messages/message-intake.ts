import type { Origin, ReceiverContext, Setback } from "#contract";
import { ACCEPTED, type Outcome } from "#contract";
import { ERROR_CODES, Refusal } from "#contract/errors";
import type { Batch } from "#otlp";
import { isMalformed } from "#otlp/signals";
import { BatchIntake, type BatchIntakeSettings, type MessageOutcome } from "#receiving";
import type { Dedup, HandIn } from "../dedup/dedup.js";
import type { IncomingMessage, MessageEncoding } from "./message.js";
import { sentKey } from "./message-key.js";
import { readMessage, wholeMessage } from "./read-message.js";

export interface MessageIntakeSettings extends BatchIntakeSettings {
  readonly encoding: MessageEncoding;
  readonly maxMessageBytes: number;
  /** Changes the batch after reading, for example adds attributes from headers. */
  readonly complete?: ((batch: Batch, message: IncomingMessage) => Batch) | undefined;
  /** Recognises messages that were accepted before, by the sender's key or the broker's id. */
  readonly dedup?: Dedup | undefined;
}

/**
 * The intake for messages of one signal. An unreadable message is handed in as a dead letter with its original bytes
 * and headers; everything else is as in `BatchIntake`. Messages that wait here cause back-pressure, because a broker
 * limits the number of unacknowledged messages.
 */
export class MessageIntake {
  private readonly settings: MessageIntakeSettings;
  private readonly batches: BatchIntake;
  private readonly receiver: string;
  private readonly inProgress = new Set<Promise<unknown>>();

  /** The receiver must have a pipeline for the signal. */
  constructor(settings: MessageIntakeSettings, context: ReceiverContext) {
    this.settings = settings;
    this.batches = new BatchIntake(settings, context);
    this.receiver = context.id;
  }

  /**
   * Never rejects. With a `setback` the message is kept as a dead letter, whatever its content. `identity` is how the
   * source knows the message.
   */
  accept(message: IncomingMessage, setback?: Setback, identity: Partial<Origin> = {}): Promise<MessageOutcome> {
    const { batch, setback: unread } = this.read(message);
    const reason = setback ?? unread;
    const origin = { ...this.originOf(message), ...identity };
    const { dedup } = this.settings;
    const key = dedup && lastingKey(message);
    if (dedup === undefined || key === undefined || batch.count === 0)
      return this.batches.accept(batch, origin, reason);
    const outcome = this.acceptOnce(dedup, key, message, batch, origin, reason);
    this.inProgress.add(outcome);
    void outcome.then(() => this.inProgress.delete(outcome));
    return outcome;
  }

  /** Ends all waits; resolves when every message has its outcome. */
  async stop(): Promise<void> {
    await this.batches.stop();
    await Promise.all(this.inProgress);
  }

  /**
   * Accepts a message that was accepted before without handing it in. The origin gets a key, so that queues that had
   * the message before a crash recognise it too.
   */
  private async acceptOnce(
    dedup: Dedup,
    key: string,
    { body }: IncomingMessage,
    batch: Batch,
    origin: Partial<Origin>,
    setback: Setback | undefined,
  ): Promise<MessageOutcome> {
    const outcomes: MessageOutcome[] = [];
    const handIn: HandIn = async (fresh, identity) => {
      const outcome = await this.batches.accept(fresh, { ...origin, key: identity() }, setback);
      outcomes.push(outcome);
      return outcome.kind === "taken" ? ACCEPTED : NOT_TAKEN;
    };
    if (this.settings.encoding.startsWith("otlp_")) await dedup.acceptEach(key, batch, handIn);
    else await dedup.acceptMessage(key, body, batch, handIn);
    return outcomeOfAll(outcomes);
  }

  private read(message: IncomingMessage): { batch: Batch; setback?: Setback | undefined } {
    const { signal, encoding, maxMessageBytes, complete } = this.settings;
    const { length } = message.body;
    if (length > maxMessageBytes) {
      const reason = `the message has ${length} bytes; max_message_size is ${maxMessageBytes}`;
      return { batch: wholeMessage(signal, message, this.receiver), setback: unreadable(reason) };
    }
    try {
      const batch = readMessage(signal, encoding, message, this.receiver);
      return { batch: complete?.(batch, message) ?? batch };
    } catch (error) {
      if (!isMalformed(error)) throw error;
      const reason = `the message is not ${signal} in ${encoding}: ${error.message}`;
      return { batch: wholeMessage(signal, message, this.receiver), setback: unreadable(reason) };
    }
  }

  private originOf(message: IncomingMessage): Partial<Origin> {
    const { headers } = message;
    const metadata = new Map<string, readonly string[]>();
    for (const [name, value] of Object.entries(headers)) {
      if (typeof value === "string") metadata.set(name.toLowerCase(), [value]);
    }
    const { transport, encoding } = this.settings;
    const labels = encoding.startsWith("otlp_") ? {} : labelsOf(message);
    return metadata.size === 0 ? { transport, ...labels } : { transport, metadata, ...labels };
  }
}

/** A message is redelivered if one of its entries must be; the others are then recognised as duplicates. */
function outcomeOfAll(outcomes: readonly MessageOutcome[]): MessageOutcome {
  const isDeadLetter = (outcome: MessageOutcome) => outcome.kind === "taken" && outcome.setback !== undefined;
  return (
    outcomes.find(({ kind }) => kind === "returned") ??
    outcomes.find(({ kind }) => kind === "rejected") ??
    outcomes.find(isDeadLetter) ?? { kind: "taken" }
  );
}

/** Where a message came from and what it is about, for metrics. */
function labelsOf({ facts, headers }: IncomingMessage): Pick<Origin, "queue" | "event"> {
  const queue = facts["messaging.destination.name"];
  if (typeof queue !== "string") return {};
  const given = [facts["event.name"], headers["event-type"], headers["ce_type"], headers["ce-type"]];
  const event = [...given, facts["messaging.message.type"]].find((name) => typeof name === "string" && name !== "");
  return event === undefined ? { queue } : { queue, event: event as string };
}

/** The sender's key, or else the broker's id; undefined if the broker will give the message another id next time. */
function lastingKey({ headers, id, isIdOfDelivery = false }: IncomingMessage): string | undefined {
  return sentKey(headers) ?? (isIdOfDelivery ? undefined : id);
}

const NOT_TAKEN: Outcome = { ok: false, refusal: new Refusal("transient", "the message was not accepted") };

function unreadable(message: string): Setback {
  return { reason: "rejected", category: "schema", code: ERROR_CODES.SLUICE_MESSAGE_UNREADABLE, message };
}
