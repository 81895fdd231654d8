import { Batch } from "#otlp";
import { encodeMessage, MESSAGES, type Tree, WireWriter, writeKeyValue } from "#otlp/bytes";
import { keyValues } from "#otlp/json";
import {
  RESOURCE_CONTAINER_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_END_TIME_TAG,
  SPAN_ID_TAG,
  SPAN_KIND_TAG,
  SPAN_NAME_TAG,
  SPAN_PARENT_ID_TAG,
  SPAN_START_TIME_TAG,
  SPAN_TRACE_ID_TAG,
  SPAN_TRACE_STATE_TAG,
} from "#otlp/tags";
import { parseJson } from "#text/json";
import {
  ENDPOINT_KEYS,
  isResourceKey,
  NO_SERVICE_NAME,
  ZIPKIN_KINDS,
  ZIPKIN_TAGS,
  type ZipkinEndpoint,
  type ZipkinSpan,
  type ZipkinTags,
} from "#traces";
import { readZipkinSpan } from "./read-zipkin.js";

/** Encoded spans of one resource and scope. */
interface SpanGroup {
  readonly owners: Uint8Array;
  readonly scope: Uint8Array;
  readonly spans: WireWriter;
}

interface Scope {
  readonly name: string | undefined;
  readonly version: string | undefined;
}

/**
 * Builds one batch of Zipkin's spans: each span is encoded as it is added. Spans with the same service, resource
 * attributes and scope are grouped.
 */
export class ZipkinBatchWriter {
  private readonly groups = new Map<string, SpanGroup>();
  /** The groups that have ended, in batches. */
  private readonly ended: Batch[] = [];
  /** How much of the request had been read when they ended. */
  private endedAt = 0;
  private readonly parsesTags: boolean;

  /** With `parsesTags`, tags that look like numbers or booleans are converted. */
  constructor(parsesTags: boolean) {
    this.parsesTags = parsesTags;
  }

  /**
   * Returns the spans to which it was added. Throws a `MalformedError` that says what is wrong with the span; `place` is
   * its index in the list.
   */
  add(json: unknown, place: number): WireWriter {
    const span = readZipkinSpan(json, place);
    const tags: ZipkinTags = new Map(Object.entries(span.tags ?? {}));
    const resource = takeResource(tags, span.localEndpoint?.serviceName);
    const scope = takeScope(tags);
    const { spans } = this.groupOf(resource, scope);
    spans.byte(SCOPE_ITEM_TAG);
    spans.begin(128);
    writeSpan(spans, span, tags, this.parsesTags);
    spans.end();
    return spans;
  }

  /**
   * Whether there are so many groups, or so much of the request has been read for them, that `endGroups` is due, lest all
   * of them are written and checked in one go at the end.
   */
  isCrowded(readTo: number): boolean {
    return this.groups.size >= MAX_GROUPS || readTo - this.endedAt >= MAX_READ_BYTES;
  }

  /** Writes the groups so far. Spans that are added later are in groups of their own. */
  endGroups(readTo: number): void {
    const groups = [...this.groups.values()];
    const out = new WireWriter(groups.reduce((sum, group) => sum + sizeOf(group) + ROOM_AROUND_GROUP, 0));
    for (const group of groups) {
      const { owners, scope, spans } = group;
      out.byte(RESOURCE_CONTAINER_TAG);
      out.begin(sizeOf(group) + 16);
      out.copy(owners, 0, owners.length);
      out.byte(SCOPE_CONTAINER_TAG);
      out.begin(scope.length + spans.length);
      out.copy(scope, 0, scope.length);
      out.copy(spans.bytes, 0, spans.length);
      out.end();
      out.end();
    }
    this.ended.push(Batch.admit("traces", out.written()));
    this.groups.clear();
    this.endedAt = readTo;
  }

  finish(): Batch {
    if (this.groups.size > 0 || this.ended.length === 0) this.endGroups(0);
    return Batch.merge(this.ended);
  }

  private groupOf(resource: readonly (readonly [string, string])[], scope: Scope): SpanGroup {
    const key = groupKey(resource, scope);
    let group = this.groups.get(key);
    if (group === undefined) {
      const attributes = keyValues(Object.fromEntries(resource));
      const owners = encoded("ResourceSpans", { resource: { attributes } });
      group = { owners, scope: encoded("ScopeSpans", { scope }), spans: new WireWriter(256) };
      this.groups.set(key, group);
    }
    return group;
  }
}

