import { Batch } from "#otlp";
import { WireWriter, writeKeyValue } from "#otlp/bytes";
import {
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_END_TIME_TAG,
  SPAN_EVENT_ATTRIBUTES_TAG,
  SPAN_EVENT_NAME_TAG,
  SPAN_EVENTS_TAG,
  SPAN_ID_TAG,
  SPAN_KIND_TAG,
  SPAN_NAME_TAG,
  SPAN_PARENT_ID_TAG,
  SPAN_START_TIME_TAG,
  SPAN_STATUS_TAG,
  SPAN_TRACE_ID_TAG,
  STATUS_CODE_TAG,
  STATUS_MESSAGE_TAG,
} from "#otlp/tags";
import { asMembers, malformedSegment, type SegmentAttributes } from "./segment-members.js";
import { type SegmentSpan, type SegmentSpans, spansOf } from "./segment-spans.js";

const LINE_FEED = 10;
const HEADER = Buffer.from('{"format":"json","version":1}');
const ERROR = 2;
/** A record may have no more, so that components need not cut the work on one record. */
const MAX_VALUES = 9900;

/** Spans of packets, encoded one after the other as a batch. Every segment has a resource of its own. */
export class SegmentBatch {
  count = 0;
  private readonly writer = new WireWriter(4096);

  get byteLength(): number {
    return this.writer.length;
  }

  /** Adds the segment of a packet. Throws a `MalformedError` and adds nothing if it is none. */
  add(packet: Buffer): void {
    const feed = packet.indexOf(LINE_FEED);
    if (feed < 0) throw malformedSegment("the packet has no line feed behind its header");
    const header = packet.subarray(0, feed);
    if (!header.equals(HEADER)) checkHeader(header);
    const segment = spansOf(asMembers(parsed(packet.subarray(feed + 1), "the segment"), "the segment"));
    checkSize(segment);
    writeSegment(this.writer, segment);
    this.count += segment.spans.length;
  }

  finish(): Batch {
    return Batch.trusted("traces", this.writer.written(), this.count);
  }
}

function parsed(json: Buffer, name: string): unknown {
  try {
    return JSON.parse(json.toString());
  } catch {
    throw malformedSegment(`${name} is no JSON`);
  }
}

function checkHeader(header: Buffer): void {
  const { format, version } = asMembers(parsed(header, "the header"), "the header");
  if (!/^json$/i.test(String(format)) || version !== 1)
    throw malformedSegment('the header is not {"format":"json","version":1}');
}

function checkSize({ resource, spans }: SegmentSpans): void {
  const isTooLarge = ({ attributes, exceptions }: SegmentSpan) =>
    valuesIn(attributes) + exceptions.reduce((sum, each) => sum + 1 + valuesIn(each), 0) > MAX_VALUES;
  if (valuesIn(resource) > MAX_VALUES || spans.some(isTooLarge)) throw malformedSegment("a span has too many values");
}

function valuesIn(attributes: SegmentAttributes): number {
  let count = attributes.size;
  for (const value of attributes.values()) if (Array.isArray(value)) count += value.length;
  return count;
}

function writeSegment(out: WireWriter, { resource, spans }: SegmentSpans): void {
  out.byte(RESOURCE_CONTAINER_TAG);
  out.begin(1024);
  out.byte(OWNER_TAG);
  out.begin(128);
  writeAttributes(out, RESOURCE_ATTRIBUTES_TAG, resource);
  out.end();
  out.byte(SCOPE_CONTAINER_TAG);
  out.begin(1024);
  for (const span of spans) {
    out.byte(SCOPE_ITEM_TAG);
    out.begin(512);
    writeSpan(out, span);
    out.end();
  }
  out.end();
  out.end();
}

function writeSpan(out: WireWriter, span: SegmentSpan): void {
  writeBytes(out, SPAN_TRACE_ID_TAG, span.traceId);
  writeBytes(out, SPAN_ID_TAG, span.spanId);
  if (span.parentId !== undefined) writeBytes(out, SPAN_PARENT_ID_TAG, span.parentId);
  writeText(out, SPAN_NAME_TAG, span.name);
  out.byte(SPAN_KIND_TAG);
  out.byte(span.kind);
  writeTime(out, SPAN_START_TIME_TAG, span.start);
  writeTime(out, SPAN_END_TIME_TAG, span.end);
  writeAttributes(out, SPAN_ATTRIBUTES_TAG, span.attributes);
  for (const exception of span.exceptions) {
    out.byte(SPAN_EVENTS_TAG);
    out.begin(256);
    writeText(out, SPAN_EVENT_NAME_TAG, "exception");
    writeAttributes(out, SPAN_EVENT_ATTRIBUTES_TAG, exception);
    out.end();
  }
  if (!span.isError) return;
  out.byte(SPAN_STATUS_TAG);
  out.begin(16);
  if (span.statusMessage !== "") writeText(out, STATUS_MESSAGE_TAG, span.statusMessage);
  out.byte(STATUS_CODE_TAG);
  out.byte(ERROR);
  out.end();
}

function writeBytes(out: WireWriter, tag: number, bytes: Uint8Array): void {
  out.byte(tag);
  out.lengthDelimited(bytes);
}

function writeText(out: WireWriter, tag: number, text: string): void {
  out.byte(tag);
  out.text(text);
}

/** A time of 0 is left out. */
function writeTime(out: WireWriter, tag: number, nanos: number): void {
  if (nanos === 0) return;
  out.byte(tag);
  out.fixed64OfNumber(nanos);
}

function writeAttributes(out: WireWriter, tag: number, attributes: SegmentAttributes): void {
  for (const [key, value] of attributes) {
    out.byte(tag);
    out.begin(key.length + 32);
    writeKeyValue(out, key, value);
    out.end();
  }
}
