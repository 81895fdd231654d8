import { bodyEnd, decodeMessage, MESSAGES, nextBody, type WireWriter } from "#otlp/bytes";
import { DocumentJson, KeySet, labelOf, membersOf, plainValue, plainValueText, type TreeOwner } from "#otlp/json";
import { SPAN_KINDS, STATUS_CODES } from "#otlp/signals";
import {
  LOG_ATTRIBUTES_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_EVENT_ATTRIBUTES_TAG,
  SPAN_EVENTS_TAG,
  SPAN_LINK_ATTRIBUTES_TAG,
  SPAN_LINKS_TAG,
  STRING_VALUE_TAG,
} from "#otlp/tags";
import { EventFields, LinkFields, LogFields, SpanFields, StatusFields } from "#otlp/views";
import { capitalised } from "../elasticsearch/otel-documents.js";
import { isoTime } from "../times.js";
import type { OpenSearchConfig } from "./config.js";

/** The members that documents of the same resource and scope share. */
interface OwnerMembers {
  readonly scope: Uint8Array;
  readonly resource: Uint8Array;
  readonly schemaUrl: Uint8Array;
}

/** Writes documents of the mode ss4o, one per line, directly from the bytes of their records. */
export class SsoWriter {
  private readonly bytes: Uint8Array;
  private readonly dataStreams: { readonly log: Uint8Array; readonly span: Uint8Array };
  /** The observed time of records that have none. */
  private readonly observedNow: Uint8Array;
  private owner: TreeOwner | undefined;
  private members: OwnerMembers = { scope: NOTHING, resource: NOTHING, schemaUrl: NOTHING };
  private json: DocumentJson | undefined;

  constructor(bytes: Uint8Array, { dataset, namespace }: OpenSearchConfig, now: number) {
    this.bytes = bytes;
    const dataStream = (type: string) => membersOf({ data_stream: { dataset, namespace, type } });
    this.dataStreams = { log: dataStream("record"), span: dataStream("span") };
    this.observedNow = membersOf({ observedTimestamp: isoTime(BigInt(Math.trunc(now)) * 1_000_000n) });
  }

  writeLog(out: WireWriter, start: number, end: number, owner: TreeOwner): void {
    log.read(this.bytes, start, end);
    const json = this.begin(out);
    const shared = this.membersOf(owner);
    const from = out.length;
    json.mapAnd(ATTRIBUTES, start, end, LOG_ATTRIBUTES_TAG, DATA_STREAM, this.dataStreams.log);
    json.raw(BODY);
    this.body(json, log.bodyStart, log.bodyEnd);
    json.text(EVENT_NAME, log.nameStart, log.nameEnd);
    json.raw(shared.scope);
    if (log.observedAt < 0) json.raw(this.observedNow);
    else json.isoTime(OBSERVED_TIMESTAMP, log.observedAt);
    json.raw(shared.resource);
    json.raw(shared.schemaUrl);
    json.raw(SEVERITY);
    const severity = out.length;
    json.text(TEXT, log.severityStart, log.severityEnd);
    if (log.severityNumber !== 0) json.number(NUMBER, log.severityNumber | 0);
    json.close(severity);
    json.id(SPAN_ID, log.spanStart, log.spanEnd);
    json.isoTime(TIMESTAMP, json.hasTime(log.timeAt) ? log.timeAt : log.observedAt);
    json.id(TRACE_ID, log.traceStart, log.traceEnd);
    json.close(from);
    out.byte(NEW_LINE);
  }

  writeSpan(out: WireWriter, start: number, end: number, owner: TreeOwner): void {
    span.read(this.bytes, start, end);
    const json = this.begin(out);
    const shared = this.membersOf(owner);
    const from = out.length;
    json.mapAnd(ATTRIBUTES, start, end, SPAN_ATTRIBUTES_TAG, DATA_STREAM, this.dataStreams.span);
    json.number(DROPPED_ATTRIBUTES, span.droppedAttributes);
    json.number(DROPPED_EVENTS, span.droppedEvents);
    json.number(DROPPED_LINKS, span.droppedLinks);
    json.isoTime(END_TIME, span.endAt);
    if (span.hasEvents) this.list(json, EVENTS, start, end, SPAN_EVENTS_TAG, writeEvent);
    json.raw(shared.scope);
    json.raw(KINDS[span.kind] ?? NOTHING);
    if (span.hasLinks) this.list(json, LINKS, start, end, SPAN_LINKS_TAG, writeLink);
    json.anyText(NAME, span.nameStart, span.nameEnd);
    json.anyId(PARENT_SPAN_ID, span.parentStart, span.parentEnd);
    json.raw(shared.resource);
    json.anyId(SPAN_ID, span.spanStart, span.spanEnd);
    json.isoTime(START_TIME, span.startAt);
    status.read(this.bytes, span.statusStart, span.statusEnd);
    json.raw(STATUS);
    const statusFrom = out.length;
    json.raw(CODES[status.code] ?? NOTHING);
    json.anyText(MESSAGE, status.messageStart, status.messageEnd);
    json.close(statusFrom);
    json.isoTime(TIMESTAMP, span.startAt);
    json.anyId(TRACE_ID, span.traceStart, span.traceEnd);
    json.anyText(TRACE_STATE, span.stateStart, span.stateEnd);
    json.close(from);
    out.byte(NEW_LINE);
  }

