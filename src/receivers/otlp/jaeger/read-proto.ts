import type { Batch } from "#otlp";
import { double, highHalf, lowHalf, varint64, varintHalves } from "#otlp/bytes";
import { MalformedError } from "#otlp/signals";
import {
  JAEGER_BATCH_PROCESS_TAG,
  JAEGER_BATCH_SPANS_TAG,
  JAEGER_BATCH_TAG,
  JAEGER_BINARY_TAG,
  JAEGER_BOOL_TAG,
  JAEGER_FLOAT64_TAG,
  JAEGER_INT64_TAG,
  JAEGER_KEY_TAG,
  JAEGER_LOG_FIELDS_TAG,
  JAEGER_LOG_TIME_TAG,
  JAEGER_OPERATION_NAME_TAG,
  JAEGER_PROCESS_SERVICE_TAG,
  JAEGER_PROCESS_TAGS_TAG,
  JAEGER_REFERENCE_SPAN_ID_TAG,
  JAEGER_REFERENCE_TRACE_ID_TAG,
  JAEGER_REFERENCE_TYPE_TAG,
  JAEGER_SPAN_DURATION_TAG,
  JAEGER_SPAN_FLAGS_TAG,
  JAEGER_SPAN_ID_TAG,
  JAEGER_SPAN_LOGS_TAG,
  JAEGER_SPAN_PROCESS_TAG,
  JAEGER_SPAN_REFERENCES_TAG,
  JAEGER_SPAN_START_TAG,
  JAEGER_SPAN_TAGS_TAG,
  JAEGER_SPAN_TRACE_ID_TAG,
  JAEGER_STRING_TAG,
  JAEGER_TAG_TYPES,
  JAEGER_TIME_NANOS_TAG,
  JAEGER_TIME_SECONDS_TAG,
  JAEGER_TYPE_TAG,
} from "#traces";
import type { Steps } from "#work";
import { ProtoReader } from "./proto-reader.js";
import { SPAN_AT, SpanDraft, TRACE_AT } from "./span-draft.js";
import { TagList } from "./tag-list.js";
import { beginProcess, endProcess, JaegerBatchWriter } from "./write-otlp.js";

/**
 * Reads a jaeger.api_v2.PostSpansRequest as a batch. Throws a `MalformedError` if it is invalid or has more than
 * `maxElements` spans, tags and other elements.
 */
export function batchOfProto(bytes: Buffer, maxElements: number): Steps<Batch> {
  return new PostSpansReader(bytes, maxElements).read();
}

/** Seconds beyond this are clamped: doubles hold every second up to here, and OTLP's range is much smaller. */
const MAX_SECONDS = 2 ** 52;

class PostSpansReader extends ProtoReader {
  private readonly maxElements: number;
  private readonly writer: JaegerBatchWriter;
  private readonly span = new SpanDraft();
  private readonly processTags = new TagList();
  /** Results of the last `time` call. */
  private seconds = 0;
  private nanos = 0;

  constructor(bytes: Buffer, maxElements: number) {
    super(bytes, maxElements);
    this.maxElements = maxElements;
    this.writer = new JaegerBatchWriter(bytes);
  }

  *read(): Steps<Batch> {
    const { bytes } = this;
    let resource: Uint8Array | undefined;
    this.element();
    for (let p = 0; p < bytes.length; ) {
      p = this.field(p, bytes.length);
      if (this.tag !== JAEGER_BATCH_TAG) continue;
      const end = p;
      this.element();
      for (let q = this.valueStart; q < end; ) {
        q = this.field(q, end);
        if (this.tag === JAEGER_BATCH_SPANS_TAG) {
          this.readSpan(this.valueStart, q);
          yield;
        } else if (this.tag === JAEGER_BATCH_PROCESS_TAG) resource = this.process(this.valueStart, q);
      }
    }
    return this.writer.finish(resource ?? this.process(0, 0), this.maxElements);
  }

