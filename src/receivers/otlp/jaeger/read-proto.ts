import { MalformedError } from "../../../plugin.js";
import { JAEGER_TAG_TYPES, varint64 } from "../../../runtime/kit.js";
import {
  emptySpan,
  type JaegerLog,
  type JaegerProcess,
  type JaegerReference,
  type JaegerSpan,
  type JaegerTag,
  NO_ID,
  NO_PROCESS,
} from "./jaeger-span.js";
import { unknownType } from "./read-thrift.js";

/**
 * Reads a jaeger.api_v2.PostSpansRequest: gives each span, and the process of those that have none of their own. Throws a `MalformedError`
 * when it is none, or has more than `maxElements` spans, tags and the like.
 */
export function readPostSpans(bytes: Buffer, maxElements: number, onSpan: (span: JaegerSpan) => void): JaegerProcess {
  let process = NO_PROCESS;
  elementsLeft = maxElements;
  eachField(bytes, 0, bytes.length, (tag, from, to) => {
    if (tag !== 10) return;
    eachField(bytes, from, to, (inner, start, end) => {
      if (inner === 10) onSpan(readSpan(bytes, start, end));
      else if (inner === 18) process = readProcess(bytes, start, end);
    });
  });
  return process;
}

/** A request is read at once: what it may still hold is known here, and handed to nobody. */
let elementsLeft = 0;

function readProcess(bytes: Buffer, from: number, to: number): JaegerProcess {
  let service = "";
  const tags: JaegerTag[] = [];
  eachField(bytes, from, to, (tag, start, end) => {
    if (tag === 10) service = bytes.toString("utf8", start, end);
    else if (tag === 18) tags.push(readTag(bytes, start, end));
  });
  return { service, tags };
}

function readSpan(bytes: Buffer, from: number, to: number): JaegerSpan {
  const span = emptySpan();
  eachField(bytes, from, to, (tag, start, end) => {
    switch (tag) {
      case 10:
        span.traceId = idOf(bytes, start, end, 16);
        return;
      case 18:
        span.spanId = idOf(bytes, start, end, 8);
        return;
      case 26:
        span.name = bytes.toString("utf8", start, end);
        return;
      case 34:
        span.references.push(readReference(bytes, start, end));
        return;
      case 40:
        span.flags = Number(BigInt.asUintN(32, varint64(bytes, start)));
        return;
      case 50:
        span.start = nanosOf(bytes, start, end);
        return;
      case 58:
        span.duration = nanosOf(bytes, start, end);
        return;
      case 66:
        span.tags.push(readTag(bytes, start, end));
        return;
      case 74:
        span.logs.push(readLog(bytes, start, end));
        return;
      case 82:
        span.process = readProcess(bytes, start, end);
    }
  });
  return span;
}

function readReference(bytes: Buffer, from: number, to: number): JaegerReference {
  let traceId = NO_ID;
  let spanId = NO_ID;
  let type = 0;
  eachField(bytes, from, to, (tag, start, end) => {
    if (tag === 10) traceId = idOf(bytes, start, end, 16);
    else if (tag === 18) spanId = idOf(bytes, start, end, 8);
    else if (tag === 24) type = Number(varint64(bytes, start));
  });
  return { traceId, spanId, type };
}

function readLog(bytes: Buffer, from: number, to: number): JaegerLog {
  let time = 0n;
  const fields: JaegerTag[] = [];
  eachField(bytes, from, to, (tag, start, end) => {
    if (tag === 10) time = nanosOf(bytes, start, end);
    else if (tag === 18) fields.push(readTag(bytes, start, end));
  });
  return { time, fields };
}

function readTag(bytes: Buffer, from: number, to: number): JaegerTag {
  let key = "";
  let type: number = JAEGER_TAG_TYPES.string;
  let text = "";
  let isTrue = false;
  let integer = 0n;
  let double = 0;
  let binary = NO_ID;
  eachField(bytes, from, to, (tag, start, end) => {
    if (tag === 10) key = bytes.toString("utf8", start, end);
    else if (tag === 16) type = Number(varint64(bytes, start));
    else if (tag === 26) text = bytes.toString("utf8", start, end);
    else if (tag === 32) isTrue = varint64(bytes, start) !== 0n;
    else if (tag === 40) integer = BigInt.asIntN(64, varint64(bytes, start));
    else if (tag === 49) double = bytes.readDoubleLE(start);
    else if (tag === 58) binary = bytes.subarray(start, end);
  });
  switch (type) {
    case JAEGER_TAG_TYPES.string:
      return { key, type, value: text };
    case JAEGER_TAG_TYPES.bool:
      return { key, type, value: isTrue };
    case JAEGER_TAG_TYPES.int64:
      return { key, type, value: integer };
    case JAEGER_TAG_TYPES.float64:
      return { key, type, value: double };
    case JAEGER_TAG_TYPES.binary:
      return { key, type, value: binary };
    default:
      return { key, type: JAEGER_TAG_TYPES.string, value: unknownType(type) };
  }
}

/** A Timestamp or a Duration. */
function nanosOf(bytes: Buffer, from: number, to: number): bigint {
  let nanos = 0n;
  eachField(bytes, from, to, (tag, start) => {
    if (tag === 8) nanos += BigInt.asIntN(64, varint64(bytes, start)) * 1_000_000_000n;
    else if (tag === 16) nanos += BigInt.asIntN(32, varint64(bytes, start));
  });
  return nanos;
}

function idOf(bytes: Buffer, start: number, end: number, size: number): Buffer {
  const length = end - start;
  if (length !== 0 && length !== size)
    throw new MalformedError(`no span of Jaeger: an id has ${length} bytes, and should have ${size}`, -1);
  return bytes.subarray(start, end);
}

const MAX_VARINT_BYTES = 10;

/**
 * Calls back with each field of the message [from, to), of which nothing is known, in their order: its tag, and where its value is, of
 * what has a length without that. Throws a `MalformedError` where it is none.
 */
function eachField(
  bytes: Buffer,
  from: number,
  to: number,
  visit: (tag: number, start: number, end: number) => void,
): void {
  elementsLeft -= 1;
  if (elementsLeft < 0) throw new MalformedError("no request of Jaeger: it holds too many spans and tags", -1);
  for (let p = from; p < to; ) {
    const at = p;
    let tag = bytes[p++]!;
    if (tag > 127) {
      p = varintEnd(bytes, at, to);
      const whole = varint64(bytes, at);
      if (whole > 0xffffffffn) throw malformed(at);
      tag = Number(whole);
    }
    if (tag < 8) throw malformed(at);
    let start = p;
    switch (tag & 7) {
      case 0:
        p = varintEnd(bytes, p, to);
        break;
      case 1:
        p += 8;
        break;
      case 2: {
        start = varintEnd(bytes, p, to);
        const size = bytes[p]! < 128 ? bytes[p]! : Number(varint64(bytes, p));
        p = start + size;
        break;
      }
      case 5:
        p += 4;
        break;
      default:
        throw malformed(at);
    }
    if (p > to) throw malformed(at);
    visit(tag, start, p);
  }
}

/** The position behind the varint at `p`, which must be whole. */
function varintEnd(bytes: Buffer, p: number, to: number): number {
  const last = Math.min(p + MAX_VARINT_BYTES, to);
  for (let at = p; at < last; at++) if (bytes[at]! < 128) return at + 1;
  throw malformed(p);
}

function malformed(at: number): MalformedError {
  return new MalformedError("no request of Jaeger: the protobuf cannot be read", at);
}
