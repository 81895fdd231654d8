import type { Batch } from "#otlp";
import { MalformedError, nanos, seconds, splitMicros } from "#otlp/signals";
import { JAEGER_TAG_TYPES } from "#traces";
import type { Steps } from "#work";
import { unknownType } from "./read-proto.js";
import { PARENT_AT, SPAN_AT, SpanDraft, TRACE_AT } from "./span-draft.js";
import { TagList } from "./tag-list.js";
import { THRIFT, type ThriftReader } from "./thrift-reader.js";
import { beginProcess, endProcess, JaegerBatchWriter } from "./write-otlp.js";

/** Reads a jaeger.thrift Batch. With `isAll` nothing may follow it. */
export function batchOfThrift(reader: ThriftReader, maxElements: number, isAll = true): Steps<Batch> {
  return new ThriftBatchReader(reader, maxElements).read(isAll);
}

/** Thrift's tag types in order, mapped to those of protobuf. */
const TAG_TYPES = [
  JAEGER_TAG_TYPES.string,
  JAEGER_TAG_TYPES.float64,
  JAEGER_TAG_TYPES.bool,
  JAEGER_TAG_TYPES.int64,
  JAEGER_TAG_TYPES.binary,
] as const;

// Field ids of jaeger.thrift: of Batch, Process, Span, SpanRef, Log and Tag.
const BATCH_PROCESS = 1;
const BATCH_SPANS = 2;
const PROCESS_SERVICE_NAME = 1;
const PROCESS_TAGS = 2;
const SPAN_TRACE_ID_LOW = 1;
const SPAN_TRACE_ID_HIGH = 2;
const SPAN_ID = 3;
const SPAN_PARENT_ID = 4;
const SPAN_OPERATION_NAME = 5;
const SPAN_REFERENCES = 6;
const SPAN_FLAGS = 7;
const SPAN_START_TIME = 8;
const SPAN_DURATION = 9;
const SPAN_TAGS = 10;
const SPAN_LOGS = 11;
const REFERENCE_TYPE = 1;
const REFERENCE_TRACE_ID_LOW = 2;
const REFERENCE_TRACE_ID_HIGH = 3;
const REFERENCE_SPAN_ID = 4;
const LOG_TIMESTAMP = 1;
const LOG_FIELDS = 2;
const TAG_KEY = 1;
const TAG_TYPE = 2;
const TAG_STRING = 3;
const TAG_DOUBLE = 4;
const TAG_BOOL = 5;
const TAG_LONG = 6;
const TAG_BINARY = 7;

class ThriftBatchReader {
  private readonly reader: ThriftReader;
  private readonly maxElements: number;
  private readonly writer: JaegerBatchWriter;
  private readonly span = new SpanDraft();
  private readonly processTags = new TagList();

  constructor(reader: ThriftReader, maxElements: number) {
    this.reader = reader;
    this.maxElements = maxElements;
    this.writer = new JaegerBatchWriter(reader.bytes);
  }

  *read(isAll: boolean): Steps<Batch> {
    const { reader } = this;
    let resource: Uint8Array | undefined;
    const outer = reader.beginStruct();
    for (let id = reader.nextField(); id >= 0; id = reader.nextField()) {
      const type = reader.fieldType;
      if (id === BATCH_PROCESS && type === THRIFT.struct) resource = this.process();
      else if (id === BATCH_SPANS && type === THRIFT.list)
        for (let n = reader.beginStructs(); n > 0; n--) {
          this.readSpan();
          yield;
        }
      else reader.skip(type);
    }
    reader.endStruct(outer);
    if (isAll && !reader.isAtEnd) throw new MalformedError("no thrift of Jaeger: something follows the batch", -1);
    if (resource === undefined) {
      beginProcess(this.processTags, reader.bytes);
      resource = endProcess(this.processTags, reader.bytes, 0, 0);
    }
    return this.writer.finish(resource, this.maxElements);
  }

  private process(): Uint8Array {
    const { reader, processTags: tags } = this;
    let serviceStart = 0;
    let serviceEnd = 0;
    beginProcess(tags, reader.bytes);
    const outer = reader.beginStruct();
    for (let id = reader.nextField(); id >= 0; id = reader.nextField()) {
      const type = reader.fieldType;
      if (id === PROCESS_TAGS && type === THRIFT.list)
        for (let n = reader.beginStructs(); n > 0; n--) this.readTag(tags);
      else if (id === PROCESS_SERVICE_NAME && type === THRIFT.string) {
        serviceStart = reader.readRange();
        serviceEnd = reader.position;
      } else reader.skip(type);
    }
    reader.endStruct(outer);
    return endProcess(tags, reader.bytes, serviceStart, serviceEnd);
  }

  private readSpan(): void {
    const { reader, span } = this;
    span.clear(reader.bytes);
    span.ids.fill(0, TRACE_AT, SPAN_AT);
    span.traceSize = 16;
    const outer = reader.beginStruct();
    for (let id = reader.nextField(); id >= 0; id = reader.nextField()) {
      const type = reader.fieldType;
      if (type === THRIFT.i64 && id <= SPAN_DURATION) this.readNumber(id);
      else if (type === THRIFT.list && id === SPAN_REFERENCES)
        for (let n = reader.beginStructs(); n > 0; n--) this.reference();
      else if (type === THRIFT.list && id === SPAN_TAGS)
        for (let n = reader.beginStructs(); n > 0; n--) this.readTag(span.tags);
      else if (type === THRIFT.list && id === SPAN_LOGS) for (let n = reader.beginStructs(); n > 0; n--) this.log();
      else if (type === THRIFT.string && id === SPAN_OPERATION_NAME) {
        span.nameStart = reader.readRange();
        span.nameEnd = reader.position;
      } else if (type === THRIFT.i32 && id === SPAN_FLAGS) span.isSampled = (reader.readI32() & 1) !== 0;
      else reader.skip(type);
    }
    reader.endStruct(outer);
    this.writer.add(span);
  }

