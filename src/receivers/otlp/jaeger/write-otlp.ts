import { Batch } from "#otlp";
import { WireWriter, writeKeyValue } from "#otlp/bytes";
import {
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_END_TIME_TAG,
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
} from "#otlp/tags";
import { JAEGER_KINDS, JAEGER_REF_TYPES, JAEGER_TAGS, NO_JAEGER_SERVICE } from "#traces";
import { PARENT_AT, SPAN_AT, type SpanDraft, TRACE_AT, writeTime } from "./span-draft.js";
import { statusMessage, takeStatus } from "./span-status.js";
import { SPECIAL, type TagList } from "./tag-list.js";
import { writeUtf8 } from "./write-utf8.js";

const SAMPLED = 1;

/** Encoded spans of one process and scope. */
interface ScopedSpans {
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly scope: Uint8Array;
  readonly spans: WireWriter;
}

/**
 * Builds one batch of Jaeger's spans: each span is encoded as it is added. Spans with the same process and scope are
 * grouped.
 */
export class JaegerBatchWriter {
  private readonly bytes: Uint8Array;
  /** Keyed by process; undefined for spans without their own process. */
  private readonly processes = new Map<string | undefined, Map<string, ScopedSpans>>();
  private readonly owners = new Map<string, Uint8Array>();
  /** The group of the last span, which is usually also the next span's. */
  private lastProcess: string | undefined;
  private lastScopes: Map<string, ScopedSpans> | undefined;
  private lastScoped: ScopedSpans | undefined;

  /** `bytes` contains the spans. */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Whether `addProcess` was called with this key. */
  hasProcess(key: string): boolean {
    return this.owners.has(key);
  }

  /** Adds a process as an OTLP resource; spans name it by its key. */
  addProcess(key: string, resource: Uint8Array): void {
    this.owners.set(key, resource);
  }

  add(span: SpanDraft): void {
    const { tags } = span;
    const name = tags.takeText(SPECIAL.scopeName);
    const version = name === undefined ? undefined : tags.takeText(SPECIAL.scopeVersion);
    const { spans } = this.scopedSpans(span.process, name, version);
    spans.byte(SCOPE_ITEM_TAG);
    spans.begin(256);
    writeSpan(spans, this.bytes, span);
    spans.end();
  }

  /**
   * `resource` belongs to the spans without their own process. Throws a `MalformedError` if there are too many
   * elements.
   */
  finish(resource: Uint8Array, maxElements?: number): Batch {
    let size = 64;
    for (const scopes of this.processes.values()) {
      size += resource.length + 64;
      for (const { scope, spans } of scopes.values()) size += scope.length + spans.length + 16;
    }
    const out = new WireWriter(size);
    for (const [key, scopes] of this.processes) {
      const owner = key === undefined ? resource : this.owners.get(key)!;
      out.byte(RESOURCE_CONTAINER_TAG);
      out.begin(size);
      out.copy(owner, 0, owner.length);
      for (const { scope, spans } of scopes.values()) {
        out.byte(SCOPE_CONTAINER_TAG);
        out.begin(scope.length + spans.length);
        out.copy(scope, 0, scope.length);
        out.copy(spans.bytes, 0, spans.length);
        out.end();
        keepSpare(spans);
      }
      out.end();
    }
    return Batch.admit("traces", out.written(), maxElements);
  }

  private scopedSpans(process: string | undefined, name: string | undefined, version: string | undefined): ScopedSpans {
    if (this.lastScopes === undefined || process !== this.lastProcess) {
      this.lastScopes = this.processes.get(process) ?? new Map<string, ScopedSpans>();
      this.processes.set(process, this.lastScopes);
      this.lastProcess = process;
      this.lastScoped = undefined;
    }
    const scopes = this.lastScopes;
    const last = this.lastScoped;
    if (last !== undefined && last.name === name && last.version === version) return last;
    // The length keeps name and version apart, because both may contain any separator.
    const key = `${name?.length ?? 0} ${name ?? ""}${version ?? ""}`;
    let scoped = scopes.get(key);
    if (scoped === undefined) {
      const spans = this.processes.size === 1 && scopes.size === 0 ? takeSpare() : new WireWriter(FURTHER_BYTES);
      scoped = { name, version, scope: scopeBytes(name, version), spans };
      scopes.set(key, scoped);
    }
    this.lastScoped = scoped;
    return scoped;
  }
}