  private begin(out: WireWriter): DocumentJson {
    if (this.json?.out !== out) this.json = new DocumentJson(this.bytes, out);
    return this.json;
  }

  private membersOf(owner: TreeOwner): OwnerMembers {
    if (owner === this.owner) return this.members;
    const { resource, scopeAttributes: attributes, scopeName, scopeUrl, scopeVersion, resourceUrl } = owner;
    const texts = Object.fromEntries(Object.entries(resource).map(([key, value]) => [key, plainValueText(value)]));
    const scope = {
      attributes,
      name: scopeName || undefined,
      schemaUrl: scopeUrl || undefined,
      version: scopeVersion || undefined,
    };
    this.owner = owner;
    this.members = {
      scope: membersOf({ instrumentationScope: scope }),
      resource: membersOf({ resource: texts }),
      schemaUrl: membersOf({ schemaUrl: scopeUrl || resourceUrl || undefined }),
    };
    return this.members;
  }

  /** Writes a body as text: a text as it is, an empty text for no value, everything else as JSON in a text. */
  private body(json: DocumentJson, start: number, end: number): void {
    const { bytes: b } = this;
    const textStart = nextBody(b, start, end, STRING_VALUE_TAG);
    if (textStart >= 0) return json.values.text(textStart, bodyEnd);
    const text = plainValueText(plainValue(decodeMessage(ANY_VALUE, b, start, end)));
    json.raw(Buffer.from(JSON.stringify(text)));
  }

  private list(
    json: DocumentJson,
    label: Uint8Array,
    start: number,
    end: number,
    tag: number,
    write: (json: DocumentJson, b: Uint8Array, start: number, end: number) => void,
  ): void {
    const { bytes: b } = this;
    const { out } = json;
    json.raw(label);
    const first = out.length;
    for (let p = start; (p = nextBody(b, p, end, tag)) >= 0; ) {
      const body = p;
      p = bodyEnd;
      if (out.length > first) out.byte(COMMA);
      const from = out.length;
      write(json, b, body, p);
      json.close(from);
    }
    out.byte(CLOSE_LIST);
  }
}

function writeEvent(json: DocumentJson, b: Uint8Array, start: number, end: number): void {
  event.read(b, start, end);
  json.map(ATTRIBUTES, start, end, SPAN_EVENT_ATTRIBUTES_TAG);
  json.number(DROPPED_ATTRIBUTES, event.droppedAttributes);
  json.anyText(NAME, event.nameStart, event.nameEnd);
  if (json.hasTime(event.timeAt)) json.isoTime(TIMESTAMP, event.timeAt);
}

function writeLink(json: DocumentJson, b: Uint8Array, start: number, end: number): void {
  link.read(b, start, end);
  json.map(ATTRIBUTES, start, end, SPAN_LINK_ATTRIBUTES_TAG);
  json.id(SPAN_ID, link.spanStart, link.spanEnd);
  json.id(TRACE_ID, link.traceStart, link.traceEnd);
  json.text(TRACE_STATE, link.stateStart, link.stateEnd);
  if (link.droppedAttributes !== 0) json.number(DROPPED_ATTRIBUTES, link.droppedAttributes);
}

/** The messages being written. */
const log = new LogFields();
const span = new SpanFields();
const event = new EventFields();
const link = new LinkFields();
const status = new StatusFields();

const NEW_LINE = 10;
const COMMA = 44;
const CLOSE_LIST = 93;
const NOTHING = Buffer.alloc(0);
const ANY_VALUE = MESSAGES["AnyValue"]!;
/** The member that every document has, in place of an attribute with its name. */
const DATA_STREAM = new KeySet(["data_stream"]);

const ATTRIBUTES = labelOf("attributes");
const BODY = labelOf("body");
const DROPPED_ATTRIBUTES = labelOf("droppedAttributesCount");
const DROPPED_EVENTS = labelOf("droppedEventsCount");
const DROPPED_LINKS = labelOf("droppedLinksCount");
const END_TIME = labelOf("endTime");
const EVENT_NAME = labelOf("eventName");
const EVENTS = Buffer.from(',"events":[');
const LINKS = Buffer.from(',"links":[');
const MESSAGE = labelOf("message");
const NAME = labelOf("name");
const NUMBER = labelOf("number");
const OBSERVED_TIMESTAMP = labelOf("observedTimestamp");
const PARENT_SPAN_ID = labelOf("parentSpanId");
const SEVERITY = labelOf("severity");
const SPAN_ID = labelOf("spanId");
const START_TIME = labelOf("startTime");
const STATUS = labelOf("status");
const TEXT = labelOf("text");
const TIMESTAMP = labelOf("@timestamp");
const TRACE_ID = labelOf("traceId");
const TRACE_STATE = labelOf("traceState");
const KINDS = SPAN_KINDS.map((kind) => Buffer.from(`,"kind":"${capitalised(kind)}"`));
const CODES = STATUS_CODES.map((code) => Buffer.from(`,"code":"${capitalised(code)}"`));
