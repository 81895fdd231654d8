import { WireWriter } from "#otlp/bytes";
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
  type ZipkinEndpoint,
  type ZipkinSpan,
} from "#traces";

/** Encodes spans as zipkin.proto3.ListOfSpans. */
export function protoSpans(spans: Iterable<ZipkinSpan>): Uint8Array {
  const out = new WireWriter(65_536);
  for (const span of spans) {
    out.byte(ZIPKIN_LIST_SPAN_TAG);
    out.begin(256);
    writeSpan(out, span);
    out.end();
  }
  return out.written();
}

function writeSpan(out: WireWriter, span: ZipkinSpan): void {
  writeBytes(out, ZIPKIN_SPAN_TRACE_ID_TAG, Buffer.from(span.traceId, "hex"));
  if (span.parentId !== undefined) writeBytes(out, ZIPKIN_SPAN_PARENT_ID_TAG, Buffer.from(span.parentId, "hex"));
  writeBytes(out, ZIPKIN_SPAN_ID_TAG, Buffer.from(span.id, "hex"));
  if (span.kind !== undefined) writeNumber(out, ZIPKIN_SPAN_KIND_TAG, ZIPKIN_PROTO_KINDS.indexOf(span.kind));
  if (span.name !== undefined) writeText(out, ZIPKIN_SPAN_NAME_TAG, span.name);
  if (span.timestamp !== undefined) writeTime(out, ZIPKIN_SPAN_TIMESTAMP_TAG, span.timestamp);
  if (span.duration !== undefined) writeNumber(out, ZIPKIN_SPAN_DURATION_TAG, span.duration);
  if (span.localEndpoint !== undefined) writeEndpoint(out, ZIPKIN_SPAN_LOCAL_ENDPOINT_TAG, span.localEndpoint);
  if (span.remoteEndpoint !== undefined) writeEndpoint(out, ZIPKIN_SPAN_REMOTE_ENDPOINT_TAG, span.remoteEndpoint);
  for (const { timestamp, value } of span.annotations ?? []) {
    out.byte(ZIPKIN_SPAN_ANNOTATION_TAG);
    out.begin(value.length + 12);
    writeTime(out, ZIPKIN_ANNOTATION_TIMESTAMP_TAG, timestamp);
    writeText(out, ZIPKIN_ANNOTATION_VALUE_TAG, value);
    out.end();
  }
  for (const [key, value] of Object.entries(span.tags ?? {})) {
    out.byte(ZIPKIN_SPAN_TAGS_TAG);
    out.begin(key.length + value.length + 4);
    writeText(out, ZIPKIN_TAGS_KEY_TAG, key);
    writeText(out, ZIPKIN_TAGS_VALUE_TAG, value);
    out.end();
  }
}

function writeEndpoint(out: WireWriter, tag: number, { serviceName, ipv4, ipv6, port }: ZipkinEndpoint): void {
  out.byte(tag);
  out.begin(48);
  if (serviceName !== undefined) writeText(out, ZIPKIN_ENDPOINT_SERVICE_NAME_TAG, serviceName);
  if (ipv4 !== undefined) writeBytes(out, ZIPKIN_ENDPOINT_IPV4_TAG, Buffer.from(ipv4.split(".").map(Number)));
  if (ipv6 !== undefined) writeBytes(out, ZIPKIN_ENDPOINT_IPV6_TAG, ipv6Bytes(ipv6));
  if (port !== undefined) writeNumber(out, ZIPKIN_ENDPOINT_PORT_TAG, port);
  out.end();
}

/** A URL normalises every form of an address to groups of hex digits. Neither URLs nor Zipkin support zones. */
function ipv6Bytes(address: string): Buffer {
  const groups = new URL(`http://[${address.split("%", 1)[0]}]`).hostname.slice(1, -1);
  const [head = [], tail] = groups.split("::").map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(8 - head.length - (tail?.length ?? 0)).fill("0");
  const all = tail === undefined ? head : [...head, ...zeros, ...tail];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}

function writeText(out: WireWriter, tag: number, text: string): void {
  out.byte(tag);
  out.text(text);
}

function writeBytes(out: WireWriter, tag: number, bytes: Uint8Array): void {
  out.byte(tag);
  out.lengthDelimited(bytes);
}

function writeNumber(out: WireWriter, tag: number, value: number): void {
  out.byte(tag);
  out.varint64(BigInt(value));
}

function writeTime(out: WireWriter, tag: number, value: number): void {
  out.byte(tag);
  out.fixed64(BigInt(value));
}
