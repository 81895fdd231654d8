import type { JsMsg } from "@nats-io/jetstream";
import { type IncomingMessage, REDELIVERED_ATTRIBUTE } from "#brokers";

const NS_PER_MS = 1e6;

/** A message as the rest of the agent sees it. Properties are read lazily because OTLP needs few of them. */
export class NatsMessage implements IncomingMessage {
  readonly body: Uint8Array;
  private readonly message: JsMsg;

  constructor(message: JsMsg) {
    this.message = message;
    this.body = message.data;
  }

  get headers(): Readonly<Record<string, unknown>> {
    const { headers } = this.message;
    return headers === undefined ? {} : plainHeaders(headers);
  }

  get facts(): Readonly<Record<string, unknown>> {
    const { subject, info, headers, redelivered } = this.message;
    const id = headers?.get(MESSAGE_ID);
    return {
      "messaging.system": "nats",
      "messaging.destination.name": subject,
      "messaging.nats.stream": info.stream,
      "messaging.nats.sequence": info.streamSequence,
      ...(id && { "messaging.message.id": id }),
      ...(redelivered && { [REDELIVERED_ATTRIBUTE]: true }),
    };
  }

  get id(): string {
    const { info, headers } = this.message;
    return headers?.get(MESSAGE_ID) || `${info.stream}/${info.streamSequence}@${info.timestampNanos}`;
  }

  get sentAtMs(): number {
    return Math.floor(this.message.info.timestampNanos / NS_PER_MS);
  }
}

const MESSAGE_ID = "Nats-Msg-Id";

function plainHeaders(headers: NonNullable<JsMsg["headers"]>): Record<string, string | readonly string[]> {
  const plain: Record<string, string | readonly string[]> = {};
  for (const [name, values] of headers) plain[name] = values.length === 1 ? values[0]! : values;
  return plain;
}
