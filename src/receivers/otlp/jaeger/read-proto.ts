import { MalformedError } from "../../../plugin.js";
import { after, JAEGER_TAG_TYPES, varint64 } from "../../../runtime/kit.js";
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
  eachField(bytes, (number, batch) => {
    if (number !== 1 || !isBytes(batch)) return;
    eachField(batch, (inner, value) => {
      if (inner === 1 && isBytes(value)) onSpan(readSpan(value));
      else if (inner === 2 && isBytes(value)) process = readProcess(value);
    });
  });
  return process;
}

/** A request is read at once: what it may still hold is known here, and handed to nobody. */
let elementsLeft = 0;

function readProcess(bytes: Buffer): JaegerProcess {
  let service = "";
  const tags: JaegerTag[] = [];
  eachField(bytes, (number, value) => {
    if (!isBytes(value)) return;
    if (number === 1) service = value.toString();
    else if (number === 2) tags.push(readTag(value));
  });
  return { service, tags };
}

function readSpan(bytes: Buffer): JaegerSpan {
  const span = emptySpan();
  eachField(bytes, (number, value) => {
    if (number === 5 && typeof value === "bigint") span.flags = Number(BigInt.asUintN(32, value));
    if (!isBytes(value)) return;
    if (number === 1) span.traceId = idOf(value, 16);
    else if (number === 2) span.spanId = idOf(value, 8);
    else if (number === 3) span.name = value.toString();
    else if (number === 4) span.references.push(readReference(value));
    else if (number === 6) span.start = nanosOf(value);
    else if (number === 7) span.duration = nanosOf(value);
    else if (number === 8) span.tags.push(readTag(value));
    else if (number === 9) span.logs.push(readLog(value));
    else if (number === 10) span.process = readProcess(value);
  });
  return span;
}

function readReference(bytes: Buffer): JaegerReference {
  let traceId = NO_ID;
  let spanId = NO_ID;
  let type = 0;
  eachField(bytes, (number, value) => {
    if (number === 1 && isBytes(value)) traceId = idOf(value, 16);
    else if (number === 2 && isBytes(value)) spanId = idOf(value, 8);
    else if (number === 3 && typeof value === "bigint") type = Number(value);
  });
  return { traceId, spanId, type };
}

function readLog(bytes: Buffer): JaegerLog {
  let time = 0n;
  const fields: JaegerTag[] = [];
  eachField(bytes, (number, value) => {
    if (!isBytes(value)) return;
    if (number === 1) time = nanosOf(value);
    else if (number === 2) fields.push(readTag(value));
  });
  return { time, fields };
}

function readTag(bytes: Buffer): JaegerTag {
  let key = "";
  let type = 0;
  const values: [string, boolean, bigint, number, Buffer] = ["", false, 0n, 0, NO_ID];
  eachField(bytes, (number, value) => {
    if (isBytes(value)) {
      if (number === 1) key = value.toString();
      else if (number === 3) values[0] = value.toString();
      else if (number === 7) values[4] = value;
    } else if (typeof value === "number") {
      if (number === 6) values[3] = value;
    } else if (number === 2) type = Number(value);
    else if (number === 4) values[1] = value !== 0n;
    else if (number === 5) values[2] = BigInt.asIntN(64, value);
  });
  const value = values[type];
  if (value === undefined) return { key, type: JAEGER_TAG_TYPES.string, value: unknownType(type) };
  return { key, type, value };
}

/** A Timestamp or a Duration. */
function nanosOf(bytes: Buffer): bigint {
  let nanos = 0n;
  eachField(bytes, (number, value) => {
    if (typeof value !== "bigint") return;
    if (number === 1) nanos += BigInt.asIntN(64, value) * 1_000_000_000n;
    else if (number === 2) nanos += BigInt.asIntN(32, value);
  });
  return nanos;
}

function idOf(bytes: Buffer, size: number): Buffer {
  if (bytes.length !== 0 && bytes.length !== size)
    throw new MalformedError(`no span of Jaeger: an id has ${bytes.length} bytes, and should have ${size}`, -1);
  return bytes;
}

type FieldValue = Buffer | bigint | number;

function isBytes(value: FieldValue): value is Buffer {
  return typeof value === "object";
}

const MAX_VARINT_BYTES = 10;

/**
 * Calls back with each field of a message of which nothing is known, in their order: varints as bigint, 64 bits as the number that they
 * are as a double, and bytes where they lie. Throws a `MalformedError` where it is none.
 */
function eachField(bytes: Buffer, visit: (number: number, value: FieldValue) => void): void {
  elementsLeft -= 1;
  if (elementsLeft < 0) throw new MalformedError("no request of Jaeger: it holds too many spans and tags", -1);
  let p = 0;
  const readVarint = () => {
    const last = Math.min(p + MAX_VARINT_BYTES, bytes.length);
    let end = p;
    while (end < last && bytes[end]! > 127) end++;
    if (end === last) throw malformed(p);
    const value = varint64(bytes, p);
    p = after;
    return value;
  };
  while (p < bytes.length) {
    const at = p;
    const tag = readVarint();
    const number = Number(tag >> 3n);
    if (number === 0 || tag > 0xffffffffn) throw malformed(at);
    switch (Number(tag & 7n)) {
      case 0:
        visit(number, readVarint());
        break;
      case 1:
        p += 8;
        if (p > bytes.length) throw malformed(at);
        visit(number, bytes.readDoubleLE(p - 8));
        break;
      case 2: {
        const size = readVarint();
        if (size > BigInt(bytes.length - p)) throw malformed(at);
        const start = p;
        p += Number(size);
        visit(number, bytes.subarray(start, p));
        break;
      }
      case 5:
        p += 4;
        if (p > bytes.length) throw malformed(at);
        break;
      default:
        throw malformed(at);
    }
  }
}

function malformed(at: number): MalformedError {
  return new MalformedError("no request of Jaeger: the protobuf cannot be read", at);
}
