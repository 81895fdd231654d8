import { z } from "zod";
import { defineReceiver, type ReceiverContext, type ReceiverFactory, type Refusal } from "../../../../src/plugin.js";
import type { IncomingMessage } from "../../../../src/runtime/brokers/messages/message.js";
import { MessageIntake } from "../../../../src/runtime/brokers/messages/message-intake.js";

/** A message as its sender publishes it. `serial` says which message it is, which no key is made from. */
export interface Published {
  readonly serial: string;
  readonly body: string;
  readonly key: string | undefined;
}

/**
 * A broker in memory that outlives its readers: it keeps each message until it is acknowledged, and delivers it again to
 * the next reader. `loses` decides whether an acknowledgement gets lost.
 */
export class ModelBroker {
  /** Messages that were neither accepted nor kept, which a broker would set aside. */
  readonly refused: { readonly serial: string; readonly refusal: Refusal }[] = [];
  /** How often a message is tried before it is set aside; undefined if it is never. */
  maxTries: number | undefined;
  private readonly settled = new Set<number>();
  private readonly messages: Published[] = [];
  private readonly loses: () => boolean;
  private readonly isIdOfDelivery: boolean;
  private deliveries = 0;
  private reading = 0;
  private reader: ((offset: number) => Promise<void>) | undefined;

  constructor(loses: () => boolean, isIdOfDelivery: boolean) {
    this.loses = loses;
    this.isIdOfDelivery = isIdOfDelivery;
  }

  publish(message: Published): void {
    this.messages.push(message);
    void this.reader?.(this.messages.length - 1);
  }

  /** Whether every message was acknowledged or set aside. */
  get isDone(): boolean {
    return this.settled.size === this.messages.length;
  }

  /** Whether no delivery waits for its outcome. */
  get isIdle(): boolean {
    return this.reading === 0;
  }

  /** A receiver of this broker, with the intake that all receivers of messages have. */
  receiver(): ReceiverFactory {
    return defineReceiver({
      type: "model",
      summary: "",
      signals: ["logs"],
      schema: z.strictObject({}),
      create: (_config, context) => this.open(context),
    });
  }

  private open(context: ReceiverContext) {
    const { maxTries } = this;
    const settings = { signal: "logs", encoding: "raw", transport: "model", maxMessageBytes: 1000 } as const;
    const intake = new MessageIntake({ ...settings, ...(maxTries !== undefined && { maxTries }) }, context);
    const read = async (offset: number) => {
      this.reading += 1;
      const outcome = await intake.accept(this.delivery(offset));
      const { serial } = this.messages[offset]!;
      if (outcome.kind === "rejected") this.refused.push({ serial, refusal: outcome.refusal });
      if (outcome.kind !== "returned" && !this.loses()) this.settled.add(offset);
      this.reading -= 1;
    };
    return {
      start: async () => {
        this.reader = read;
        for (const offset of this.messages.keys()) if (!this.settled.has(offset)) void read(offset);
      },
      stop: async () => {
        if (this.reader === read) this.reader = undefined;
        await intake.stop();
      },
    };
  }

  private delivery(offset: number): IncomingMessage {
    const { serial, body, key } = this.messages[offset]!;
    const id = this.isIdOfDelivery ? `delivery ${this.deliveries++}` : `orders/${offset}`;
    const headers = { serial, ...(key !== undefined && { "x-idempotency-key": key }) };
    const facts = { "messaging.destination.name": "orders" };
    return { id, isIdOfDelivery: this.isIdOfDelivery, body: Buffer.from(body), headers, facts };
  }
}