  private readSpan(from: number, to: number): void {
    const { span, bytes } = this;
    this.element();
    span.clear(bytes);
    for (let p = from; p < to; ) {
      p = this.field(p, to);
      const start = this.valueStart;
      switch (this.tag) {
        case JAEGER_SPAN_TRACE_ID_TAG:
          span.traceSize = this.id(start, p, TRACE_AT, 16);
          break;
        case JAEGER_SPAN_ID_TAG:
          span.spanSize = this.id(start, p, SPAN_AT, 8);
          break;
        case JAEGER_OPERATION_NAME_TAG:
          span.nameStart = start;
          span.nameEnd = p;
          break;
        case JAEGER_SPAN_REFERENCES_TAG:
          this.reference(start, p);
          break;
        case JAEGER_SPAN_FLAGS_TAG:
          span.isSampled = (bytes[start]! & 1) !== 0;
          break;
        case JAEGER_SPAN_START_TAG:
          this.time(start, p);
          span.startSeconds = this.seconds;
          span.startNanos = this.nanos;
          break;
        case JAEGER_SPAN_DURATION_TAG:
          this.time(start, p);
          span.durationSeconds = this.seconds;
          span.durationNanos = this.nanos;
          break;
        case JAEGER_SPAN_TAGS_TAG:
          this.readTag(start, p, span.tags);
          break;
        case JAEGER_SPAN_LOGS_TAG:
          this.log(start, p);
          break;
        case JAEGER_SPAN_PROCESS_TAG:
          span.process = this.processKey(start, p);
      }
    }
    this.writer.add(span);
  }

  /** The key of a span's own process: its bytes, because processes are few and repeat. */
  private processKey(from: number, to: number): string {
    const key = this.bytes.toString("latin1", from, to);
    if (!this.writer.hasProcess(key)) this.writer.addProcess(key, this.process(from, to));
    return key;
  }

  private process(from: number, to: number): Uint8Array {
    const { bytes, processTags } = this;
    let serviceStart = from;
    let serviceEnd = from;
    this.element();
    beginProcess(processTags, bytes);
    for (let p = from; p < to; ) {
      p = this.field(p, to);
      if (this.tag === JAEGER_PROCESS_TAGS_TAG) this.readTag(this.valueStart, p, processTags);
      else if (this.tag === JAEGER_PROCESS_SERVICE_TAG) {
        serviceStart = this.valueStart;
        serviceEnd = p;
      }
    }
    return endProcess(processTags, bytes, serviceStart, serviceEnd);
  }

  private reference(from: number, to: number): void {
    const { span } = this;
    const at = span.addReference(0);
    this.element();
    for (let p = from; p < to; ) {
      p = this.field(p, to);
      const start = this.valueStart;
      if (this.tag === JAEGER_REFERENCE_TRACE_ID_TAG)
        span.referenceTraceSizes[at] = this.id(start, p, span.referenceTraceAt(at), 16);
      else if (this.tag === JAEGER_REFERENCE_SPAN_ID_TAG)
        span.referenceSpanSizes[at] = this.id(start, p, span.referenceSpanAt(at), 8);
      else if (this.tag === JAEGER_REFERENCE_TYPE_TAG) span.referenceTypes[at] = this.integer(start);
    }
  }

  private log(from: number, to: number): void {
    const { span } = this;
    const fields = span.beginEvent(this.bytes);
    let seconds = 0;
    let nanos = 0;
    this.element();
    for (let p = from; p < to; ) {
      p = this.field(p, to);
      if (this.tag === JAEGER_LOG_TIME_TAG) {
        this.time(this.valueStart, p);
        seconds = this.seconds;
        nanos = this.nanos;
      } else if (this.tag === JAEGER_LOG_FIELDS_TAG) this.readTag(this.valueStart, p, fields);
    }
    span.addEvent(seconds, nanos);
  }

  private readTag(from: number, to: number, tags: TagList): void {
    this.element();
    if (!this.readShortTag(from, to, tags)) this.readAnyTag(from, to, tags);
  }

