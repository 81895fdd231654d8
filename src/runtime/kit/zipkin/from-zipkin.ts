import { Batch } from "../../telemetry/batch.js";
import { encodeMessage } from "../../telemetry/bytes/encode.js";
import { MESSAGES } from "../../telemetry/bytes/messages.js";
import { RESOURCE_CONTAINER_TAG, SCOPE_CONTAINER_TAG, SCOPE_ITEM_TAG } from "../../telemetry/bytes/tags.js";
import { WireWriter } from "../../telemetry/bytes/writer.js";
import type { Tree } from "../../telemetry/json/tree.js";
import { keyValues } from "../messages/any-value.js";
import { readZipkinSpan } from "./read-zipkin.js";
import { isResourceKey } from "./resource-keys.js";
import {
  ENDPOINT_KEYS,
  NO_SERVICE_NAME,
  ZIPKIN_KINDS,
  ZIPKIN_TAGS,
  type ZipkinEndpoint,
  type ZipkinSpan,
  type ZipkinTags,
} from "./zipkin-span.js";

/** Spans of one resource and scope. */
interface SpanGroup {
  readonly owners: Uint8Array;
  readonly scope: Uint8Array;
  readonly spans: WireWriter;
}

/**
 * Makes one batch of Zipkin's spans: each becomes bytes as it is added. Spans with the same service, attributes of the resource and
 * scope are put together.
 */
export class ZipkinBatchWriter {
  private readonly groups = new Map<string, SpanGroup>();
  private readonly parsesTags: boolean;
  private count = 0;

  /** With `parsesTags`, tags that look like numbers and booleans become such. */
  constructor(parsesTags: boolean) {
    this.parsesTags = parsesTags;
  }

  /** Throws a `MalformedError` that names what is wrong with the span. */
  add(json: unknown): void {
    const span = readZipkinSpan(json, this.count++);
    const tags: ZipkinTags = new Map(Object.entries(span.tags ?? {}));
    const resource = takeResource(tags, span.localEndpoint?.serviceName);
    const scope = {
      name: take(tags, "otel.scope.name") ?? take(tags, ZIPKIN_TAGS.scopeName),
      version: take(tags, "otel.scope.version") ?? take(tags, ZIPKIN_TAGS.scopeVersion),
    };
    const { spans } = this.groupOf(resource, scope);
    spans.byte(SCOPE_ITEM_TAG);
    spans.begin(128);
    encodeMessage(MESSAGES["Span"]!, spanTree(span, tags, this.parsesTags), spans);
    spans.end();
  }

  finish(): Batch {
    const out = new WireWriter(65_536);
    for (const { owners, scope, spans } of this.groups.values()) {
      out.byte(RESOURCE_CONTAINER_TAG);
      out.begin(owners.length + scope.length + spans.length + 16);
      out.copy(owners, 0, owners.length);
      out.byte(SCOPE_CONTAINER_TAG);
      out.begin(scope.length + spans.length);
      out.copy(scope, 0, scope.length);
      out.copy(spans.bytes, 0, spans.length);
      out.end();
      out.end();
    }
    return Batch.admit("traces", out.written());
  }

  private groupOf(resource: Readonly<Record<string, string>>, scope: object): SpanGroup {
    const key = JSON.stringify([resource, scope]);
    let group = this.groups.get(key);
    if (group === undefined) {
      const owners = encoded("ResourceSpans", { resource: { attributes: keyValues(resource) } });
      group = { owners, scope: encoded("ScopeSpans", { scope }), spans: new WireWriter(1024) };
      this.groups.set(key, group);
    }
    return group;
  }
}

function encoded(message: string, tree: object): Uint8Array {
  const writer = new WireWriter(256);
  encodeMessage(MESSAGES[message]!, tree, writer);
  return writer.written().slice();
}