const MAX_GROUPS = 1000;
const MAX_READ_BYTES = 1024 * 1024;
/** Tags and lengths of the messages around a group. */
const ROOM_AROUND_GROUP = 32;

function sizeOf({ owners, scope, spans }: SpanGroup): number {
  return owners.length + scope.length + spans.length;
}

/** Lengths keep the parts of the key apart. */
function groupKey(resource: readonly (readonly [string, string])[], { name, version }: Scope): string {
  let key = `${name?.length} ${name}${version?.length} ${version}`;
  for (const [attribute, value] of resource) key += `${attribute.length} ${attribute}${value.length} ${value}`;
  return key;
}

function encoded(message: string, tree: object): Uint8Array {
  const writer = new WireWriter(256);
  encodeMessage(MESSAGES[message]!, tree, writer);
  return writer.written().slice();
}

/** A version without a name says nothing. */
function takeScope(tags: ZipkinTags): Scope {
  const [oldName, oldVersion] = [take(tags, ZIPKIN_TAGS.scopeName), take(tags, ZIPKIN_TAGS.scopeVersion)];
  const name = take(tags, "otel.scope.name") ?? oldName;
  const version = take(tags, "otel.scope.version") ?? oldVersion;
  return { name, version: name ? version : undefined };
}

/** Sorted, so equal attributes give the same resource. */
function takeResource(tags: ZipkinTags, service = NO_SERVICE_NAME): [string, string][] {
  const resource: [string, string][] = [];
  const source = take(tags, ZIPKIN_TAGS.nameSource) || "service.name";
  if (service !== NO_SERVICE_NAME && service !== "") resource.push([source, service]);
  for (const [key, value] of tags) {
    if (!isResourceKey(key)) continue;
    tags.delete(key);
    resource.push([key, value]);
  }
  return resource.length < 2 ? resource : resource.sort(([a], [b]) => (a < b ? -1 : 1));
}

function writeSpan(out: WireWriter, span: ZipkinSpan, tags: ZipkinTags, parsesTags: boolean): void {
  const { traceId, id, parentId, name = "", timestamp = 0, duration = 0, annotations = [] } = span;
  const traceState = take(tags, ZIPKIN_TAGS.traceState);
  const kind = kindOf(span.kind, tags);
  const status = takeStatus(tags);
  const links = takeLinks(tags);
  writeId(out, SPAN_TRACE_ID_TAG, traceId, 16);
  writeId(out, SPAN_ID_TAG, id, 8);
  if (traceState !== undefined) writeText(out, SPAN_TRACE_STATE_TAG, traceState);
  if (parentId !== undefined && parentId !== id) writeId(out, SPAN_PARENT_ID_TAG, parentId, 8);
  writeText(out, SPAN_NAME_TAG, name);
  if (kind !== 0) {
    out.byte(SPAN_KIND_TAG);
    out.byte(kind);
  }
  out.byte(SPAN_START_TIME_TAG);
  out.fixed64(nanos(timestamp));
  out.byte(SPAN_END_TIME_TAG);
  out.fixed64(nanos(timestamp + duration));
  for (const [key, value] of attributesOf(span, tags, parsesTags)) {
    out.byte(SPAN_ATTRIBUTES_TAG);
    out.begin(key.length + 16);
    writeKeyValue(out, key, value);
    out.end();
  }
  if (annotations.length === 0 && links.length === 0 && status === undefined) return;
  const events = annotations.map(({ timestamp: at, value }) => ({ timeUnixNano: nanos(at), ...eventOf(value) }));
  encodeMessage(MESSAGES["Span"]!, { events, links, status }, out);
}

/** The attributes from the remaining tags and the endpoints. */
function attributesOf(
  { localEndpoint, remoteEndpoint, timestamp = 0 }: ZipkinSpan,
  tags: ZipkinTags,
  parsesTags: boolean,
): Map<string, AttributeValue> {
  const attributes: Map<string, AttributeValue> = tags;
  if (parsesTags) for (const [key, text] of tags) attributes.set(key, parsedTag(text));
  addEndpoint(attributes, localEndpoint, ENDPOINT_KEYS.local);
  addEndpoint(attributes, remoteEndpoint, ENDPOINT_KEYS.remote);
  const peer = remoteEndpoint?.serviceName;
  if (peer) attributes.set(ENDPOINT_KEYS.remote.service, peer);
  if (timestamp === 0) attributes.set(ZIPKIN_TAGS.noStart, true);
  return attributes;
}

export type AttributeValue = string | boolean | number | bigint;

