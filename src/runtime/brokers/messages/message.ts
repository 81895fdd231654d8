/** A message from a broker: bytes, and metadata from the broker and the sender. */
export interface IncomingMessage {
  readonly body: Uint8Array;
  /** The sender's headers, as decoded by the client library. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** Metadata from the broker under OpenTelemetry's names: `messaging.message.id` and so on. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** By which the source knows the message: the same for each delivery, unless `isIdOfDelivery`. */
  readonly id: string;
  /** Whether the source cannot tell a second delivery of the message from another message: each delivery has its own id. */
  readonly isIdOfDelivery?: boolean;
  /** Time of sending, if known. */
  readonly sentAtMs?: number | undefined;
}

/** A message for a broker: body and headers. */
export interface OutgoingMessage {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, HeaderValue>>;
}

export type HeaderValue = string | number | boolean | Uint8Array;

/** Prefix of record attributes made from a message's headers. */
export const HEADER_ATTRIBUTE = "messaging.header.";

/** Attribute of a record whose broker says that it has delivered the message before. */
export const REDELIVERED_ATTRIBUTE = "messaging.message.redelivered";

/** Attribute of a record whose broker counts how often it has delivered the message, this time included. */
export const RECEIVE_COUNT_ATTRIBUTE = "messaging.message.receive_count";

/** Headers of messages, in both directions. */
export const MESSAGE_HEADERS = {
  idempotencyKey: "x-idempotency-key",
  replayed: "x-replayed",
  originalId: "x-original-id",
  replayAttempt: "x-replay-attempt",
} as const;

/** How records are encoded in the body of a message. The last three make one log record per message. */
export const MESSAGE_ENCODINGS = ["otlp_proto", "otlp_json", "text", "raw", "json"] as const;

export type MessageEncoding = (typeof MESSAGE_ENCODINGS)[number];
