import { entriesOfKey, type SendOptions } from "#contract";
import { DEAD_LETTER_PREFIX } from "#contract/operations";
import type { Batch } from "#otlp";
import type { Tree } from "#otlp/bytes";
import { batchToJsonBytes, decodeTree, jsonText, type KeyValueTree, plainObject, plainValue } from "#otlp/json";
import { deadLetterHeaders, isDeadLetterHeader, storyOfRecord } from "./dead-letter-headers.js";
import {
  HEADER_ATTRIBUTE,
  type HeaderValue,
  MESSAGE_HEADERS,
  type MessageEncoding,
  type OutgoingMessage,
} from "./message.js";
import { keyInEntry, keyOfRecord, type MessageKey, sentKey, uniqueKey } from "./message-key.js";

/** An encoded message, and the attributes of its record; with OTLP the attributes are in the body. */
export interface WrittenMessage extends OutgoingMessage {
  /** Also in the headers. */
  readonly key: MessageKey;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/**
 * Encodes a batch as messages: one OTLP message, or one message per log record with the record's body and its
 * `messaging.header.*` attributes as headers. Reading and writing a message with the same encoding gives the same
 * message. `keys` has the keys of all records, for callers that have divided a batch.
 */
export function writeMessages(
  batch: Batch,
  encoding: MessageEncoding,
  options?: SendOptions,
  keys = entryKeys(batch, options),
): WrittenMessage[] {
  if (encoding === "otlp_proto" || encoding === "otlp_json") {
    const body = encoding === "otlp_proto" ? batch.bytes : batchToJsonBytes(batch);
    const key = (options?.idempotencyKey || uniqueKey()) as MessageKey;
    const headers = { [MESSAGE_HEADERS.idempotencyKey]: key, ...replayHeaders(options), ...storyOfBatch(batch) };
    return [{ body, key, headers, attributes: {} }];
  }
  const records = logRecords(decodeTree(batch));
  return records.map((record, i) => writeRecord(record, encoding, options, keys(i)));
}

/** The headers of a forwarded dead letter, from its resources; undefined for all other batches. */
function storyOfBatch(batch: Batch): Record<string, string> | undefined {
  // Decoding a batch is expensive, and few are dead letters.
  if (!Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.byteLength).includes(DEAD_LETTER_PREFIX))
    return undefined;
  const [resources = []] = Object.values(decodeTree(batch)) as (readonly { readonly resource?: Tree }[])[];
  for (const { resource } of resources) {
    const story = storyOfRecord(plainObject(resource?.["attributes"] as unknown as KeyValueTree[]), {});
    if (story !== undefined) return deadLetterHeaders(story);
  }
  return undefined;
}

/** Gives the key of a record that was not made from a message, by its index in the batch. */
type KeyOfIndex = (index: number) => MessageKey;

/**
 * A record has the same key each time it is sent, whatever it is sent with: the key of its entry, and its index there.
 * Without a queue nobody says what the records are, so each gets a key of its own.
 */
export function entryKeys({ count }: Batch, { idempotencyKey, entries }: SendOptions = {}): KeyOfIndex {
  if (!idempotencyKey) return uniqueKey;
  const named = entries ?? entriesOfKey(idempotencyKey, count) ?? [{ id: idempotencyKey, items: count }];
  const keys = named.flatMap(keysOfEntry);
  return (index) => keys[index] ?? uniqueKey();
}

function keysOfEntry({ id, items, runs }: NonNullable<SendOptions["entries"]>[number]): MessageKey[] {
  if (items === 1 && runs === undefined) return [keyInEntry(id, undefined)];
  const numbered = runs ?? [[0, items]];
  return numbered.flatMap(([first, count]) => Array.from({ length: count }, (_, i) => keyInEntry(id, first + i)));
}