/** Writes hex digits, padded with leading zeros. */
function writeId(out: WireWriter, tag: number, hex: string, size: number): void {
  out.byte(tag);
  out.byte(size);
  out.reserve(size);
  out.bytes.write(hex.padStart(size * 2, "0"), out.length, size, "hex");
  out.length += size;
}

function writeText(out: WireWriter, tag: number, text: string): void {
  out.byte(tag);
  out.text(text);
}

function kindOf(kind: string | undefined, tags: ZipkinTags): number {
  const known = kind === undefined || kind === "" ? -1 : ZIPKIN_KINDS.indexOf(kind);
  if (known > 0) return known;
  return take(tags, ZIPKIN_TAGS.kind) === "internal" ? 1 : 0;
}

const STATUS_CODES_BY_TEXT: Readonly<Record<string, number>> = { UNSET: 0, OK: 1, ERROR: 2 };

/** An `error` tag with more information than `true` stays an attribute. */
function takeStatus(tags: ZipkinTags): object | undefined {
  const text = (tags.get(ZIPKIN_TAGS.statusCode) ?? "").replace("STATUS_CODE_", "").toUpperCase();
  const writtenCode = Object.hasOwn(STATUS_CODES_BY_TEXT, text) ? STATUS_CODES_BY_TEXT[text]! : undefined;
  let message: string | undefined;
  if (writtenCode !== undefined) {
    tags.delete(ZIPKIN_TAGS.statusCode);
    message = take(tags, ZIPKIN_TAGS.statusMessage);
  }
  const error = tags.get(ZIPKIN_TAGS.error);
  if (error === "true") tags.delete(ZIPKIN_TAGS.error);
  const code = error === undefined ? (writtenCode ?? 0) : 2;
  if (code === 0) return message === undefined ? undefined : { message };
  return { message, code };
}

/** Parses links that the Collector wrote into tags. A tag that only looks like a link stays an attribute. */
function takeLinks(tags: ZipkinTags): object[] {
  const links: object[] = [];
  for (let i = 0; ; i++) {
    const text = tags.get(ZIPKIN_TAGS.link + i);
    const found = text === undefined ? null : LINK.exec(text);
    const attributes = found && parsedAttributes(found[4]!);
    if (!found || !attributes) return links;
    tags.delete(ZIPKIN_TAGS.link + i);
    const [, traceId, spanId, traceState] = found;
    links.push({ traceId, spanId, traceState, attributes, droppedAttributesCount: Number(found[5]) });
  }
}

const LINK = /^([0-9a-f]{32})\|([0-9a-f]{16})\|([^|]*)\|(\{.*\})\|(\d{1,9})$/s;

/** Parses an event name, or name, attributes and dropped count in the Collector's notation. */
function eventOf(value: string): object {
  const separatorAt = value.indexOf("|{");
  const found = separatorAt < 0 ? null : EVENT_END.exec(value);
  const attributes = found && parsedAttributes(value.slice(separatorAt + 1, found.index + 1));
  if (!attributes) return { name: value };
  return { name: value.slice(0, separatorAt), attributes, droppedAttributesCount: Number(found[1]) };
}

const EVENT_END = /\}\|(\d{1,9})$/;

function parsedAttributes(json: string): Tree[] | undefined {
  try {
    return keyValues(parseJson(json) as Record<string, unknown>);
  } catch {
    return undefined;
  }
}

function addEndpoint(
  attributes: Map<string, AttributeValue>,
  endpoint: ZipkinEndpoint | undefined,
  keys: { readonly ip: string; readonly port: string },
): void {
  const ip = endpoint?.ipv6 ?? endpoint?.ipv4;
  if (ip) attributes.set(keys.ip, ip);
  if (endpoint?.port) attributes.set(keys.port, endpoint.port);
}

/** Numbers and booleans in Go's notation are converted; everything else is text. */
export function parsedTag(text: string): AttributeValue {
  if (text === "true" || text === "false") return text === "true";
  if (/^-?\d{1,19}$/.test(text)) {
    const integer = BigInt(text);
    return integer === BigInt.asIntN(64, integer) ? integer : text;
  }
  return /^-?\d+\.\d+$/.test(text) ? Number(text) + 0 : text; // adding 0 turns a negative zero into zero
}

function take(tags: ZipkinTags, key: string): string | undefined {
  const value = tags.get(key);
  tags.delete(key);
  return value;
}

function nanos(microseconds: number): bigint {
  return BigInt(microseconds) * 1000n;
}
