import {
  after,
  attributeValue,
  bodyEnd,
  decodeText,
  eachBody,
  encodedKey,
  findAttribute,
  findField,
  fixed32,
  message,
  nextBody,
  varint,
  WireWriter,
} from "#otlp/bytes";
import { nanos, seconds, splitNanos } from "#otlp/signals";
import {
  SCOPE_ATTRIBUTES_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_EVENT_ATTRIBUTES_TAG,
  SPAN_EVENTS_TAG,
  SPAN_ID_TAG,
  SPAN_LINK_ATTRIBUTES_TAG,
  SPAN_LINK_SPAN_ID_TAG,
  SPAN_LINK_TRACE_ID_TAG,
  SPAN_LINKS_TAG,
  SPAN_TRACE_ID_TAG,
} from "#otlp/tags";
import { EventFields, SpanFields, StatusFields } from "#otlp/views";
import {
  JAEGER_KINDS,
  JAEGER_LOG_FIELDS_TAG,
  JAEGER_LOG_TIME_TAG,
  JAEGER_OPERATION_NAME_TAG,
  JAEGER_REF_TYPES,
  JAEGER_REFERENCE_TYPE_TAG,
  JAEGER_SPAN_DURATION_TAG,
  JAEGER_SPAN_FLAGS_TAG,
  JAEGER_SPAN_ID_TAG,
  JAEGER_SPAN_LOGS_TAG,
  JAEGER_SPAN_REFERENCES_TAG,
  JAEGER_SPAN_START_TAG,
  JAEGER_SPAN_TAGS_TAG,
  JAEGER_SPAN_TRACE_ID_TAG,
  JAEGER_TAGS,
  JAEGER_TIME_NANOS_TAG,
  JAEGER_TIME_SECONDS_TAG,
} from "#traces";
import { writeAttributeTag, writeTextTag, writeTrueTag } from "./tag-writer.js";

const SAMPLED = 1;

const [CHILD_OF] = JAEGER_REF_TYPES;
const REF_TYPE_KEY = encodedKey(JAEGER_TAGS.refType);
const EVENT_KEY = encodedKey(JAEGER_TAGS.event);

/** The messages being written. */
const span = new SpanFields();
const status = new StatusFields();
const event = new EventFields();

/**
 * Writes the body of a jaeger.api_v2.Span for the span in [start, end). `scopeTags` are the encoded tags of its scope.
 */
export function writeSpan(out: WireWriter, b: Uint8Array, start: number, end: number, scopeTags: Uint8Array): void {
  span.read(b, start, end);
  writeField(out, JAEGER_SPAN_TRACE_ID_TAG, b, span.traceStart, span.traceEnd);
  writeField(out, JAEGER_SPAN_ID_TAG, b, span.spanStart, span.spanEnd);
  writeField(out, JAEGER_OPERATION_NAME_TAG, b, span.nameStart, span.nameEnd);
  if (span.parentStart > 0 || span.hasLinks) writeReferences(out, b, start, end);
  if ((span.flags & SAMPLED) !== 0) {
    out.byte(JAEGER_SPAN_FLAGS_TAG);
    out.byte(SAMPLED);
  }
  writeTimes(out, b, span.startAt, span.endAt);
  out.copy(scopeTags, 0, scopeTags.length);
  writeAttributes(out, JAEGER_SPAN_TAGS_TAG, b, start, end, SPAN_ATTRIBUTES_TAG);
  writeSpanTags(out, b);
  if (span.hasEvents)
    eachBody(b, start, end, SPAN_EVENTS_TAG, (eventStart, eventEnd) => writeLog(out, b, eventStart, eventEnd));
}

