import { AttributeKey } from "#metrics";
import { after, attributeValue, encodedKey, findAttribute, findField, valueText, varint } from "#otlp/bytes";
import { SPAN_KINDS } from "#otlp/signals";
import {
  LOG_TRACE_ID_TAG,
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  SCOPE_ATTRIBUTES_TAG,
  SPAN_KIND_TAG,
  SPAN_TRACE_ID_TAG,
} from "#otlp/tags";
import { type Frame, RecordReader, type RecordWalk, recordAttributesTag } from "#otlp/views";
import type { Batch, Signal, Value } from "../../../plugin.js";
import { crc32 } from "./hash-ring.js";

/** The keys that keep records together, with the Collector's names. */
export const ROUTING_KEYS = ["traceID", "service", "resource", "metric", "streamID", "attributes"] as const;

export type RoutingKey = (typeof ROUTING_KEYS)[number];

/** Returns the hash of a record's key; undefined if it has none and may go to any endpoint. */
type HashRecord = (walk: RecordWalk, start: number, end: number) => number | undefined;

/** The default if the config names no key. */
export function defaultRoutingKey(signal: Signal): RoutingKey {
  return signal === "metrics" ? "service" : "traceID";
}

/** Whether records of this signal have such a key. */
export function hasRoutingKey(signal: Signal, key: RoutingKey): boolean {
  if (key === "traceID") return signal !== "metrics";
  return key === "metric" || key === "streamID" ? signal === "metrics" : true;
}

/**
 * Hashes the keys of the records of one batch in one walk. Keys that all records of a resource or metric share are read
 * once.
 */
export function recordHasher(batch: Batch, key: RoutingKey, attributes: readonly string[]): HashRecord {
  switch (key) {
    case "traceID":
      return byTraceId(batch.signal === "traces" ? SPAN_TRACE_ID_TAG : LOG_TRACE_ID_TAG);
    case "service":
      return oncePer(0, ({ bytes, frames }) => hashText(0, textOf(ownerAttribute(bytes, frames[0]!, SERVICE_NAME))));
    case "resource":
      return oncePer(0, ({ bytes, frames }) => hashResource(bytes, frames[0]!));
    case "metric":
      return oncePer(2, (walk) => hashText(0, new RecordReader(walk).name()));
    case "streamID":
      return byStream();
    case "attributes":
      return byAttributes(batch.signal, attributes);
  }
}

function byTraceId(tag: number): HashRecord {
  return ({ bytes }, start, end) => {
    const at = findField(bytes, start, end, tag);
    if (at < 0) return undefined;
    const length = varint(bytes, at);
    return length === 0 ? undefined : crc32(0, bytes, after, after + length);
  };
}

/** Computes the hash once for all records in the same frame at this depth. */
function oncePer(depth: number, hash: (walk: RecordWalk) => number): HashRecord {
  let serial = -1;
  let last = 0;
  return (walk) => {
    if (walk.serials[depth] === serial) return last;
    serial = walk.serials[depth]!;
    last = hash(walk);
    return last;
  };
}

/** Hashes a series: the point's attributes, its metric with its kind, scope and resource. */
function byStream(): HashRecord {
  const ofMetric = oncePer(3, (walk) => {
    const { bytes, frames } = walk;
    const [from, to] = ownerIn(bytes, frames[1]!);
    const ownersHash = crc32(hashResource(bytes, frames[0]!), bytes, from, to);
    return hashText(ownersHash, `${new RecordReader(walk).name()}\0${frames[3]!.tag}`);
  });
  return (walk, start, end) =>
    hashAttributes(ofMetric(walk, start, end)!, walk.bytes, start, end, recordAttributesTag(walk));
}

/**
 * Each attribute is looked for in the resource, then in the scope, then in the record. A missing one counts as an empty
 * text.
 */
function byAttributes(signal: Signal, names: readonly string[]): HashRecord {
  return (walk, start, end) => {
    const { bytes, frames } = walk;
    let hash = 0;
    for (const name of names) {
      const value =
        pseudoAttribute(signal, name, walk, start, end) ??
        ownerAttribute(bytes, frames[0]!, name) ??
        ownerAttribute(bytes, frames[1]!, name, SCOPE_ATTRIBUTES_TAG) ??
        attributeIn(bytes, start, end, recordAttributesTag(walk), name);
      hash = hashText(hash, `${name}=${textOf(value)}|`);
    }
    return hash;
  };
}

function pseudoAttribute(
  signal: Signal,
  name: string,
  walk: RecordWalk,
  start: number,
  end: number,
): string | undefined {
  if (signal !== "traces") return undefined;
  if (name === "span.name") {
    const reader = new RecordReader(walk);
    reader.moveTo(start, end);
    return reader.name();
  }
  if (name !== "span.kind") return undefined;
  const at = findField(walk.bytes, start, end, SPAN_KIND_TAG);
  const kind = SPAN_KINDS[at < 0 ? 0 : varint(walk.bytes, at)] ?? "";
  return kind.slice(0, 1).toUpperCase() + kind.slice(1);
}

const SERVICE_NAME = "service.name";

function textOf(value: Value | undefined): string {
  return value === undefined || value === null ? "" : valueText(value);
}

/** Returns the range of the resource or scope of a frame. */
function ownerIn(bytes: Uint8Array, { start, end }: Frame): readonly [start: number, end: number] {
  const at = findField(bytes, start, end, OWNER_TAG);
  if (at < 0) return [0, 0];
  const size = varint(bytes, at);
  return [after, after + size];
}

/** Returns an attribute of the resource or scope in this frame. */
function ownerAttribute(
  bytes: Uint8Array,
  frame: Frame,
  name: string,
  tag = RESOURCE_ATTRIBUTES_TAG,
): Value | undefined {
  const [start, end] = ownerIn(bytes, frame);
  return attributeIn(bytes, start, end, tag, name);
}

function attributeIn(bytes: Uint8Array, start: number, end: number, tag: number, name: string): Value | undefined {
  const at = findAttribute(bytes, start, end, tag, encodedKey(name));
  return at < 0 ? undefined : attributeValue(bytes, at);
}

function hashText(hash: number, text: string): number {
  const bytes = Buffer.from(text);
  return crc32(hash, bytes, 0, bytes.length);
}

/** Equal resources give the same hash, whatever the order of their attributes. */
function hashResource(bytes: Uint8Array, frame: Frame): number {
  const [start, end] = ownerIn(bytes, frame);
  return hashAttributes(0, bytes, start, end, RESOURCE_ATTRIBUTES_TAG);
}

function hashAttributes(hash: number, bytes: Uint8Array, start: number, end: number, tag: number): number {
  const key = new AttributeKey();
  key.begin(bytes);
  key.addAll(start, end, tag);
  key.finish();
  return crc32(hash, key.bytes, key.start, key.end);
}
