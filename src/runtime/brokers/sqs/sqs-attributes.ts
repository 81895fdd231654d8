import { parseJson } from "#text/json";
import { DEAD_LETTER_HEADERS, isDeadLetterHeader } from "../messages/dead-letter-headers.js";
import { type HeaderValue, MESSAGE_HEADERS } from "../messages/message.js";

/** A message attribute as SQS has it. Binary values are base64. */
export interface SqsAttribute {
  readonly DataType: string;
  readonly StringValue?: string;
  readonly BinaryValue?: string;
}

export type SqsAttributes = Readonly<Record<string, SqsAttribute>>;

/** Attributes of a record that was a message of SQS: its group, and the ARN of the queue that SQS moved it from. */
export const GROUP_ID_ATTRIBUTE = "messaging.sqs.message_group_id";
export const DEAD_LETTER_SOURCE_ATTRIBUTE = "messaging.sqs.dead_letter_source";

/** The limit of SQS for attributes of a message. */
const MAX_ATTRIBUTES = 10;
/** Holds, as a JSON object, the headers for which there is no attribute left, or that cannot be one. */
const PACKED_HEADERS = "x-sluice-headers";

/**
 * Writes headers as attributes. SQS allows ten per message, so each header has its own attribute while there is room,
 * and the rest is packed into one. The sender's headers come first, because consumers look for them; then the key; then
 * the story of a dead letter. `more` are attributes that must be there.
 */
export function toAttributes(headers: Readonly<Record<string, HeaderValue>>, more: SqsAttributes = {}): SqsAttributes {
  const names = Object.keys(headers).sort((one, other) => rankOf(one) - rankOf(other));
  const written = names.map((name) => [name, attributeOf(name, headers[name]!)] as const);
  const able = written.filter((each): each is [string, SqsAttribute] => each[1] !== undefined);
  const room = MAX_ATTRIBUTES - Object.keys(more).length;
  if (able.length === names.length && able.length <= room)
    return Object.fromEntries([...able, ...Object.entries(more)]);
  const kept = able.slice(0, room - 1);
  const keptNames = new Set(kept.map(([name]) => name));
  const rest = names.filter((name) => !keptNames.has(name)).map((name) => [name, packedValue(headers[name]!)]);
  const packed = { DataType: "String", StringValue: packedText(Object.fromEntries(rest)) };
  return Object.fromEntries([...kept, [PACKED_HEADERS, packed], ...Object.entries(more)]);
}

/** Reads attributes as headers, also packed ones. Attributes that cannot be read are skipped. */
export function fromAttributes(attributes: SqsAttributes): Record<string, HeaderValue> {
  const { [PACKED_HEADERS]: packed, ...others } = attributes;
  const unpacked = unpack(packed?.StringValue);
  const all = unpacked === undefined ? attributes : others;
  const own = Object.entries(all).flatMap(([name, attribute]): [string, HeaderValue][] => {
    const value = headerOf(attribute);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries([...(unpacked ?? []), ...own]);
}

/** The bytes that SQS counts: names, types and values. */
export function attributeBytes(attributes: SqsAttributes): number {
  let bytes = 0;
  for (const [name, { DataType, StringValue = "", BinaryValue = "" }] of Object.entries(attributes))
    bytes += Buffer.byteLength(name + DataType + StringValue) + Buffer.byteLength(BinaryValue, "base64");
  return bytes;
}

/** The characters that SQS takes in bodies and attributes are those of XML. */
export function isSqsText(text: string): boolean {
  return text !== "" && /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u.test(text);
}

/** Headers of a dead letter in the order in which they get an attribute of their own. */
const STORY_ORDER: readonly string[] = [
  DEAD_LETTER_HEADERS.errorClass,
  DEAD_LETTER_HEADERS.error,
  DEAD_LETTER_HEADERS.attempts,
  DEAD_LETTER_HEADERS.firstFailedAt,
  DEAD_LETTER_HEADERS.failedAt,
  DEAD_LETTER_HEADERS.source,
  DEAD_LETTER_HEADERS.exporter,
  DEAD_LETTER_HEADERS.reason,
  DEAD_LETTER_HEADERS.id,
  DEAD_LETTER_HEADERS.agent,
];

const OWN_RANK = 0;
const KEY_RANK = 1;
const STORY_RANK = 2;
const REPLAY_RANK = STORY_RANK + STORY_ORDER.length;

function rankOf(name: string): number {
  if (name === MESSAGE_HEADERS.idempotencyKey) return KEY_RANK;
  if (isDeadLetterHeader(name)) return STORY_RANK + STORY_ORDER.indexOf(name);
  return Object.values<string>(MESSAGE_HEADERS).includes(name) ? REPLAY_RANK : OWN_RANK;
}

/** Undefined if SQS does not take such an attribute. */
function attributeOf(name: string, value: HeaderValue): SqsAttribute | undefined {
  if (!ATTRIBUTE_NAME.test(name) || RESERVED_NAME.test(name) || name === PACKED_HEADERS) return undefined;
  if (value instanceof Uint8Array)
    return value.length === 0 ? undefined : { DataType: "Binary", BinaryValue: base64(value) };
  if (typeof value === "number" && Number.isFinite(value)) return { DataType: "Number", StringValue: String(value) };
  return isSqsText(String(value)) ? { DataType: "String", StringValue: String(value) } : undefined;
}

const ATTRIBUTE_NAME = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;
const RESERVED_NAME = /^(aws|amazon)\.|^.{257}/i;

function headerOf(attribute: SqsAttribute | null): HeaderValue | undefined {
  const { DataType = "", StringValue, BinaryValue } = attribute ?? {};
  if (typeof BinaryValue === "string") return new Uint8Array(Buffer.from(BinaryValue, "base64"));
  const number = /^Number\b/.test(DataType) ? Number(StringValue) : Number.NaN;
  if (typeof StringValue !== "string") return undefined;
  return String(number) === StringValue ? number : StringValue;
}

/** JSON has no bytes, so they are an object with their base64. */
function packedValue(value: HeaderValue): unknown {
  return value instanceof Uint8Array ? { base64: base64(value) } : value;
}

/** Escapes what SQS does not take in attributes. */
function packedText(headers: object): string {
  return JSON.stringify(headers).replace(
    /[\u007f\ufffe\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Returns undefined for text that this module has not written. */
function unpack(text: string | undefined): [string, HeaderValue][] | undefined {
  let parsed: unknown;
  try {
    parsed = parseJson(text ?? "");
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return undefined;
  return Object.entries(parsed).flatMap(([name, value]: [string, unknown]): [string, HeaderValue][] => {
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return [[name, value]];
    const { base64: bytes } = (value ?? {}) as { readonly base64?: unknown };
    return typeof bytes === "string" ? [[name, new Uint8Array(Buffer.from(bytes, "base64"))]] : [];
  });
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
}
