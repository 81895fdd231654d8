import { Batch } from "../../../plugin.js";
import {
  BOOL_VALUE_TAG,
  BYTES_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  INT_VALUE_TAG,
  JAEGER_KINDS,
  JAEGER_REF_TYPES,
  JAEGER_TAG_TYPES,
  JAEGER_TAGS,
  KEY_TAG,
  NO_JAEGER_SERVICE,
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_END_TIME_TAG,
  SPAN_EVENT_ATTRIBUTES_TAG,
  SPAN_EVENT_NAME_TAG,
  SPAN_EVENT_TIME_TAG,
  SPAN_EVENTS_TAG,
  SPAN_FLAGS_TAG,
  SPAN_ID_TAG,
  SPAN_KIND_TAG,
  SPAN_LINK_ATTRIBUTES_TAG,
  SPAN_LINK_SPAN_ID_TAG,
  SPAN_LINK_TRACE_ID_TAG,
  SPAN_LINKS_TAG,
  SPAN_NAME_TAG,
  SPAN_PARENT_ID_TAG,
  SPAN_START_TIME_TAG,
  SPAN_STATUS_TAG,
  SPAN_TRACE_ID_TAG,
  SPAN_TRACE_STATE_TAG,
  STATUS_CODE_TAG,
  STATUS_MESSAGE_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
  WireWriter,
} from "../../../runtime/kit.js";
import { type JaegerProcess, type JaegerReference, type JaegerSpan, type JaegerTag, NO_ID } from "./jaeger-span.js";
import { type SpanTags, takeStatus } from "./span-status.js";

const SAMPLED = 1;

/** Spans of one process and scope. */
interface ScopedSpans {
  readonly scope: Uint8Array;
  readonly spans: WireWriter;
}

/** Makes one batch of Jaeger's spans: each becomes bytes as it is added. Those with the same process and scope are put together. */
export class JaegerBatchWriter {
  /** By process; the spans that have none of their own are under undefined. */
  private readonly processes = new Map<string | undefined, Map<string, ScopedSpans>>();
  private readonly owners = new Map<string, JaegerProcess>();

  add(span: JaegerSpan): void {
    const tags: SpanTags = new Map();
    for (const tag of span.tags) tags.set(tag.key, tag);
    const { spans } = this.scopedSpans(span.process, takeText(tags, JAEGER_TAGS.scopeName), tags);
    spans.byte(SCOPE_ITEM_TAG);
    spans.begin(256);
    writeSpan(spans, span, tags);
    spans.end();
  }

  /** `process` is that of the spans that have none of their own. Throws a `MalformedError` if there is too much in them. */
  finish(process: JaegerProcess, maxElements?: number): Batch {
    const out = new WireWriter(65_536);
    for (const [key, scopes] of this.processes) {
      out.byte(RESOURCE_CONTAINER_TAG);
      out.begin(1024);
      writeResource(out, key === undefined ? process : this.owners.get(key)!);
      for (const { scope, spans } of scopes.values()) {
        out.byte(SCOPE_CONTAINER_TAG);
        out.begin(scope.length + spans.length);
        out.copy(scope, 0, scope.length);
        out.copy(spans.bytes, 0, spans.length);
        out.end();
      }
      out.end();
    }
    return Batch.admit("traces", out.written(), maxElements);
  }