function writeRecord(
  { record, resource }: ResourceRecord,
  encoding: "text" | "raw" | "json",
  options: SendOptions | undefined,
  ownKey: MessageKey,
): WrittenMessage {
  const attributes = plainObject(record.attributes);
  const key = keyOfRecord(attributes) ?? ownKey;
  const story = storyOfRecord(resource(), attributes);
  const traceparent = story && traceParentOf(record);
  const own = ownHeaders(attributes, options?.replayed !== undefined || story !== undefined);
  const headers = {
    ...replayHeaders(options),
    ...(traceparent && { traceparent }),
    ...own,
    ...(sentKey(own) !== key && { [MESSAGE_HEADERS.idempotencyKey]: key }),
    ...(story && deadLetterHeaders(story)),
  };
  return { body: writeBody(plainValue(record.body), encoding), key, headers, attributes };
}

function writeBody(body: unknown, encoding: "text" | "raw" | "json"): Uint8Array {
  if (body instanceof Uint8Array) return body;
  if (encoding !== "json" && typeof body === "string") return Buffer.from(body);
  return Buffer.from(jsonText(body));
}

function replayHeaders({ replayed }: SendOptions = {}): Record<string, string> {
  if (replayed === undefined) return {};
  return {
    [MESSAGE_HEADERS.replayed]: "true",
    [MESSAGE_HEADERS.originalId]: replayed.id,
    [MESSAGE_HEADERS.replayAttempt]: String(replayed.attempt),
  };
}

/**
 * The headers that a record was made from, except those of an earlier replay. A message that is replayed, or is a dead
 * letter again, also loses those that say why it was one before (`startsAnew`).
 */
function ownHeaders(attributes: Readonly<Record<string, unknown>>, startsAnew: boolean): Record<string, HeaderValue> {
  // Object.fromEntries, because a header may be called __proto__.
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([key, value]): [string, HeaderValue][] => {
      if (!key.startsWith(HEADER_ATTRIBUTE) || !isHeaderValue(value)) return [];
      const name = key.slice(HEADER_ATTRIBUTE.length);
      return REPLAY_HEADERS.has(name) || (startsAnew && isDeadLetterHeader(name)) ? [] : [[name, value]];
    }),
  );
}

const REPLAY_HEADERS: ReadonlySet<string> = new Set([
  MESSAGE_HEADERS.replayed,
  MESSAGE_HEADERS.originalId,
  MESSAGE_HEADERS.replayAttempt,
]);

function isHeaderValue(value: unknown): value is HeaderValue {
  return ["string", "number", "boolean"].includes(typeof value) || value instanceof Uint8Array;
}

interface LogRecordTree {
  readonly body?: Tree;
  readonly attributes?: readonly KeyValueTree[];
  readonly traceId?: Uint8Array;
  readonly spanId?: Uint8Array;
  readonly flags?: number;
}

/** A record and the attributes of its resource, which are read when they are asked for. */
interface ResourceRecord {
  readonly record: LogRecordTree;
  readonly resource: () => Readonly<Record<string, unknown>>;
}

interface LogsTree {
  readonly resourceLogs?: readonly {
    readonly resource?: { readonly attributes?: readonly KeyValueTree[] };
    readonly scopeLogs?: readonly { readonly logRecords?: readonly LogRecordTree[] }[];
  }[];
}

function logRecords(tree: Tree): ResourceRecord[] {
  const { resourceLogs = [] } = tree as LogsTree;
  return resourceLogs.flatMap(({ resource: owner, scopeLogs = [] }) => {
    const attributes = owner?.attributes ?? [];
    const resource = () => (attributes.length === 0 ? {} : plainObject(attributes));
    return scopeLogs.flatMap(({ logRecords: records = [] }) => records.map((record) => ({ record, resource })));
  });
}

/** The trace context of a record, as W3C's header. */
function traceParentOf({ traceId, spanId, flags = 0 }: LogRecordTree): string | undefined {
  if (traceId?.length !== 16 || spanId?.length !== 8) return undefined;
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
  return `00-${hex(traceId)}-${hex(spanId)}-${(flags & 1).toString(16).padStart(2, "0")}`;
}
