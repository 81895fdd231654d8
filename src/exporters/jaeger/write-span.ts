import {
  after,
  attributeValue,
  decodeText,
  encodedKey,
  findAttribute,
  findField,
  fixed32,
  fixed64,
  JAEGER_KINDS,
  JAEGER_REF_TYPES,
  JAEGER_TAGS,
  message,
  SCOPE_ATTRIBUTES_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_END_TIME_TAG,
  SPAN_EVENT_ATTRIBUTES_TAG,
  SPAN_EVENT_NAME_TAG,
  SPAN_EVENT_TIME_TAG,
  SPAN_EVENTS_TAG,
  SPAN_FLAGS_TAG,
  SPAN_ID_TAG,
  SPAN_KIND_TAG,
  SPAN_LINK_ATTRIBUTES_TAG,
  SPAN_LINK_SPAN_ID_TAG,
  SPAN_LINK_TRACE_ID_TAG,
  SPAN_LINKS_TAG,
  SPAN_NAME_TAG,
  SPAN_PARENT_ID_TAG,
  SPAN_START_TIME_TAG,
  SPAN_STATUS_TAG,
  SPAN_TRACE_ID_TAG,
  SPAN_TRACE_STATE_TAG,
  STATUS_CODE_TAG,
  STATUS_MESSAGE_TAG,
  skip,
  varint,
  type WireWriter,
} from "../../runtime/kit.js";
import { writeAttributeTag, writeTextTag, writeTrueTag } from "./tag-writer.js";

const SAMPLED = 1;

// Tags of jaeger.api_v2.Span, SpanRef and Log.
const TRACE_ID = 10;
const SPAN_ID = 18;
const OPERATION = 26;
const REFERENCE = 34;
const FLAGS = 40;
const START_TIME = 50;
const DURATION = 58;
const TAG = 66;
const LOG = 74;
const REF_TYPE = 24;
const LOG_TIME = 10;
const LOG_FIELD = 18;

const [CHILD_OF] = JAEGER_REF_TYPES;
const REF_TYPE_KEY = encodedKey(JAEGER_TAGS.refType);
const EVENT_KEY = encodedKey(JAEGER_TAGS.event);

/** Writes the span in [start, end) as a jaeger.api_v2.Span, without what is around it. The scope's message is [scopeStart, scopeEnd). */
export function writeSpan(
  out: WireWriter,
  b: Uint8Array,
  start: number,
  end: number,
  scopeStart: number,
  scopeEnd: number,
): void {
  const [traceStart, traceEnd] = message(b, start, end, SPAN_TRACE_ID_TAG);
  const [idStart, idEnd] = message(b, start, end, SPAN_ID_TAG);
  const [nameStart, nameEnd] = message(b, start, end, SPAN_NAME_TAG);
  writeBytes(out, TRACE_ID, b, traceStart, traceEnd);
  writeBytes(out, SPAN_ID, b, idStart, idEnd);
  writeBytes(out, OPERATION, b, nameStart, nameEnd);
  writeReferences(out, b, start, end, traceStart, traceEnd);
  const flagsAt = findField(b, start, end, SPAN_FLAGS_TAG);
  if (flagsAt >= 0 && (fixed32(b, flagsAt) & SAMPLED) !== 0) {
    out.byte(FLAGS);
    out.byte(SAMPLED);
  }
  const from = timeIn(b, start, end, SPAN_START_TIME_TAG);
  const to = timeIn(b, start, end, SPAN_END_TIME_TAG);
  writeNanos(out, START_TIME, from);
  // Jaeger would take a negative one for hundreds of thousands of years.
  if (to > from) writeNanos(out, DURATION, to - from);
  writeScopeTags(out, b, scopeStart, scopeEnd);
  writeAttributes(out, TAG, b, start, end, SPAN_ATTRIBUTES_TAG);
  writeSpanTags(out, b, start, end);
  eachMessage(b, start, end, SPAN_EVENTS_TAG, (eventStart, eventEnd) => writeLog(out, b, eventStart, eventEnd));
}

/** Whether it has both ids, which Jaeger needs. */
export function hasIds(b: Uint8Array, start: number, end: number): boolean {
  return [SPAN_TRACE_ID_TAG, SPAN_ID_TAG].every((tag) => {
    const [idStart, idEnd] = message(b, start, end, tag);
    return !isZero(b, idStart, idEnd);
  });
}

