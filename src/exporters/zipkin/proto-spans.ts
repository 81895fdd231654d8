import { WireWriter } from "#otlp/bytes";
import type { ZipkinEndpoint, ZipkinSpan } from "#traces";

/** Encodes spans as zipkin.proto3.ListOfSpans. */
export function protoSpans(spans: Iterable<ZipkinSpan>): Uint8Array {
  const out = new WireWriter(65_536);
  for (const span of spans) {
    out.byte(10);
    out.begin(256);
    writeSpan(out, span);
    out.end();
  }
  return out.written();
}

const KINDS = ["", "CLIENT", "SERVER", "PRODUCER", "CONSUMER"];

function writeSpan(out: WireWriter, span: ZipkinSpan): void {
  writeBytes(out, 10, Buffer.from(span.traceId, "hex"));
  if (span.parentId !== undefined) writeBytes(out, 18, Buffer.from(span.parentId, "hex"));
  writeBytes(out, 26, Buffer.from(span.id, "hex"));
  if (span.kind !== undefined) writeNumber(out, 32, KINDS.indexOf(span.kind));
  if (span.name !== undefined) writeText(out, 42, span.name);
  if (span.timestamp !== undefined) writeTime(out, 49, span.timestamp);
  if (span.duration !== undefined) writeNumber(out, 56, span.duration);
  if (span.localEndpoint !== undefined) writeEndpoint(out, 66, span.localEndpoint);
  if (span.remoteEndpoint !== undefined) writeEndpoint(out, 74, span.remoteEndpoint);
  for (const { timestamp, value } of span.annotations ?? []) {
    out.byte(82);
    out.begin(value.length + 12);
    writeTime(out, 9, timestamp);
    writeText(out, 18, value);
    out.end();
  }
  for (const [key, value] of Object.entries(span.tags ?? {})) {
    out.byte(90);
    out.begin(key.length + value.length + 4);
    writeText(out, 10, key);
    writeText(out, 18, value);
    out.end();
  }
}

function writeEndpoint(out: WireWriter, tag: number, { serviceName, ipv4, ipv6, port }: ZipkinEndpoint): void {
  out.byte(tag);
  out.begin(48);
  if (serviceName !== undefined) writeText(out, 10, serviceName);
  if (ipv4 !== undefined) writeBytes(out, 18, Buffer.from(ipv4.split(".").map(Number)));
  if (ipv6 !== undefined) writeBytes(out, 26, ipv6Bytes(ipv6));
  if (port !== undefined) writeNumber(out, 32, port);
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