/**
 * The writer of the last request's first scope, reused because allocating fresh memory takes longer than writing. Most
 * requests have one scope.
 */
let spare: WireWriter | undefined;
const MAX_SPARE_BYTES = 1024 * 1024;
/** The initial size for further scopes: small, because a request may have as many scopes as spans. */
const FURTHER_BYTES = 64;

function takeSpare(): WireWriter {
  const writer = spare ?? new WireWriter(65_536);
  spare = undefined;
  writer.clear();
  return writer;
}

function keepSpare(writer: WireWriter): void {
  const { length } = writer.bytes;
  if (length <= MAX_SPARE_BYTES && length > (spare?.bytes.length ?? 0)) spare = writer;
}

/** A reused buffer. Its content is copied at its exact length, because there may be as many copies as spans. */
let scratch = new WireWriter(1024);

function takeScratch(): Uint8Array {
  const written = Buffer.from(scratch.written());
  if (scratch.bytes.length > MAX_SPARE_BYTES) scratch = new WireWriter(1024);
  return written;
}

function scopeBytes(name: string | undefined, version: string | undefined): Uint8Array {
  if (name === undefined) return NO_SCOPE;
  const out = scratch;
  out.clear();
  out.byte(OWNER_TAG);
  out.begin(name.length + 16);
  writeText(out, SCOPE_NAME_TAG, name);
  writeText(out, SCOPE_VERSION_TAG, version ?? "");
  out.end();
  return takeScratch();
}

const NO_SCOPE = new Uint8Array(0);

/** Starts the tag list of a process. */
export function beginProcess(tags: TagList, bytes: Buffer): void {
  tags.clear(bytes);
  tags.reserveFirst("service.name");
}

/**
 * Builds the resource of a process with these tags, whose service name is the text [start, end). Some tags are renamed
 * to OpenTelemetry's names, as in the Collector.
 */
export function endProcess(tags: TagList, bytes: Buffer, start: number, end: number): Uint8Array {
  if (start < end && bytes.toString("utf8", start, end) !== NO_JAEGER_SERVICE) tags.fillFirst(start, end);
  if (tags.has(SPECIAL.hostname) && !tags.has(SPECIAL.hostName)) tags.rename(SPECIAL.hostname, SPECIAL.hostName);
  const version = tags.textOf(SPECIAL.version);
  if (version !== undefined && !tags.has(SPECIAL.clientVersion))
    tags.replace(SPECIAL.version, SPECIAL.clientVersion, `Jaeger-${version}`);
  const out = scratch;
  out.clear();
  out.byte(OWNER_TAG);
  out.begin(512);
  tags.write(out, RESOURCE_ATTRIBUTES_TAG);
  out.end();
  return takeScratch();
}

function writeSpan(out: WireWriter, b: Uint8Array, span: SpanDraft): void {
  const { tags, ids, traceSize, spanSize, events } = span;
  const parent = parentOf(span);
  const kind = Math.max(0, JAEGER_KINDS.indexOf(tags.takeText(SPECIAL.kind) ?? ""));
  const code = takeStatus(tags, kind);
  const message = statusMessage;
  writeId(out, SPAN_TRACE_ID_TAG, ids, TRACE_AT, traceSize);
  writeId(out, SPAN_ID_TAG, ids, SPAN_AT, spanSize);
  writeText(out, SPAN_TRACE_STATE_TAG, tags.takeText(SPECIAL.traceState) ?? "");
  if (parent !== NO_PARENT) writeId(out, SPAN_PARENT_ID_TAG, ids, parent, SPAN_ID_BYTES);
  if (span.nameStart < span.nameEnd) {
    out.byte(SPAN_NAME_TAG);
    writeUtf8(out, b, span.nameStart, span.nameEnd);
  }
  if (kind > 0) {
    out.byte(SPAN_KIND_TAG);
    out.byte(kind);
  }
  const { startSeconds, startNanos } = span;
  writeTime(out, SPAN_START_TIME_TAG, startSeconds, startNanos);
  writeTime(out, SPAN_END_TIME_TAG, startSeconds + span.durationSeconds, startNanos + span.durationNanos);
  tags.write(out, SPAN_ATTRIBUTES_TAG);
  if (events.length > 0) out.copy(events.bytes, 0, events.length);
  for (let i = 0; i < span.referenceCount; i++) {
    if (!(span.referenceTypes[i] === CHILD_OF && isParent(span, i, parent))) writeLink(out, span, i);
  }
  if (code > 0) {
    out.byte(SPAN_STATUS_TAG);
    out.begin(message.length + 4);
    writeText(out, STATUS_MESSAGE_TAG, message);
    out.byte(STATUS_CODE_TAG);
    out.byte(code);
    out.end();
  }
  if (span.isSampled) {
    out.varint(SPAN_FLAGS_TAG);
    out.fixed32(SAMPLED);
  }
}