  /** Reads a 64-bit field of a span. */
  private readNumber(id: number): void {
    const { reader, span } = this;
    reader.readI64();
    switch (id) {
      case SPAN_TRACE_ID_LOW:
        return putId(span.ids, TRACE_AT + 8, reader);
      case SPAN_TRACE_ID_HIGH:
        return putId(span.ids, TRACE_AT, reader);
      case SPAN_ID:
        span.spanSize = 8;
        return putId(span.ids, SPAN_AT, reader);
      case SPAN_PARENT_ID:
        span.parentSize = 8;
        return putId(span.ids, PARENT_AT, reader);
      case SPAN_START_TIME:
        splitMicros(reader.low, reader.high);
        span.startSeconds = seconds;
        span.startNanos = nanos;
        return;
      case SPAN_DURATION:
        splitMicros(reader.low, reader.high);
        span.durationSeconds = seconds;
        span.durationNanos = nanos;
    }
  }

  private reference(): void {
    const { reader, span } = this;
    const at = span.addReference(0);
    const [traceAt, spanAt] = [span.referenceTraceAt(at), span.referenceSpanAt(at)];
    span.ids.fill(0, traceAt, spanAt + 8);
    span.referenceTraceSizes[at] = 16;
    span.referenceSpanSizes[at] = 8;
    const outer = reader.beginStruct();
    for (let id = reader.nextField(); id >= 0; id = reader.nextField()) {
      const type = reader.fieldType;
      if (id === REFERENCE_TYPE && type === THRIFT.i32) span.referenceTypes[at] = reader.readI32();
      else if (type === THRIFT.i64 && id >= REFERENCE_TRACE_ID_LOW && id <= REFERENCE_SPAN_ID) {
        reader.readI64();
        putId(
          span.ids,
          id === REFERENCE_TRACE_ID_LOW ? traceAt + 8 : id === REFERENCE_TRACE_ID_HIGH ? traceAt : spanAt,
          reader,
        );
      } else reader.skip(type);
    }
    reader.endStruct(outer);
  }

  private log(): void {
    const { reader, span } = this;
    const fields = span.beginEvent(reader.bytes);
    let [timeSeconds, timeNanos] = [0, 0];
    const outer = reader.beginStruct();
    for (let id = reader.nextField(); id >= 0; id = reader.nextField()) {
      const type = reader.fieldType;
      if (id === LOG_TIMESTAMP && type === THRIFT.i64) {
        reader.readI64();
        splitMicros(reader.low, reader.high);
        [timeSeconds, timeNanos] = [seconds, nanos];
      } else if (id === LOG_FIELDS && type === THRIFT.list)
        for (let n = reader.beginStructs(); n > 0; n--) this.readTag(fields);
      else reader.skip(type);
    }
    reader.endStruct(outer);
    span.addEvent(timeSeconds, timeNanos);
  }

  private readTag(tags: TagList): void {
    const { reader } = this;
    let keyStart = 0;
    let keyEnd = 0;
    let textStart = 0;
    let textEnd = 0;
    let binaryStart = 0;
    let binaryEnd = 0;
    let number = 0;
    let low = 0;
    let high = 0;
    let isTrue = 0;
    let double = 0;
    const outer = reader.beginStruct();
    for (let id = reader.nextField(); id >= 0; id = reader.nextField()) {
      const type = reader.fieldType;
      if (id === TAG_KEY && type === THRIFT.string) {
        keyStart = reader.readRange();
        keyEnd = reader.position;
      } else if (id === TAG_TYPE && type === THRIFT.i32) number = reader.readI32();
      else if (id === TAG_STRING && type === THRIFT.string) {
        textStart = reader.readRange();
        textEnd = reader.position;
      } else if (id === TAG_DOUBLE && type === THRIFT.double) double = reader.readDouble();
      else if (id === TAG_BOOL && type === THRIFT.bool) isTrue = reader.readBool() ? 1 : 0;
      else if (id === TAG_LONG && type === THRIFT.i64) {
        reader.readI64();
        low = reader.low;
        high = reader.high;
      } else if (id === TAG_BINARY && type === THRIFT.string) {
        binaryStart = reader.readRange();
        binaryEnd = reader.position;
      } else reader.skip(type);
    }
    reader.endStruct(outer);
    const type = TAG_TYPES[number];
    if (type === undefined) tags.addString(keyStart, keyEnd, unknownType(number));
    else if (type === JAEGER_TAG_TYPES.string) tags.add(keyStart, keyEnd, type, textStart, textEnd, 0);
    else if (type === JAEGER_TAG_TYPES.binary) tags.add(keyStart, keyEnd, type, binaryStart, binaryEnd, 0);
    else if (type === JAEGER_TAG_TYPES.bool) tags.add(keyStart, keyEnd, type, isTrue, 0, 0);
    else tags.add(keyStart, keyEnd, type, low, high, double);
  }
}

/** Writes the number read last as eight bytes in big-endian order. */
function putId(ids: Buffer, at: number, { low, high }: ThriftReader): void {
  ids.writeUInt32BE(high, at);
  ids.writeUInt32BE(low, at + 4);
}