/** Sorted, so that the same attributes are the same resource. */
function takeResource(tags: ZipkinTags, service = NO_SERVICE_NAME): Record<string, string> {
  const resource: [string, string][] = [];
  const source = take(tags, ZIPKIN_TAGS.nameSource) || "service.name";
  if (service !== NO_SERVICE_NAME && service !== "") resource.push([source, service]);
  for (const [key, value] of tags) {
    if (!isResourceKey(key)) continue;
    tags.delete(key);
    resource.push([key, value]);
  }
  return Object.fromEntries(resource.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function spanTree(span: ZipkinSpan, tags: ZipkinTags, parsesTags: boolean): object {
  const { id, parentId, timestamp = 0, duration = 0 } = span;
  const traceState = take(tags, ZIPKIN_TAGS.traceState);
  const kind = kindOf(span.kind, tags);
  const status = takeStatus(tags);
  const links = takeLinks(tags);
  const attributes: [string, unknown][] = [...tags].map(([key, text]) => [key, parsesTags ? parsedTag(text) : text]);
  addEndpoint(attributes, span.localEndpoint, ENDPOINT_KEYS.local);
  addEndpoint(attributes, span.remoteEndpoint, ENDPOINT_KEYS.remote);
  const peer = span.remoteEndpoint?.serviceName;
  if (peer) attributes.push([ENDPOINT_KEYS.remote.service, peer]);
  if (timestamp === 0) attributes.push([ZIPKIN_TAGS.noStart, true]);
  return {
    traceId: span.traceId.padStart(span.traceId.length > 16 ? 32 : 16, "0").padStart(32, "0"),
    spanId: id.padStart(16, "0"),
    traceState,
    parentSpanId: parentId === undefined || parentId === id ? undefined : parentId.padStart(16, "0"),
    name: span.name,
    kind: kind || undefined,
    startTimeUnixNano: nanos(timestamp),
    endTimeUnixNano: nanos(timestamp + duration),
    attributes: keyValues(Object.fromEntries(attributes)),
    events: (span.annotations ?? []).map(({ timestamp: at, value }) => ({
      timeUnixNano: nanos(at),
      ...eventOf(value),
    })),
    links,
    status,
  };
}

function kindOf(kind: string | undefined, tags: ZipkinTags): number {
  const known = kind === undefined || kind === "" ? -1 : ZIPKIN_KINDS.indexOf(kind);
  if (known > 0) return known;
  if (tags.get(ZIPKIN_TAGS.kind) !== "internal") return 0;
  tags.delete(ZIPKIN_TAGS.kind);
  return 1;
}

const STATUS_CODES_BY_TEXT: Readonly<Record<string, number>> = { UNSET: 0, OK: 1, ERROR: 2 };

/** An `error` that says more than true stays an attribute. */
function takeStatus(tags: ZipkinTags): object | undefined {
  const text = (tags.get(ZIPKIN_TAGS.statusCode) ?? "").replace("STATUS_CODE_", "").toUpperCase();
  const told = Object.hasOwn(STATUS_CODES_BY_TEXT, text) ? STATUS_CODES_BY_TEXT[text]! : undefined;
  let message: string | undefined;
  if (told !== undefined) {
    tags.delete(ZIPKIN_TAGS.statusCode);
    message = take(tags, ZIPKIN_TAGS.statusMessage);
  }
  const error = tags.get(ZIPKIN_TAGS.error);
  if (error === "true") tags.delete(ZIPKIN_TAGS.error);
  const code = error === undefined ? (told ?? 0) : 2;
  return code === 0 && message === undefined ? undefined : { code, message };
}

/** Links as the Collector writes them into tags. A tag that only looks like one stays an attribute. */
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

/** The name of an event, or name, attributes and how many were dropped, as the Collector writes them. */
function eventOf(value: string): object {
  const bar = value.indexOf("|{");
  const found = bar < 0 ? null : EVENT_END.exec(value);
  const attributes = found && parsedAttributes(value.slice(bar + 1, found.index + 1));
  if (!attributes) return { name: value };
  return { name: value.slice(0, bar), attributes, droppedAttributesCount: Number(found[1]) };
}

const EVENT_END = /\}\|(\d{1,9})$/;

function parsedAttributes(json: string): Tree[] | undefined {
  try {
    return keyValues(JSON.parse(json) as Record<string, unknown>);
  } catch {
    return undefined;
  }
}

function addEndpoint(
  attributes: [string, unknown][],
  endpoint: ZipkinEndpoint | undefined,
  keys: { readonly ip: string; readonly port: string },
): void {
  const ip = endpoint?.ipv6 ?? endpoint?.ipv4;
  if (ip) attributes.push([keys.ip, ip]);
  if (endpoint?.port) attributes.push([keys.port, endpoint.port]);
}

/** Numbers and booleans as Go writes them; all else is text. */
function parsedTag(text: string): unknown {
  if (text === "true" || text === "false") return text === "true";
  if (/^-?\d{1,19}$/.test(text)) return BigInt(text);
  return /^-?\d+\.\d+([eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
}

function take(tags: ZipkinTags, key: string): string | undefined {
  const value = tags.get(key);
  tags.delete(key);
  return value;
}

function nanos(microseconds: number): bigint {
  return BigInt(microseconds) * 1000n;
}