/** Writes start and duration. A negative duration would look like hundreds of thousands of years in Jaeger. */
function writeTimes(out: WireWriter, b: Uint8Array, startAt: number, endAt: number): void {
  const startLow = startAt < 0 ? 0 : fixed32(b, startAt);
  const startHigh = startAt < 0 ? 0 : fixed32(b, startAt + 4);
  const endLow = endAt < 0 ? 0 : fixed32(b, endAt);
  const endHigh = endAt < 0 ? 0 : fixed32(b, endAt + 4);
  writeNanos(out, JAEGER_SPAN_START_TAG, startLow, startHigh);
  if (endHigh < startHigh || (endHigh === startHigh && endLow <= startLow)) return;
  const borrow = endLow < startLow ? 1 : 0;
  writeNanos(out, JAEGER_SPAN_DURATION_TAG, (endLow - startLow) >>> 0, endHigh - startHigh - borrow);
}

function writeField(out: WireWriter, field: number, b: Uint8Array, start: number, end: number): void {
  out.byte(field);
  out.varint(end - start);
  out.copy(b, start, end);
}

/** Whether the span has both ids, which Jaeger requires. */
export function hasIds(b: Uint8Array, start: number, end: number): boolean {
  return hasId(b, start, end, SPAN_TRACE_ID_TAG) && hasId(b, start, end, SPAN_ID_TAG);
}

function hasId(b: Uint8Array, start: number, end: number, tag: number): boolean {
  const at = findField(b, start, end, tag);
  if (at < 0) return false;
  const size = varint(b, at);
  return !isZero(b, after, after + size);
}

/**
 * Writes the parent first, because backends look for it there. A link to the parent only tells what kind of parent it
 * is.
 */
function writeReferences(out: WireWriter, b: Uint8Array, start: number, end: number): void {
  const { traceStart, traceEnd, parentStart, parentEnd } = span;
  const hasParent = !isZero(b, parentStart, parentEnd);
  let parentType = 0;
  const links: SpanReference[] = [];
  eachBody(b, start, end, SPAN_LINKS_TAG, (linkStart, linkEnd) => {
    const link = readLink(b, linkStart, linkEnd);
    const isParent =
      hasParent && isSame(b, link.trace, traceStart, traceEnd) && isSame(b, link.span, parentStart, parentEnd);
    if (isParent) parentType = link.type;
    else links.push(link);
  });
  if (hasParent)
    writeReference(out, b, { trace: [traceStart, traceEnd], span: [parentStart, parentEnd], type: parentType });
  for (const link of links) writeReference(out, b, link);
}

type ByteRange = readonly [start: number, end: number];

/** A reference to another span: the ranges of its ids, and Jaeger's number for the kind of reference. */
interface SpanReference {
  readonly trace: ByteRange;
  readonly span: ByteRange;
  readonly type: number;
}

function readLink(b: Uint8Array, start: number, end: number): SpanReference {
  const at = findAttribute(b, start, end, SPAN_LINK_ATTRIBUTES_TAG, REF_TYPE_KEY);
  const type = at >= 0 && attributeValue(b, at) === CHILD_OF ? 0 : 1;
  return {
    trace: message(b, start, end, SPAN_LINK_TRACE_ID_TAG),
    span: message(b, start, end, SPAN_LINK_SPAN_ID_TAG),
    type,
  };
}

function writeReference(out: WireWriter, b: Uint8Array, { trace, span, type }: SpanReference): void {
  out.byte(JAEGER_SPAN_REFERENCES_TAG);
  out.begin(32);
  writeBytes(out, JAEGER_SPAN_TRACE_ID_TAG, b, trace[0], trace[1]);
  writeBytes(out, JAEGER_SPAN_ID_TAG, b, span[0], span[1]);
  if (type !== 0) {
    out.byte(JAEGER_REFERENCE_TYPE_TAG);
    out.byte(type);
  }
  out.end();
}

/** Returns the tags for the scope [start, end), which each of its spans repeats. */
export function scopeTagsOf(b: Uint8Array, start: number, end: number): Uint8Array {
  const out = new WireWriter(256);
  writeTextOf(out, JAEGER_TAGS.scopeName, b, message(b, start, end, SCOPE_NAME_TAG));
  writeTextOf(out, JAEGER_TAGS.scopeVersion, b, message(b, start, end, SCOPE_VERSION_TAG));
  writeAttributes(out, JAEGER_SPAN_TAGS_TAG, b, start, end, SCOPE_ATTRIBUTES_TAG);
  return out.written();
}

