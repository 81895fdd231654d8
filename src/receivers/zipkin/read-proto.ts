import { isUtf8 } from "node:buffer";
import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT } from "#otlp/bytes";
import { MalformedError } from "#otlp/signals";
import {
  ZIPKIN_ANNOTATION_TIMESTAMP_TAG,
  ZIPKIN_ANNOTATION_VALUE_TAG,
  ZIPKIN_ENDPOINT_IPV4_TAG,
  ZIPKIN_ENDPOINT_IPV6_TAG,
  ZIPKIN_ENDPOINT_PORT_TAG,
  ZIPKIN_ENDPOINT_SERVICE_NAME_TAG,
  ZIPKIN_LIST_SPAN_TAG,
  ZIPKIN_PROTO_KINDS,
  ZIPKIN_SPAN_ANNOTATION_TAG,
  ZIPKIN_SPAN_DURATION_TAG,
  ZIPKIN_SPAN_ID_TAG,
  ZIPKIN_SPAN_KIND_TAG,
  ZIPKIN_SPAN_LOCAL_ENDPOINT_TAG,
  ZIPKIN_SPAN_NAME_TAG,
  ZIPKIN_SPAN_PARENT_ID_TAG,
  ZIPKIN_SPAN_REMOTE_ENDPOINT_TAG,
  ZIPKIN_SPAN_TAGS_TAG,
  ZIPKIN_SPAN_TIMESTAMP_TAG,
  ZIPKIN_SPAN_TRACE_ID_TAG,
  ZIPKIN_TAGS_KEY_TAG,
  ZIPKIN_TAGS_VALUE_TAG,
} from "#traces";

/** ZipkinFields by their tags, in the order in which they occur. Numbers are bigints, everything else is bytes. */
type ZipkinFields = readonly (readonly [tag: number, value: bigint | Buffer])[];

/** Reads untrusted protobuf of Zipkin (zipkin.proto3.ListOfSpans) span by span, as the objects of its JSON. */
export class ProtoSpanList {
  /** The end of what was read. */
  at = 0;
  private readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** The next span, or undefined at the end. Throws a `MalformedError` if the bytes are no list. */
  next(): unknown {
    while (this.at < this.bytes.length) {
      const [tag, value, end] = fieldAt(this.bytes, this.at);
      this.at = end;
      if (tag === ZIPKIN_LIST_SPAN_TAG) return spanOf(fieldsOf(value as Buffer));
    }
    return undefined;
  }
}

function spanOf(fields: ZipkinFields): object {
  const span: Record<string, unknown> = {};
  const tags: Record<string, string> = Object.create(null) as Record<string, string>;
  const annotations: object[] = [];
  for (const [tag, value] of fields) {
    if (tag === ZIPKIN_SPAN_TRACE_ID_TAG) span["traceId"] = (value as Buffer).toString("hex");
    else if (tag === ZIPKIN_SPAN_PARENT_ID_TAG) span["parentId"] = (value as Buffer).toString("hex") || null;
    else if (tag === ZIPKIN_SPAN_ID_TAG) span["id"] = (value as Buffer).toString("hex");
    else if (tag === ZIPKIN_SPAN_KIND_TAG) span["kind"] = ZIPKIN_PROTO_KINDS[Number(value)] ?? "";
    else if (tag === ZIPKIN_SPAN_NAME_TAG) span["name"] = textOf(value);
    else if (tag === ZIPKIN_SPAN_TIMESTAMP_TAG) span["timestamp"] = Number(value);
    else if (tag === ZIPKIN_SPAN_DURATION_TAG) span["duration"] = Number(value);
    else if (tag === ZIPKIN_SPAN_LOCAL_ENDPOINT_TAG) span["localEndpoint"] = endpointOf(fieldsOf(value as Buffer));
    else if (tag === ZIPKIN_SPAN_REMOTE_ENDPOINT_TAG) span["remoteEndpoint"] = endpointOf(fieldsOf(value as Buffer));
    else if (tag === ZIPKIN_SPAN_ANNOTATION_TAG) annotations.push(annotationOf(fieldsOf(value as Buffer)));
    else if (tag === ZIPKIN_SPAN_TAGS_TAG) addTag(tags, fieldsOf(value as Buffer));
  }
  return { ...span, tags, annotations };
}

