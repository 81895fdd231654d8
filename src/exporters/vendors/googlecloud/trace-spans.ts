import { decodeMessage, decodeText, MESSAGES, message, nextBody } from "#otlp/bytes";
import {
  type KeyValueTree,
  type PlainAttributes,
  plainAttributes,
  plainObject,
  plainValueText,
  treeHex,
} from "#otlp/json";
import { SCOPE_NAME_TAG, SCOPE_VERSION_TAG, SPAN_ATTRIBUTES_TAG, SPAN_LINKS_TAG } from "#otlp/tags";
import { SpanFields, StatusFields } from "#otlp/views";
import type { Tree } from "../../../plugin.js";
import { monitoredResource } from "../google-resource.js";
import type { RecordOwner } from "../record-pages.js";
import type { GoogleCloudConfig } from "./config.js";

/** The API's limits: attributes, annotations and links of a span, and bytes of names, keys and values. */
const MAX_ATTRIBUTES = 32;
const MAX_EVENTS = 32;
const MAX_LINKS = 128;
const MAX_NAME_BYTES = 128;
const MAX_VALUE_BYTES = 256;
const KINDS = ["INTERNAL", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const OK = 1;
const ERROR = 2;
/** The code UNKNOWN of google.rpc.Code. */
const UNKNOWN = 2;
/** Names under which Cloud Trace shows attributes in a prominent place. */
const USUAL_NAMES: Readonly<Record<string, string>> = {
  "http.host": "/http/host",
  "http.method": "/http/method",
  "http.path": "/http/path",
  "http.status_code": "/http/status_code",
  "http.user_agent": "/http/user_agent",
};

/** Writes spans as those of traces.batchWrite of Cloud Trace. */
export class GoogleSpanWriter {
  private readonly bytes: Uint8Array;
  private readonly project: string;
  private readonly nameOf: (key: string) => string;
  private owner: RecordOwner | undefined;
  private ownerAttributes: PlainAttributes = {};

  constructor(bytes: Uint8Array, project: string, { trace }: GoogleCloudConfig) {
    this.bytes = bytes;
    this.project = project;
    const mappings = trace.attribute_mappings;
    const renamed = new Map((mappings ?? []).map(({ key, replacement }) => [key, replacement]));
    this.nameOf = (key) => (mappings == null ? USUAL_NAMES[key] : renamed.get(key)) ?? key;
  }

  span(start: number, end: number, owner: RecordOwner): Readonly<Record<string, unknown>> {
    const { bytes: b, project } = this;
    if (owner !== this.owner) this.enter(owner);
    span.read(b, start, end);
    status.read(b, span.statusStart, span.statusEnd);
    const hex = (from: number, to: number) => Buffer.prototype.hexSlice.call(b, from, to);
    const text = (from: number, to: number) => Buffer.prototype.utf8Slice.call(b, from, to);
    const [traceId, spanId, parentId] = [
      hex(span.traceStart, span.traceEnd),
      hex(span.spanStart, span.spanEnd),
      hex(span.parentStart, span.parentEnd),
    ];
    const own = plainAttributes(b, start, end, SPAN_ATTRIBUTES_TAG);
    return {
      name: `projects/${project}/traces/${traceId}/spans/${spanId}`,
      spanId,
      ...(parentId !== "" && { parentSpanId: parentId }),
      displayName: truncated(text(span.nameStart, span.nameEnd), MAX_NAME_BYTES),
      startTime: isoTime(b, span.startAt),
      endTime: isoTime(b, span.endAt),
      // Those of the span come first, and win.
      attributes: this.attributes({ ...own, ...this.ownerAttributes, ...own }),
      spanKind: KINDS[span.kind] ?? KINDS[0],
      ...(status.code === OK && { status: { code: 0 } }),
      ...(status.code === ERROR && {
        status: { code: UNKNOWN, message: text(status.messageStart, status.messageEnd) },
      }),
      ...this.eventsAndLinks(start, end),
    };
  }

  private enter(owner: RecordOwner): void {
    const { scopeStart, scopeEnd, resource } = owner;
    const scope = (tag: number) => decodeText(this.bytes, ...message(this.bytes, scopeStart, scopeEnd, tag));
    const [name, version] = [scope(SCOPE_NAME_TAG), scope(SCOPE_VERSION_TAG)];
    const { type, labels } = monitoredResource(resource);
    this.owner = owner;
    this.ownerAttributes = {
      ...resource,
      ...(name !== "" && { "otel.scope.name": name }),
      ...(version !== "" && { "otel.scope.version": version }),
      ...Object.fromEntries(Object.entries(labels).map(([label, value]) => [`g.co/r/${type}/${label}`, value])),
    };
  }

  private attributes(attributes: PlainAttributes) {
    const entries = Object.entries(attributes)
      .map(([key, value]) => [this.nameOf(key), traceValue(value)] as const)
      .filter(([key]) => Buffer.byteLength(key) <= MAX_NAME_BYTES);
    const attributeMap = Object.fromEntries(entries.slice(0, MAX_ATTRIBUTES));
    const dropped = Object.keys(attributes).length - Math.min(entries.length, MAX_ATTRIBUTES);
    return { attributeMap, ...(dropped > 0 && { droppedAttributesCount: dropped }) };
  }

  private eventsAndLinks(start: number, end: number): object {
    const hasLinks = nextBody(this.bytes, start, end, SPAN_LINKS_TAG) >= 0;
    if (!span.hasEvents && !hasLinks) return {};
    const { events = [], links = [] } = decodeMessage(MESSAGES["Span"]!, this.bytes, start, end) as {
      events?: readonly Tree[];
      links?: readonly Tree[];
    };
    return {
      ...(events.length > 0 && { timeEvents: this.timeEvents(events) }),
      ...(links.length > 0 && { links: this.links(links) }),
    };
  }

  private timeEvents(events: readonly Tree[]): object {
    const timeEvent = events.slice(0, MAX_EVENTS).map((event) => ({
      time: isoNanos((event["timeUnixNano"] as bigint | undefined) ?? 0n),
      annotation: {
        description: truncated(plainValueText(event["name"]), MAX_VALUE_BYTES),
        attributes: this.attributes(plainObject(event["attributes"] as unknown as KeyValueTree[])),
      },
    }));
    return { timeEvent, droppedAnnotationsCount: Math.max(0, events.length - MAX_EVENTS) };
  }

  private links(links: readonly Tree[]): object {
    const link = links.slice(0, MAX_LINKS).map((each) => ({
      traceId: treeHex(each["traceId"]),
      spanId: treeHex(each["spanId"]),
      type: "TYPE_UNSPECIFIED",
      attributes: this.attributes(plainObject(each["attributes"] as unknown as KeyValueTree[])),
    }));
    return { link, droppedLinksCount: Math.max(0, links.length - MAX_LINKS) };
  }
}

const span = new SpanFields();
const status = new StatusFields();

function traceValue(value: unknown): object {
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value)))
    return { intValue: String(value) };
  return { stringValue: truncated(plainValueText(value), MAX_VALUE_BYTES) };
}

/** Returns a TruncatableString, which says how many bytes it lacks. */
function truncated(text: string, maxBytes: number): object {
  if (text.length * 3 <= maxBytes) return { value: text };
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return { value: text };
  let end = maxBytes;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--; // not within a character
  return { value: bytes.toString("utf8", 0, end), truncatedByteCount: bytes.length - end };
}

function isoTime(b: Uint8Array, at: number): string {
  return isoNanos(at < 0 ? 0n : new DataView(b.buffer, b.byteOffset + at, 8).getBigUint64(0, true));
}

function isoNanos(nanos: bigint): string {
  const seconds = Math.min(Number(nanos / 1_000_000_000n), MAX_SECONDS);
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(nanos % 1_000_000_000n).padStart(9, "0")}Z`;
}

/** The end of the year 9999, beyond which the API has no times. */
const MAX_SECONDS = 253_402_300_799;
