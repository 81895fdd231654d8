import { JAEGER_TAG_TYPES } from "../../../runtime/kit.js";
import {
  emptySpan,
  type JaegerLog,
  type JaegerProcess,
  type JaegerReference,
  type JaegerSpan,
  type JaegerTag,
  NO_PROCESS,
} from "./jaeger-span.js";
import { THRIFT, type ThriftReader } from "./thrift-reader.js";

/** Reads a jaeger.thrift Batch: gives each span, and the process of all of them. */
export function readThriftBatch(reader: ThriftReader, onSpan: (span: JaegerSpan) => void): JaegerProcess {
  let process = NO_PROCESS;
  reader.readStruct((id, type) => {
    if (id === 1 && type === THRIFT.struct) process = readProcess(reader);
    else if (id === 2 && type === THRIFT.list) reader.readStructs(() => onSpan(readSpan(reader)));
    else return false;
    return true;
  });
  return process;
}

function readProcess(reader: ThriftReader): JaegerProcess {
  let service = "";
  const tags: JaegerTag[] = [];
  reader.readStruct((id, type) => {
    if (id === 1 && type === THRIFT.string) service = reader.readText();
    else if (id === 2 && type === THRIFT.list) reader.readStructs(() => tags.push(readTag(reader)));
    else return false;
    return true;
  });
  return { service, tags };
}

function readSpan(reader: ThriftReader): JaegerSpan {
  const span = emptySpan();
  let traceIdLow = 0n;
  let traceIdHigh = 0n;
  reader.readStruct((id, type) => {
    if (type === THRIFT.i64) {
      if (id === 1) traceIdLow = reader.readI64();
      else if (id === 2) traceIdHigh = reader.readI64();
      else if (id === 3) span.spanId = idOf(reader.readI64());
      else if (id === 4) span.parentId = idOf(reader.readI64());
      else if (id === 8) span.start = reader.readI64() * 1000n;
      else if (id === 9) span.duration = reader.readI64() * 1000n;
      else return false;
    } else if (type === THRIFT.list) {
      if (id === 6) reader.readStructs(() => span.references.push(readReference(reader)));
      else if (id === 10) reader.readStructs(() => span.tags.push(readTag(reader)));
      else if (id === 11) reader.readStructs(() => span.logs.push(readLog(reader)));
      else return false;
    } else if (id === 5 && type === THRIFT.string) span.name = reader.readText();
    else if (id === 7 && type === THRIFT.i32) span.flags = reader.readI32();
    else return false;
    return true;
  });
  span.traceId = traceIdOf(traceIdHigh, traceIdLow);
  return span;
}

function readReference(reader: ThriftReader): JaegerReference {
  let refType = 0;
  let traceIdLow = 0n;
  let traceIdHigh = 0n;
  let spanId = 0n;
  reader.readStruct((id, type) => {
    if (id === 1 && type === THRIFT.i32) refType = reader.readI32();
    else if (id === 2 && type === THRIFT.i64) traceIdLow = reader.readI64();
    else if (id === 3 && type === THRIFT.i64) traceIdHigh = reader.readI64();
    else if (id === 4 && type === THRIFT.i64) spanId = reader.readI64();
    else return false;
    return true;
  });
  return { traceId: traceIdOf(traceIdHigh, traceIdLow), spanId: idOf(spanId), type: refType };
}

function readLog(reader: ThriftReader): JaegerLog {
  let time = 0n;
  const fields: JaegerTag[] = [];
  reader.readStruct((id, type) => {
    if (id === 1 && type === THRIFT.i64) time = reader.readI64() * 1000n;
    else if (id === 2 && type === THRIFT.list) reader.readStructs(() => fields.push(readTag(reader)));
    else return false;
    return true;
  });
  return { time, fields };
}

/** Thrift's types of tags, in their order, as those of protobuf. */
const TAG_TYPES = [
  JAEGER_TAG_TYPES.string,
  JAEGER_TAG_TYPES.float64,
  JAEGER_TAG_TYPES.bool,
  JAEGER_TAG_TYPES.int64,
  JAEGER_TAG_TYPES.binary,
] as const;

function readTag(reader: ThriftReader): JaegerTag {
  let key = "";
  let number = 0;
  const values: [string, number, boolean, bigint, Buffer] = ["", 0, false, 0n, EMPTY];
  reader.readStruct((id, type) => {
    if (id === 1 && type === THRIFT.string) key = reader.readKey();
    else if (id === 2 && type === THRIFT.i32) number = reader.readI32();
    else if (id === 3 && type === THRIFT.string) values[0] = reader.readText();
    else if (id === 4 && type === THRIFT.double) values[1] = reader.readDouble();
    else if (id === 5 && type === THRIFT.bool) values[2] = reader.readBool();
    else if (id === 6 && type === THRIFT.i64) values[3] = reader.readI64();
    else if (id === 7 && type === THRIFT.string) values[4] = reader.readBinary();
    else return false;
    return true;
  });
  const type = TAG_TYPES[number];
  if (type === undefined) return { key, type: JAEGER_TAG_TYPES.string, value: unknownType(number) };
  return { key, type, value: values[number]! };
}

const EMPTY = Buffer.alloc(0);

/** What the Collector says of a tag that says less than it should. */
export function unknownType(type: number): string {
  return `<Unknown Jaeger TagType "${type}">`;
}

function idOf(id: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64BE(id);
  return bytes;
}

function traceIdOf(high: bigint, low: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(16);
  bytes.writeBigInt64BE(high);
  bytes.writeBigInt64BE(low, 8);
  return bytes;
}