function endpointOf(fields: ZipkinFields): object {
  const endpoint: Record<string, unknown> = {};
  for (const [tag, value] of fields) {
    if (tag === ZIPKIN_ENDPOINT_SERVICE_NAME_TAG) endpoint["serviceName"] = textOf(value);
    else if (tag === ZIPKIN_ENDPOINT_IPV4_TAG) endpoint["ipv4"] = [...(value as Buffer)].join(".");
    else if (tag === ZIPKIN_ENDPOINT_IPV6_TAG) endpoint["ipv6"] = ipv6Text(value as Buffer);
    else if (tag === ZIPKIN_ENDPOINT_PORT_TAG) endpoint["port"] = Number(value);
  }
  return endpoint;
}

/** A URL shortens an address to its canonical form. */
function ipv6Text(bytes: Buffer): string {
  if (bytes.length !== 16) return "";
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

function annotationOf(fields: ZipkinFields): object {
  const annotation = { timestamp: 0, value: "" };
  for (const [tag, value] of fields) {
    if (tag === ZIPKIN_ANNOTATION_TIMESTAMP_TAG) annotation.timestamp = Number(value);
    else if (tag === ZIPKIN_ANNOTATION_VALUE_TAG) annotation.value = textOf(value);
  }
  return annotation;
}

function addTag(tags: Record<string, string>, fields: ZipkinFields): void {
  let [key, text] = ["", ""];
  for (const [tag, value] of fields) {
    if (tag === ZIPKIN_TAGS_KEY_TAG) key = textOf(value);
    else if (tag === ZIPKIN_TAGS_VALUE_TAG) text = textOf(value);
  }
  tags[key] = text;
}

function textOf(value: bigint | Buffer): string {
  if (!isUtf8(value as Buffer)) throw malformed();
  return (value as Buffer).toString("utf8");
}

function fieldsOf(message: Buffer): ZipkinFields {
  const fields: [number, bigint | Buffer][] = [];
  for (let at = 0; at < message.length; ) {
    const [tag, value, end] = fieldAt(message, at);
    if (fields.push([tag, value]) > MAX_FIELDS)
      throw new MalformedError(`a span has more than ${MAX_FIELDS} tags and annotations`, -1);
    at = end;
  }
  return fields;
}

function fieldAt(bytes: Buffer, start: number): [tag: number, value: bigint | Buffer, end: number] {
  const [tag, at] = varintAt(bytes, start);
  const type = Number(tag & 7n);
  if (tag < 8n || tag > MAX_TAG) throw malformed();
  if (type === VARINT) return [Number(tag), ...varintAt(bytes, at)];
  if (type === FIXED64 && at + 8 <= bytes.length) return [Number(tag), bytes.readBigUInt64LE(at), at + 8];
  if (type === FIXED32 && at + 4 <= bytes.length) return [Number(tag), BigInt(bytes.readUInt32LE(at)), at + 4];
  if (type !== LENGTH_DELIMITED) throw malformed();
  const [size, from] = varintAt(bytes, at);
  if (size > BigInt(bytes.length - from)) throw malformed();
  const end = from + Number(size);
  return [Number(tag), bytes.subarray(from, end), end];
}

/** A span is read in one go. */
const MAX_FIELDS = 20_000;
const MAX_TAG = 0xffff_ffffn;
const MAX_VARINT_BYTES = 10;

function varintAt(bytes: Buffer, start: number): [value: bigint, end: number] {
  const first = bytes[start];
  if (first !== undefined && first < 128) return [BigInt(first), start + 1];
  let value = 0n;
  for (let i = 0; i < MAX_VARINT_BYTES; i++) {
    const byte = bytes[start + i];
    if (byte === undefined) break;
    value |= BigInt(byte & 127) << BigInt(7 * i);
    if (byte < 128) return [BigInt.asUintN(64, value), start + i + 1];
  }
  throw malformed();
}

function malformed(): MalformedError {
  return new MalformedError("no spans of Zipkin: the protobuf cannot be read", -1);
}
