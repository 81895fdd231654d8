import { createHash, randomBytes } from "node:crypto";
import { HEADER_ATTRIBUTE, type IncomingMessage, MESSAGE_HEADERS } from "./message.js";

/**
 * The key of a message. The same message has the same key each time it is delivered, and no two messages have the same
 * key.
 *
 * - A message has the key that its sender gave it in `x-idempotency-key`.
 * - A key that was changed on its way is none: a number beyond 2^53, and text that was not UTF-8. Client libraries round
 *   and replace them, so several messages may have the same.
 * - Any other message gets a key where it enters the agent, from its receiver, the id that its source knows it by, and
 *   its body. The body is part of it because ids may be used again: a stream is deleted and created anew, a cluster
 *   loses the end of a partition, a sender counts from 1 after a restart.
 * - Records that were never a message get their key from the entry of the queue that they are sent with.
 *
 * No key is empty. Only the functions of this file and `writeMessages` make keys, so none is missing.
 */
export type MessageKey = string & { readonly [BRAND]: true };

declare const BRAND: unique symbol;

/**
 * The attribute by which a record keeps the key of its message on its way: through pipelines, queues, dead letters and
 * replays. It holds a hash: of the sender's key, or the key itself if we made it.
 */
export const KEY_ATTRIBUTE = "sluice.message.key";

const KEY_HEADER_ATTRIBUTE = `${HEADER_ATTRIBUTE}${MESSAGE_HEADERS.idempotencyKey}`;

/** The key that the sender gave the message, if any. */
export function sentKey(headers: IncomingMessage["headers"]): MessageKey | undefined {
  return keyOfValue(headers[MESSAGE_HEADERS.idempotencyKey]);
}

/** The value of `KEY_ATTRIBUTE` for a message that has come to this receiver. */
export function keyStamp(message: IncomingMessage, receiver: string): string {
  const sent = sentKey(message.headers);
  return sent === undefined ? sourceKey(message, receiver) : stampOfSent(sent);
}

/**
 * The key of a record that was made from a message; undefined if it was not, or if processors have removed the key. If
 * a processor has changed the sender's key, such as one that masks personal data, the record keeps a key of its own:
 * keys of several messages may look the same when they are masked.
 */
export function keyOfRecord(attributes: Readonly<Record<string, unknown>>): MessageKey | undefined {
  const sent = keyOfValue(attributes[KEY_HEADER_ATTRIBUTE]);
  const stamp = attributes[KEY_ATTRIBUTE];
  if (typeof stamp !== "string" || !STAMP.test(stamp)) return sent;
  return sent !== undefined && stampOfSent(sent) === stamp ? sent : (stamp as MessageKey);
}

/** The key of a record that was never a message: of its entry, and its index there. */
export function keyInEntry(entry: string, index: number | undefined): MessageKey {
  return (index === undefined ? entry : `${entry}/${index}`) as MessageKey;
}

/**
 * The header that a message gets when its receiver puts it into another queue, so that it keeps its key there. None if
 * its sender gave it a key.
 */
export function keyHeader(message: IncomingMessage, receiver: string): Readonly<Record<string, string>> {
  if (sentKey(message.headers) !== undefined) return {};
  return { [MESSAGE_HEADERS.idempotencyKey]: sourceKey(message, receiver) };
}

/** A key that nothing else has. For records of which nobody says what they are, and messages that cannot be recognised. */
export function uniqueKey(): MessageKey {
  return `${PROCESS}${(made++).toString(36)}` as MessageKey;
}

const PROCESS = randomBytes(12).toString("base64url");
let made = 0;

function sourceKey({ id, body }: IncomingMessage, receiver: string): MessageKey {
  const name = JSON.stringify([receiver, id]);
  return digest(createHash("sha256").update(`source ${name.length}:${name}`).update(body)) as MessageKey;
}

function stampOfSent(key: MessageKey): string {
  return digest(createHash("sha256").update(`sent ${key}`));
}

/** 132 bits. A processor that masks attributes leaves nothing of this form behind, and finds nothing to mask in it. */
function digest(hash: ReturnType<typeof createHash>): string {
  return hash.digest("base64url").slice(0, STAMP_LENGTH);
}

const STAMP_LENGTH = 22;
const STAMP = /^[\w-]{22}$/;

/** Senders may also use numbers or bytes. An empty key is none. */
function keyOfValue(value: unknown): MessageKey | undefined {
  if (isInexact(value)) return undefined;
  const text =
    value instanceof Uint8Array
      ? Buffer.from(value).toString("base64url")
      : SIMPLE.has(typeof value)
        ? String(value)
        : "";
  return text === "" ? undefined : (text as MessageKey);
}

function isInexact(value: unknown): boolean {
  if (typeof value === "number") return !(Math.abs(value) <= Number.MAX_SAFE_INTEGER);
  return typeof value === "string" && value.includes("\uFFFD");
}

const SIMPLE: ReadonlySet<string> = new Set(["string", "number", "boolean", "bigint"]);
