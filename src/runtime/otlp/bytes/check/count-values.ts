import type { Batch } from "../../batch.js";
import { SIGNALS } from "../../signals/signal.js";
import { type Field, type Message, REQUEST } from "../messages.js";
import { after, fieldTag, LENGTH_DELIMITED, stepOver, valueAt, varint } from "../wire.js";

/**
 * Whether a record, resource, scope or metric of the request has more than `limit` values: attributes, events, links,
 * exemplars, buckets, quantiles, and the items of lists and maps in them. Ordinary requests are answered from what the
 * check counted, without another look at their bytes. Of others, only messages with more than `limit` bytes are looked
 * into, because a value takes at least one.
 */
export function hasTooManyValues(batch: Batch, limit: number): boolean {
  if (batch.mostValues <= limit || batch.byteLength <= limit) return false;
  return isCrowdedContainer(batch.bytes, 0, batch.byteLength, REQUEST[batch.signal], limit);
}

function isCrowdedContainer(b: Uint8Array, start: number, end: number, message: Message, limit: number): boolean {
  let own = 0;
  for (let p = start; p < end; ) {
    p = stepOver(b, p);
    const field = message.byNumber[fieldTag >>> 3];
    const child = field?.message;
    if (field === undefined || (fieldTag & 7) !== LENGTH_DELIMITED) continue;
    const next = p;
    varint(b, valueAt);
    const body = after;
    if (child !== undefined && (child.isRecord || isContainer(child))) {
      if (next - body <= limit) continue;
      if (
        isContainer(child)
          ? isCrowdedContainer(b, body, next, child, limit)
          : count(b, body, next, child, limit) > limit
      )
        return true;
    } else if ((own += valuesOfField(b, body, next, field, limit)) > limit) return true;
  }
  return false;
}

/** Whether the message contains records, or messages that contain them. */
function isContainer(message: Message): boolean {
  return CONTAINERS.has(message);
}

const CONTAINERS: ReadonlySet<Message> = new Set(SIGNALS.flatMap((signal) => containersIn(REQUEST[signal])));

function containersIn(message: Message, around: readonly Message[] = []): Message[] {
  if (message.isRecord) return [...around];
  if (around.includes(message)) return []; // values nest
  return message.fields.flatMap(({ message: child }) => (child ? containersIn(child, [...around, message]) : []));
}

/** The number of values in the message [start, end); stops soon above the limit. */
function count(b: Uint8Array, start: number, end: number, message: Message, limit: number): number {
  let values = 0;
  for (let p = start; p < end && values <= limit; ) {
    p = stepOver(b, p);
    const field = message.byNumber[fieldTag >>> 3];
    if (field === undefined || (fieldTag & 7) !== LENGTH_DELIMITED) continue;
    const next = p;
    varint(b, valueAt);
    values += valuesOfField(b, after, next, field, limit);
  }
  return values;
}

/** The number of values in one occurrence of a field whose body is [start, end). */
function valuesOfField(b: Uint8Array, start: number, end: number, field: Field, limit: number): number {
  const itself = field.repeated ? 1 : 0;
  if (field.message !== undefined) return itself + count(b, start, end, field.message, limit);
  if (!field.repeated || field.type === "string") return itself;
  return /fixed64|double/.test(field.type) ? (end - start) / 8 : end - start;
}
