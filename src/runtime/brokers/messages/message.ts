/** What a broker has handed over: bytes, and what it and the sender say of them. */
export interface IncomingMessage {
  readonly body: Uint8Array;
  /** The sender's headers, as the client library reads them. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** What the broker says of it, by the names of OpenTelemetry's conventions: `messaging.message.id` and so on. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** What the broker knows it by, the same each time it hands it out; undefined when it has no name for it. */
  readonly id?: string | undefined;
  /** When it was sent, if that is known. */
  readonly sentAtMs?: number | undefined;
}

/** What is given to a broker: the body and the headers of one message. */
export interface OutgoingMessage {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, HeaderValue>>;
}

export type HeaderValue = string | number | boolean | Uint8Array;

/** Attributes of records that were made of a message's headers begin with this. */
export const HEADER_ATTRIBUTE = "messaging.header.";

/** Headers of messages, in both directions. */
export const MESSAGE_HEADERS = {
  idempotencyKey: "x-idempotency-key",
  replayed: "x-replayed",
  originalId: "x-original-id",
  replayAttempt: "x-replay-attempt",
} as const;

/** How records are written into the body of a message. The last three make one log record of each message. */
export const MESSAGE_ENCODINGS = ["otlp_proto", "otlp_json", "text", "raw", "json"] as const;

export type MessageEncoding = (typeof MESSAGE_ENCODINGS)[number];
