import type { Batch } from "#otlp";
import { double, highHalf, lowHalf, varint64, varintHalves } from "#otlp/bytes";
import { MalformedError } from "#otlp/signals";
import { JAEGER_TAG_TYPES } from "#traces";
import { ProtoReader } from "./proto-reader.js";
import { SPAN_AT, SpanDraft, TRACE_AT } from "./span-draft.js";
import { TagList } from "./tag-list.js";
import { beginProcess, endProcess, JaegerBatchWriter } from "./write-otlp.js";

/**
 * Reads a jaeger.api_v2.PostSpansRequest as a batch. Throws a `MalformedError` if it is invalid or has more than
 * `maxElements` spans, tags and other elements.
 */
export function batchOfProto(bytes: Buffer, maxElements: number): Batch {
  return new PostSpansReader(bytes, maxElements).read();
}

/** Seconds beyond this are clamped: doubles hold every second up to here, and OTLP's range is much smaller. */
const MAX_SECONDS = 2 ** 52;

// Tags of jaeger.api_v2 for requests and batches, processes, spans, references, logs, tags and times.
const BATCH = 10;
const BATCH_SPAN = 10;
const BATCH_PROCESS = 18;
const PROCESS_SERVICE = 10;
const PROCESS_TAG = 18;
const SPAN_TRACE_ID = 10;
const SPAN_ID = 18;
const SPAN_NAME = 26;
const SPAN_REFERENCE = 34;
const SPAN_FLAGS = 40;
const SPAN_START = 50;
const SPAN_DURATION = 58;
const SPAN_TAG = 66;
const SPAN_LOG = 74;
const SPAN_PROCESS = 82;
const REFERENCE_TRACE_ID = 10;
const REFERENCE_SPAN_ID = 18;
const REFERENCE_TYPE = 24;
const LOG_TIME = 10;
const LOG_FIELD = 18;
const TAG_KEY = 10;
const TAG_TYPE = 16;
const TAG_TEXT = 26;
const TAG_BOOL = 32;
const TAG_INTEGER = 40;
const TAG_DOUBLE = 49;
const TAG_BINARY = 58;
const TIME_SECONDS = 8;
const TIME_NANOS = 16;

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

  read(): Batch {
    const { bytes } = this;
    let resource: Uint8Array | undefined;
    this.element();
    for (let p = 0; p < bytes.length; ) {
      p = this.field(p, bytes.length);
      if (this.tag !== BATCH) continue;
      const end = p;
      this.element();
      for (let q = this.valueStart; q < end; ) {
        q = this.field(q, end);
        if (this.tag === BATCH_SPAN) this.readSpan(this.valueStart, q);
        else if (this.tag === BATCH_PROCESS) resource = this.process(this.valueStart, q);
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
        case SPAN_TRACE_ID:
          span.traceSize = this.id(start, p, TRACE_AT, 16);
          break;
        case SPAN_ID:
          span.spanSize = this.id(start, p, SPAN_AT, 8);
          break;
        case SPAN_NAME:
          span.nameStart = start;
          span.nameEnd = p;
          break;
        case SPAN_REFERENCE:
          this.reference(start, p);
          break;
        case SPAN_FLAGS:
          span.isSampled = (bytes[start]! & 1) !== 0;
          break;
        case SPAN_START:
          this.time(start, p);
          span.startSeconds = this.seconds;
          span.startNanos = this.nanos;
          break;
        case SPAN_DURATION:
          this.time(start, p);
          span.durationSeconds = this.seconds;
          span.durationNanos = this.nanos;
          break;
        case SPAN_TAG:
          this.readTag(start, p, span.tags);
          break;
        case SPAN_LOG:
          this.log(start, p);
          break;
        case SPAN_PROCESS:
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
      if (this.tag === PROCESS_TAG) this.readTag(this.valueStart, p, processTags);
      else if (this.tag === PROCESS_SERVICE) {
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
      if (this.tag === REFERENCE_TRACE_ID)
        span.referenceTraceSizes[at] = this.id(start, p, span.referenceTraceAt(at), 16);
      else if (this.tag === REFERENCE_SPAN_ID)
        span.referenceSpanSizes[at] = this.id(start, p, span.referenceSpanAt(at), 8);
      else if (this.tag === REFERENCE_TYPE) span.referenceTypes[at] = this.integer(start);
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
      if (this.tag === LOG_TIME) {
        this.time(this.valueStart, p);
        seconds = this.seconds;
        nanos = this.nanos;
      } else if (this.tag === LOG_FIELD) this.readTag(this.valueStart, p, fields);
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
    if (to - from < 2 || bytes[from] !== TAG_KEY || bytes[from + 1]! > 127) return false;
    const keyStart = from + 2;
    const keyEnd = keyStart + bytes[from + 1]!;
    if (to - keyEnd < 2) return false;
    if (bytes[keyEnd] === TAG_TEXT) {
      if (bytes[keyEnd + 1]! > 127 || keyEnd + 2 + bytes[keyEnd + 1]! !== to) return false;
      tags.add(keyStart, keyEnd, JAEGER_TAG_TYPES.string, keyEnd + 2, to, 0);
      return true;
    }
    const isInteger =
      to - keyEnd >= 4 &&
      to - keyEnd <= 7 &&
      bytes[keyEnd] === TAG_TYPE &&
      bytes[keyEnd + 1] === JAEGER_TAG_TYPES.int64 &&
      bytes[keyEnd + 2] === TAG_INTEGER;
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
        case TAG_KEY:
          keyStart = start;
          keyEnd = p;
          break;
        case TAG_TYPE:
          typeAt = start;
          type = this.integer(start);
          break;
        case TAG_TEXT:
          textStart = start;
          textEnd = p;
          break;
        case TAG_BOOL:
          isTrue = this.integer(start) !== 0;
          break;
        case TAG_INTEGER:
          integerAt = start;
          break;
        case TAG_DOUBLE:
          doubleAt = start;
          break;
        case TAG_BINARY:
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
      if (this.tag === TIME_SECONDS) {
        varintHalves(bytes, this.valueStart);
        seconds += Math.max(-MAX_SECONDS, Math.min(MAX_SECONDS, (highHalf | 0) * 2 ** 32 + lowHalf));
      } else if (this.tag === TIME_NANOS) {
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