const SPAN_ID_BYTES = 8;
const CHILD_OF = 0;
const FOLLOWS_FROM = 1;
/** Means that there is no parent. */
const NO_PARENT = -1;

/**
 * The position of the parent's id. A span without a parent field is the child of a reference in its own trace,
 * preferably a CHILD_OF.
 */
function parentOf(span: SpanDraft): number {
  if (span.parentSize > 0 && !isZero(span.ids, PARENT_AT, span.parentSize)) return PARENT_AT;
  for (let type = CHILD_OF; type <= FOLLOWS_FROM; type++) {
    for (let i = 0; i < span.referenceCount; i++) {
      if (span.referenceTypes[i] !== type || !isInTrace(span, i)) continue;
      return span.referenceSpanSizes[i] === 0 ? NO_PARENT : span.referenceSpanAt(i);
    }
  }
  return NO_PARENT;
}

function isInTrace(span: SpanDraft, reference: number): boolean {
  const size = span.referenceTraceSizes[reference]!;
  return size === span.traceSize && areSame(span.ids, span.referenceTraceAt(reference), TRACE_AT, size);
}

/** Whether a reference names the parent; both may lack an id. */
function isParent(span: SpanDraft, reference: number, parent: number): boolean {
  const size = span.referenceSpanSizes[reference]!;
  if (size === 0 || parent === NO_PARENT) return size === 0 && parent === NO_PARENT;
  return areSame(span.ids, span.referenceSpanAt(reference), parent, size);
}

function writeLink(out: WireWriter, span: SpanDraft, i: number): void {
  const { ids } = span;
  out.byte(SPAN_LINKS_TAG);
  out.begin(80);
  writeId(out, SPAN_LINK_TRACE_ID_TAG, ids, span.referenceTraceAt(i), span.referenceTraceSizes[i]!);
  writeId(out, SPAN_LINK_SPAN_ID_TAG, ids, span.referenceSpanAt(i), span.referenceSpanSizes[i]!);
  out.byte(SPAN_LINK_ATTRIBUTES_TAG);
  out.begin(40);
  writeKeyValue(out, JAEGER_TAGS.refType, JAEGER_REF_TYPES[span.referenceTypes[i] === CHILD_OF ? 0 : 1]);
  out.end();
  out.end();
}

function writeText(out: WireWriter, field: number, text: string): void {
  if (text === "") return;
  out.byte(field);
  out.text(text);
}

/** An id of zeros counts as none. */
function writeId(out: WireWriter, field: number, ids: Buffer, at: number, size: number): void {
  if (isZero(ids, at, size)) return;
  out.byte(field);
  out.byte(size);
  out.copy(ids, at, at + size);
}

function isZero(ids: Buffer, at: number, size: number): boolean {
  for (let i = at; i < at + size; i++) if (ids[i] !== 0) return false;
  return true;
}

function areSame(ids: Buffer, a: number, b: number, size: number): boolean {
  for (let i = 0; i < size; i++) if (ids[a + i] !== ids[b + i]) return false;
  return true;
}