/** The parent comes first: there backends look for it. A link to it only says what kind of parent it is. */
function writeReferences(
  out: WireWriter,
  b: Uint8Array,
  start: number,
  end: number,
  traceStart: number,
  traceEnd: number,
): void {
  const [parentStart, parentEnd] = message(b, start, end, SPAN_PARENT_ID_TAG);
  const hasParent = !isZero(b, parentStart, parentEnd);
  let parentType = 0;
  const links: SpanReference[] = [];
  eachMessage(b, start, end, SPAN_LINKS_TAG, (linkStart, linkEnd) => {
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

/** A reference to another span: its ids where they lie, and Jaeger's number of what it is. */
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
  out.byte(REFERENCE);
  out.begin(32);
  writeBytes(out, TRACE_ID, b, trace[0], trace[1]);
  writeBytes(out, SPAN_ID, b, span[0], span[1]);
  if (type !== 0) {
    out.byte(REF_TYPE);
    out.byte(type);
  }
  out.end();
}

function writeScopeTags(out: WireWriter, b: Uint8Array, start: number, end: number): void {
  writeTextOf(out, JAEGER_TAGS.scopeName, b, message(b, start, end, SCOPE_NAME_TAG));
  writeTextOf(out, JAEGER_TAGS.scopeVersion, b, message(b, start, end, SCOPE_VERSION_TAG));
  writeAttributes(out, TAG, b, start, end, SCOPE_ATTRIBUTES_TAG);
}

/** Kind, status and trace state. */
function writeSpanTags(out: WireWriter, b: Uint8Array, start: number, end: number): void {
  const kindAt = findField(b, start, end, SPAN_KIND_TAG);
  const kind = kindAt < 0 ? undefined : JAEGER_KINDS[varint(b, kindAt)];
  if (kind) writeTextTag(out, TAG, JAEGER_TAGS.kind, kind);
  const [statusStart, statusEnd] = message(b, start, end, SPAN_STATUS_TAG);
  const codeAt = findField(b, statusStart, statusEnd, STATUS_CODE_TAG);
  const code = codeAt < 0 ? 0 : varint(b, codeAt);
  if (code === 1 || code === 2) writeTextTag(out, TAG, JAEGER_TAGS.statusCode, code === 1 ? "OK" : "ERROR");
  if (code === 2) writeTrueTag(out, TAG, JAEGER_TAGS.error);
  writeTextOf(out, JAEGER_TAGS.statusMessage, b, message(b, statusStart, statusEnd, STATUS_MESSAGE_TAG));
  writeTextOf(out, JAEGER_TAGS.traceState, b, message(b, start, end, SPAN_TRACE_STATE_TAG));
}

function writeTextOf(out: WireWriter, key: string, b: Uint8Array, [start, end]: ByteRange): void {
  if (start < end) writeTextTag(out, TAG, key, decodeText(b, start, end));
}

function writeLog(out: WireWriter, b: Uint8Array, start: number, end: number): void {
  out.byte(LOG);
  out.begin(end - start + 16);
  writeNanos(out, LOG_TIME, timeIn(b, start, end, SPAN_EVENT_TIME_TAG));
  const [nameStart, nameEnd] = message(b, start, end, SPAN_EVENT_NAME_TAG);
  const isNamed = nameStart < nameEnd && findAttribute(b, start, end, SPAN_EVENT_ATTRIBUTES_TAG, EVENT_KEY) < 0;
  if (isNamed) writeTextTag(out, LOG_FIELD, JAEGER_TAGS.event, decodeText(b, nameStart, nameEnd));
  writeAttributes(out, LOG_FIELD, b, start, end, SPAN_EVENT_ATTRIBUTES_TAG);
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
  eachMessage(b, start, end, attributesTag, (keyValueStart, keyValueEnd) =>
    writeAttributeTag(out, field, b, keyValueStart, keyValueEnd),
  );
}

/** Calls back with the bodies of all fields with this tag, in their order. */
export function eachMessage(
  b: Uint8Array,
  start: number,
  end: number,
  wanted: number,
  visit: (start: number, end: number) => void,
): void {
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== wanted) continue;
    varint(b, at);
    visit(after, p);
  }
}

const NANOS_PER_SECOND = 1_000_000_000n;

/** A google.protobuf.Timestamp or Duration. */
function writeNanos(out: WireWriter, field: number, nanos: bigint): void {
  out.byte(field);
  out.begin(12);
  out.byte(8);
  out.varint64(nanos / NANOS_PER_SECOND);
  out.byte(16);
  out.varint(Number(nanos % NANOS_PER_SECOND));
  out.end();
}

function timeIn(b: Uint8Array, start: number, end: number, tag: number): bigint {
  const at = findField(b, start, end, tag);
  return at < 0 ? 0n : fixed64(b, at);
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