  private scopedSpans(process: JaegerProcess | undefined, name: string | undefined, tags: SpanTags): ScopedSpans {
    const processKey =
      process && JSON.stringify(process, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
    let scopes = this.processes.get(processKey);
    if (scopes === undefined) {
      scopes = new Map();
      this.processes.set(processKey, scopes);
      if (processKey !== undefined) this.owners.set(processKey, process!);
    }
    const version = name === undefined ? undefined : takeText(tags, JAEGER_TAGS.scopeVersion);
    const key = `${name ?? ""}\n${version ?? ""}`;
    let scoped = scopes.get(key);
    if (scoped === undefined) {
      scoped = { scope: scopeBytes(name, version), spans: new WireWriter(1024) };
      scopes.set(key, scoped);
    }
    return scoped;
  }
}

function scopeBytes(name: string | undefined, version: string | undefined): Uint8Array {
  const out = new WireWriter(64);
  if (name === undefined) return out.written();
  out.byte(OWNER_TAG);
  out.begin(name.length + 16);
  writeText(out, SCOPE_NAME_TAG, name);
  writeText(out, SCOPE_VERSION_TAG, version ?? "");
  out.end();
  return out.written();
}

/** Some names are others in OpenTelemetry, as the Collector has them. */
function writeResource(out: WireWriter, { service, tags }: JaegerProcess): void {
  const attributes: SpanTags = new Map();
  if (service !== "" && service !== NO_JAEGER_SERVICE) attributes.set("service.name", textTag("service.name", service));
  for (const tag of tags) attributes.set(tag.key, tag);
  const hostname = attributes.get("hostname");
  if (hostname !== undefined && !attributes.has("host.name")) {
    attributes.delete("hostname");
    attributes.set("host.name", { ...hostname, key: "host.name" });
  }
  const version = attributes.get("jaeger.version");
  if (typeof version?.value === "string" && !attributes.has(CLIENT_VERSION)) {
    attributes.delete("jaeger.version");
    attributes.set(CLIENT_VERSION, textTag(CLIENT_VERSION, `Jaeger-${version.value}`));
  }
  out.byte(OWNER_TAG);
  out.begin(512);
  for (const tag of attributes.values()) writeAttribute(out, RESOURCE_ATTRIBUTES_TAG, tag);
  out.end();
}

const CLIENT_VERSION = "opencensus.exporterversion";

function writeSpan(out: WireWriter, span: JaegerSpan, tags: SpanTags): void {
  const parentId = parentOf(span);
  const kind = Math.max(0, JAEGER_KINDS.indexOf(takeText(tags, JAEGER_TAGS.kind) ?? ""));
  const { code, message } = takeStatus(tags, kind);
  writeId(out, SPAN_TRACE_ID_TAG, span.traceId);
  writeId(out, SPAN_ID_TAG, span.spanId);
  writeText(out, SPAN_TRACE_STATE_TAG, takeText(tags, JAEGER_TAGS.traceState) ?? "");
  writeId(out, SPAN_PARENT_ID_TAG, parentId);
  writeText(out, SPAN_NAME_TAG, span.name);
  if (kind > 0) {
    out.byte(SPAN_KIND_TAG);
    out.byte(kind);
  }
  writeTime(out, SPAN_START_TIME_TAG, span.start);
  writeTime(out, SPAN_END_TIME_TAG, span.start + span.duration);
  for (const tag of tags.values()) writeAttribute(out, SPAN_ATTRIBUTES_TAG, tag);
  for (const { time, fields } of span.logs) writeEvent(out, time, fields);
  for (const reference of span.references) {
    if (!(reference.type === 0 && reference.spanId.equals(parentId))) writeLink(out, reference);
  }
  if (code > 0) {
    out.byte(SPAN_STATUS_TAG);
    out.begin(message.length + 4);
    writeText(out, STATUS_MESSAGE_TAG, message);
    out.byte(STATUS_CODE_TAG);
    out.byte(code);
    out.end();
  }
  if ((span.flags & SAMPLED) !== 0) {
    out.varint(SPAN_FLAGS_TAG);
    out.fixed32(SAMPLED);
  }
}

/** Without a parent of its own a span is the child of what it refers to in its trace, of a CHILD_OF first. */
function parentOf({ parentId, references, traceId }: JaegerSpan): Buffer {
  if (!isZero(parentId)) return parentId;
  const inTrace = references.filter((reference) => reference.traceId.equals(traceId));
  const parent = inTrace.find(({ type }) => type === 0) ?? inTrace.find(({ type }) => type === 1);
  return parent?.spanId ?? NO_ID;
}

function writeEvent(out: WireWriter, time: bigint, fields: readonly JaegerTag[]): void {
  const attributes: SpanTags = new Map();
  for (const field of fields) attributes.set(field.key, field);
  out.byte(SPAN_EVENTS_TAG);
  out.begin(128);
  writeTime(out, SPAN_EVENT_TIME_TAG, time);
  writeText(out, SPAN_EVENT_NAME_TAG, takeText(attributes, JAEGER_TAGS.event) ?? "");
  for (const tag of attributes.values()) writeAttribute(out, SPAN_EVENT_ATTRIBUTES_TAG, tag);
  out.end();
}

function writeLink(out: WireWriter, { traceId, spanId, type }: JaegerReference): void {
  out.byte(SPAN_LINKS_TAG);
  out.begin(80);
  writeId(out, SPAN_LINK_TRACE_ID_TAG, traceId);
  writeId(out, SPAN_LINK_SPAN_ID_TAG, spanId);
  const refType = JAEGER_REF_TYPES[type === 0 ? 0 : 1];
  writeAttribute(out, SPAN_LINK_ATTRIBUTES_TAG, textTag(JAEGER_TAGS.refType, refType));
  out.end();
}

/** Takes the text of a tag out; one that is no text stays. */
function takeText(tags: SpanTags, key: string): string | undefined {
  const value = tags.get(key)?.value;
  if (typeof value !== "string") return undefined;
  tags.delete(key);
  return value;
}

function textTag(key: string, value: string): JaegerTag {
  return { key, type: JAEGER_TAG_TYPES.string, value };
}

function writeAttribute(out: WireWriter, field: number, { key, type, value }: JaegerTag): void {
  out.byte(field);
  out.begin(key.length + 32);
  out.byte(KEY_TAG);
  out.text(key);
  out.byte(VALUE_TAG);
  out.begin(typeof value === "string" ? value.length + 2 : 10);
  switch (type) {
    case JAEGER_TAG_TYPES.bool:
      out.byte(BOOL_VALUE_TAG);
      out.byte(value ? 1 : 0);
      break;
    case JAEGER_TAG_TYPES.int64:
      out.byte(INT_VALUE_TAG);
      out.varint64(value as bigint);
      break;
    case JAEGER_TAG_TYPES.float64:
      out.byte(DOUBLE_VALUE_TAG);
      out.double(value as number);
      break;
    case JAEGER_TAG_TYPES.binary:
      out.byte(BYTES_VALUE_TAG);
      out.lengthDelimited(value as Buffer);
      break;
    default:
      out.byte(STRING_VALUE_TAG);
      out.text(value as string);
  }
  out.end();
  out.end();
}

function writeText(out: WireWriter, field: number, text: string): void {
  if (text === "") return;
  out.byte(field);
  out.text(text);
}

/** An id of zeros is none. */
function writeId(out: WireWriter, field: number, id: Buffer): void {
  if (isZero(id)) return;
  out.byte(field);
  out.lengthDelimited(id);
}

function isZero(id: Buffer): boolean {
  for (const byte of id) if (byte !== 0) return false;
  return true;
}

const MAX_TIME = 2n ** 64n - 1n;

/** Times that OTLP cannot say are the nearest that it can; zero is none. */
function writeTime(out: WireWriter, field: number, nanos: bigint): void {
  if (nanos <= 0n) return;
  out.byte(field);
  out.fixed64(nanos > MAX_TIME ? MAX_TIME : nanos);
}
