import type { Entry } from "#contract/operations";
import type { FailureFacts } from "../store.js";
import { entryId, sequenceOfId } from "./entry.js";

/** Returns undefined if the entry is not a dead letter. */
export function factsOf(entry: Entry): FailureFacts | undefined {
  const { id, exporter, signal, failure, items, bytes, attempts, deletedAt } = entry;
  if (failure === undefined) return undefined;
  const { at, signature, reason, category, names } = failure;
  const sequence = sequenceOfId(id) ?? 0;
  const tag = id.slice(0, Math.max(0, id.lastIndexOf("-")));
  return {
    at,
    items,
    bytes,
    attempts,
    sequence,
    isDeleted: deletedAt !== undefined,
    tag: entryId(tag, sequence) === id ? tag : "",
    causeKey: `${signal} ${reason} ${exporter} ${category}\n${signature}`,
    namesKey: names.length === 1 ? `=${names[0]}` : JSON.stringify(names),
  };
}

/**
 * Layout: version, flags, attempts (4), four numbers (8 each), lengths of tag and cause (4 each), and the texts, names
 * last.
 */
const VERSION = 1;
const DELETED = 1;
const TEXTS_OFFSET = 46;

/** Returns the bytes after the head of a dead letter; none if there are no facts. */
export function encodeFacts(entry: Entry): Uint8Array[] {
  const facts = factsOf(entry);
  if (facts === undefined) return [];
  const { at, items, bytes, attempts, isDeleted, tag, sequence, causeKey, namesKey } = facts;
  const tagLength = Buffer.byteLength(tag);
  const causeLength = Buffer.byteLength(causeKey);
  const body = Buffer.allocUnsafe(TEXTS_OFFSET + tagLength + causeLength + Buffer.byteLength(namesKey));
  body[0] = VERSION;
  body[1] = isDeleted ? DELETED : 0;
  body.writeUInt32LE(attempts >>> 0, 2);
  for (const [i, number] of [at, items, bytes, sequence].entries()) body.writeDoubleLE(number, 6 + 8 * i);
  body.writeUInt32LE(tagLength, 38);
  body.writeUInt32LE(causeLength, 42);
  body.write(tag, TEXTS_OFFSET);
  body.write(causeKey, TEXTS_OFFSET + tagLength);
  body.write(namesKey, TEXTS_OFFSET + tagLength + causeLength);
  return [body];
}

/** Returns undefined if there are no facts or none that this version knows. Then the head must be decoded. */
export function decodeFacts(body: Buffer): FailureFacts | undefined {
  if (body.length < TEXTS_OFFSET || body[0] !== VERSION) return undefined;
  const tagEnd = TEXTS_OFFSET + body.readUInt32LE(38);
  const causeEnd = tagEnd + body.readUInt32LE(42);
  return {
    at: body.readDoubleLE(6),
    items: body.readDoubleLE(14),
    bytes: body.readDoubleLE(22),
    sequence: body.readDoubleLE(30),
    attempts: body.readUInt32LE(2),
    isDeleted: (body[1]! & DELETED) !== 0,
    tag: body.toString("utf8", TEXTS_OFFSET, tagEnd),
    causeKey: body.toString("utf8", tagEnd, causeEnd),
    namesKey: body.toString("utf8", causeEnd),
  };
}