  /**
   * Reads a tag with a text or a small integer, one-byte lengths and fields in order, as nearly all are. Returns false
   * for any other tag.
   */
  private readShortTag(from: number, to: number, tags: TagList): boolean {
    const { bytes } = this;
    if (to - from < 2 || bytes[from] !== JAEGER_KEY_TAG || bytes[from + 1]! > 127) return false;
    const keyStart = from + 2;
    const keyEnd = keyStart + bytes[from + 1]!;
    if (to - keyEnd < 2) return false;
    if (bytes[keyEnd] === JAEGER_STRING_TAG) {
      if (bytes[keyEnd + 1]! > 127 || keyEnd + 2 + bytes[keyEnd + 1]! !== to) return false;
      tags.add(keyStart, keyEnd, JAEGER_TAG_TYPES.string, keyEnd + 2, to, 0);
      return true;
    }
    const isInteger =
      to - keyEnd >= 4 &&
      to - keyEnd <= 7 &&
      bytes[keyEnd] === JAEGER_TYPE_TAG &&
      bytes[keyEnd + 1] === JAEGER_TAG_TYPES.int64 &&
      bytes[keyEnd + 2] === JAEGER_INT64_TAG;
    if (!isInteger) return false;
    let value = 0;
    let p = keyEnd + 3;
    for (let shift = 0; p < to; shift += 7) {
      const byte = bytes[p++]!;
      value |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    if (p !== to || bytes[p - 1]! > 127) return false;
    tags.add(keyStart, keyEnd, JAEGER_TAG_TYPES.int64, value, 0, 0);
    return true;
  }

  private readAnyTag(from: number, to: number, tags: TagList): void {
    const { bytes } = this;
    let keyStart = from;
    let keyEnd = from;
    let textStart = from;
    let textEnd = from;
    let binaryStart = from;
    let binaryEnd = from;
    let type: number = JAEGER_TAG_TYPES.string;
    let typeAt = -1;
    let integerAt = -1;
    let doubleAt = -1;
    let isTrue = false;
    for (let p = from; p < to; ) {
      p = this.field(p, to);
      const start = this.valueStart;
      switch (this.tag) {
        case JAEGER_KEY_TAG:
          keyStart = start;
          keyEnd = p;
          break;
        case JAEGER_TYPE_TAG:
          typeAt = start;
          type = this.integer(start);
          break;
        case JAEGER_STRING_TAG:
          textStart = start;
          textEnd = p;
          break;
        case JAEGER_BOOL_TAG:
          isTrue = this.integer(start) !== 0;
          break;
        case JAEGER_INT64_TAG:
          integerAt = start;
          break;
        case JAEGER_FLOAT64_TAG:
          doubleAt = start;
          break;
        case JAEGER_BINARY_TAG:
          binaryStart = start;
          binaryEnd = p;
      }
    }
    switch (type) {
      case JAEGER_TAG_TYPES.string:
        return tags.add(keyStart, keyEnd, type, textStart, textEnd, 0);
      case JAEGER_TAG_TYPES.bool:
        return tags.add(keyStart, keyEnd, type, isTrue ? 1 : 0, 0, 0);
      case JAEGER_TAG_TYPES.int64:
        if (integerAt < 0) return tags.add(keyStart, keyEnd, type, 0, 0, 0);
        varintHalves(bytes, integerAt);
        return tags.add(keyStart, keyEnd, type, lowHalf, highHalf, 0);
      case JAEGER_TAG_TYPES.float64:
        return tags.add(keyStart, keyEnd, type, 0, 0, doubleAt < 0 ? 0 : double(bytes, doubleAt));
      case JAEGER_TAG_TYPES.binary:
        return tags.add(keyStart, keyEnd, type, binaryStart, binaryEnd, 0);
      default:
        tags.addString(keyStart, keyEnd, unknownType(Number(varint64(bytes, typeAt))));
    }
  }

  /** Reads a Timestamp or a Duration. */
  private time(from: number, to: number): void {
    const { bytes } = this;
    let seconds = 0;
    let nanos = 0;
    this.element();
    for (let p = from; p < to; ) {
      p = this.field(p, to);
      if (this.tag === JAEGER_TIME_SECONDS_TAG) {
        varintHalves(bytes, this.valueStart);
        seconds += Math.max(-MAX_SECONDS, Math.min(MAX_SECONDS, (highHalf | 0) * 2 ** 32 + lowHalf));
      } else if (this.tag === JAEGER_TIME_NANOS_TAG) {
        varintHalves(bytes, this.valueStart);
        nanos += lowHalf | 0;
      }
    }
    this.seconds = seconds;
    this.nanos = nanos;
  }

  /** Copies an id to its place in the span's ids and returns its size. */
  private id(start: number, end: number, to: number, size: number): number {
    const { bytes } = this;
    const { ids } = this.span;
    const length = end - start;
    if (length !== 0 && length !== size)
      throw new MalformedError(`no span of Jaeger: an id has ${length} bytes, and should have ${size}`, -1);
    for (let i = 0; i < length; i++) ids[to + i] = bytes[start + i]!;
    return length;
  }
}

/** The text that the Collector uses for a tag without a known type. */
export function unknownType(type: number): string {
  return `<Unknown Jaeger TagType "${type}">`;
}