/** Writes tags for kind, status and trace state. */
function writeSpanTags(out: WireWriter, b: Uint8Array): void {
  const kindName = JAEGER_KINDS[span.kind];
  if (kindName) writeTextTag(out, JAEGER_SPAN_TAGS_TAG, JAEGER_TAGS.kind, kindName);
  status.read(b, span.statusStart, span.statusEnd);
  const { code } = status;
  if (code === 1 || code === 2)
    writeTextTag(out, JAEGER_SPAN_TAGS_TAG, JAEGER_TAGS.statusCode, code === 1 ? "OK" : "ERROR");
  if (code === 2) writeTrueTag(out, JAEGER_SPAN_TAGS_TAG, JAEGER_TAGS.error);
  writeTextOf(out, JAEGER_TAGS.statusMessage, b, [status.messageStart, status.messageEnd]);
  writeTextOf(out, JAEGER_TAGS.traceState, b, [span.stateStart, span.stateEnd]);
}

function writeTextOf(out: WireWriter, key: string, b: Uint8Array, [start, end]: ByteRange): void {
  if (start < end) writeTextTag(out, JAEGER_SPAN_TAGS_TAG, key, decodeText(b, start, end));
}

function writeLog(out: WireWriter, b: Uint8Array, start: number, end: number): void {
  out.byte(JAEGER_SPAN_LOGS_TAG);
  out.begin(end - start + 16);
  event.read(b, start, end);
  const { timeAt, nameStart, nameEnd } = event;
  writeNanos(out, JAEGER_LOG_TIME_TAG, timeAt < 0 ? 0 : fixed32(b, timeAt), timeAt < 0 ? 0 : fixed32(b, timeAt + 4));
  const isNamed = nameStart < nameEnd && findAttribute(b, start, end, SPAN_EVENT_ATTRIBUTES_TAG, EVENT_KEY) < 0;
  if (isNamed) writeTextTag(out, JAEGER_LOG_FIELDS_TAG, JAEGER_TAGS.event, decodeText(b, nameStart, nameEnd));
  writeAttributes(out, JAEGER_LOG_FIELDS_TAG, b, start, end, SPAN_EVENT_ATTRIBUTES_TAG);
  out.end();
}

function writeAttributes(
  out: WireWriter,
  field: number,
  b: Uint8Array,
  start: number,
  end: number,
  attributesTag: number,
): void {
  for (let p = start; (p = nextBody(b, p, end, attributesTag)) >= 0; ) {
    const body = p;
    p = bodyEnd;
    writeAttributeTag(out, field, b, body, p);
  }
}

const TWO_32 = 2 ** 32;

/** Writes a google.protobuf.Timestamp or Duration from nanoseconds in two halves. */
function writeNanos(out: WireWriter, field: number, low: number, high: number): void {
  splitNanos(low, high);
  out.byte(field);
  out.begin(12);
  out.byte(JAEGER_TIME_SECONDS_TAG);
  out.varintOfHalves(seconds >>> 0, Math.floor(seconds / TWO_32));
  out.byte(JAEGER_TIME_NANOS_TAG);
  out.varint(nanos);
  out.end();
}

function writeBytes(out: WireWriter, field: number, b: Uint8Array, start: number, end: number): void {
  out.byte(field);
  out.varint(end - start);
  out.copy(b, start, end);
}

function isZero(b: Uint8Array, start: number, end: number): boolean {
  for (let p = start; p < end; p++) if (b[p] !== 0) return false;
  return true;
}

function isSame(b: Uint8Array, [start, end]: ByteRange, otherStart: number, otherEnd: number): boolean {
  if (end - start !== otherEnd - otherStart) return false;
  for (let i = 0; i < end - start; i++) if (b[start + i] !== b[otherStart + i]) return false;
  return true;
}
