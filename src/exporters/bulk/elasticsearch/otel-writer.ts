import { bodyEnd, decodeMessage, fieldTag, lengthAt, MESSAGES, nextBody, stepOver, type WireWriter } from "#otlp/bytes";
import {
  DocumentJson,
  findKeyAndValue,
  jsonText,
  KeySet,
  keyEnd,
  keyStart,
  labelOf,
  plainValue,
  valueEnd,
  valueStart,
} from "#otlp/json";
import { SPAN_KINDS, STATUS_CODES } from "#otlp/signals";
import {
  ARRAY_VALUE_TAG,
  BYTES_VALUE_TAG,
  KVLIST_VALUE_TAG,
  LOG_ATTRIBUTES_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_EVENT_ATTRIBUTES_TAG,
  SPAN_LINK_ATTRIBUTES_TAG,
  SPAN_LINKS_TAG,
  STRING_VALUE_TAG,
} from "#otlp/tags";
import { EventFields, LinkFields, LogFields, SpanFields, StatusFields } from "#otlp/views";
import { capitalised, isMap } from "./otel-documents.js";
import { ROUTING, ROUTING_KEYS } from "./route.js";

/** The parts of documents that do not depend on the record itself, as bytes. */
export interface SharedLines {
  /** The line before the document. */
  readonly action: Uint8Array;
  /** The member data_stream; empty if the document has none. */
  readonly dataStream: Uint8Array;
  /** The members resource and scope. */
  readonly owner: Uint8Array;
}

/** Writes documents of the mode otel directly from the bytes of their records, each after the line of its action. */
export class OtelWriter {
  private readonly bytes: Uint8Array;
  private readonly log = new LogFields();
  private readonly span = new SpanFields();
  private json: DocumentJson | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  writeLog(out: WireWriter, start: number, end: number, shared: SharedLines): void {
    const { log } = this;
    log.read(this.bytes, start, end);
    const json = this.begin(out, shared.action);
    const from = out.length;
    json.epochMillis(TIMESTAMP, json.hasTime(log.timeAt) ? log.timeAt : log.observedAt);
    if (log.observedAt >= 0) json.epochMillis(OBSERVED_TIMESTAMP, log.observedAt);
    json.raw(shared.dataStream);
    json.text(SEVERITY_TEXT, log.severityStart, log.severityEnd);
    if (log.severityNumber !== 0) json.number(SEVERITY_NUMBER, log.severityNumber | 0);
    json.id(TRACE_ID, log.traceStart, log.traceEnd);
    json.id(SPAN_ID, log.spanStart, log.spanEnd);
    json.map(ATTRIBUTES, start, end, LOG_ATTRIBUTES_TAG, ROUTING_KEYS);
    if (log.droppedAttributes !== 0) json.number(DROPPED_ATTRIBUTES, log.droppedAttributes);
    if (log.nameStart < log.nameEnd) json.text(EVENT_NAME, log.nameStart, log.nameEnd);
    else this.eventNameAttribute(json, start, end);
    json.raw(shared.owner);
    if (log.bodyStart < log.bodyEnd) this.body(json, log.bodyStart, log.bodyEnd);
    endLine(json, from);
  }

  writeSpan(out: WireWriter, start: number, end: number, shared: SharedLines): void {
    const { span } = this;
    span.read(this.bytes, start, end);
    const json = this.begin(out, shared.action);
    const from = out.length;
    json.epochMillis(TIMESTAMP, span.startAt);
    json.raw(shared.dataStream);
    json.id(TRACE_ID, span.traceStart, span.traceEnd);
    json.id(SPAN_ID, span.spanStart, span.spanEnd);
    json.text(TRACE_STATE, span.stateStart, span.stateEnd);
    json.id(PARENT_SPAN_ID, span.parentStart, span.parentEnd);
    json.text(NAME, span.nameStart, span.nameEnd);
    json.raw(KINDS[span.kind] ?? NOTHING);
    json.number(DURATION, json.nanosBetween(span.startAt, span.endAt));
    json.map(ATTRIBUTES, start, end, SPAN_ATTRIBUTES_TAG, ROUTING_KEYS);
    if (span.droppedAttributes !== 0) json.number(DROPPED_ATTRIBUTES, span.droppedAttributes);
    if (span.droppedEvents !== 0) json.number(DROPPED_EVENTS, span.droppedEvents);
    this.links(json, start, span.hasLinks ? end : start);
    if (span.droppedLinks !== 0) json.number(DROPPED_LINKS, span.droppedLinks);
    this.status(json, span.statusStart, span.statusEnd);
    json.raw(shared.owner);
    endLine(json, from);
  }

  /** Writes an event of the span [spanStart, spanEnd). */
  writeEvent(
    out: WireWriter,
    spanStart: number,
    spanEnd: number,
    start: number,
    end: number,
    shared: SharedLines,
  ): void {
    const { span } = this;
    span.read(this.bytes, spanStart, spanEnd);
    event.read(this.bytes, start, end);
    const json = this.begin(out, shared.action);
    const from = out.length;
    json.epochMillis(TIMESTAMP, event.timeAt);
    json.raw(shared.dataStream);
    json.id(TRACE_ID, span.traceStart, span.traceEnd);
    json.id(SPAN_ID, span.spanStart, span.spanEnd);
    if (event.droppedAttributes !== 0) json.number(DROPPED_ATTRIBUTES, event.droppedAttributes);
    json.text(EVENT_NAME, event.nameStart, event.nameEnd);
    this.eventAttributes(json, start, end);
    json.raw(shared.owner);
    endLine(json, from);
  }

  /** Writes the line of the action. */
  private begin(out: WireWriter, action: Uint8Array): DocumentJson {
    if (this.json?.out !== out) this.json = new DocumentJson(this.bytes, out);
    this.json.raw(action);
    return this.json;
  }

  /** The attribute event.name is the name of a log record without one, if it is a text. */
  private eventNameAttribute(json: DocumentJson, start: number, end: number): void {
    const { bytes: b } = this;
    let [from, to] = [-1, -1];
    for (let p = start; (p = nextBody(b, p, end, LOG_ATTRIBUTES_TAG)) >= 0; ) {
      const at = lengthAt;
      p = bodyEnd;
      findKeyAndValue(b, at, p);
      if (EVENT_NAME_KEY.has(b, keyStart, keyEnd)) [from, to] = [valueStart, valueEnd];
    }
    if (from < 0) return;
    const name = plainValue(decodeMessage(ANY_VALUE, b, from, to));
    if (typeof name !== "string") return;
    json.raw(EVENT_NAME);
    json.raw(Buffer.from(JSON.stringify(name)));
  }

  /** An event has its name among its attributes, in place of an attribute event.name. */
  private eventAttributes(json: DocumentJson, start: number, end: number): void {
    if (event.nameStart === event.nameEnd)
      return json.map(ATTRIBUTES, start, end, SPAN_EVENT_ATTRIBUTES_TAG, ROUTING_KEYS);
    const { out, values } = json;
    json.raw(ATTRIBUTES);
    const from = out.length;
    if (values.map(start, end, SPAN_EVENT_ATTRIBUTES_TAG, ROUTING_AND_NAME)) out.length--;
    json.text(EVENT_NAME_ATTRIBUTE, event.nameStart, event.nameEnd);
    json.close(from);
  }

  /** Writes a map as structured fields, and any other value as text. A list is put into a map, unless it has only maps. */
  private body(json: DocumentJson, start: number, end: number): void {
    const { bytes: b } = this;
    const { out } = json;
    const from = out.length;
    const tag = valueTag(b, start, end);
    if (tag === ARRAY_VALUE_TAG) {
      const value = plainValue(decodeMessage(ANY_VALUE, b, start, end)) as unknown[];
      json.raw(STRUCTURED);
      json.raw(Buffer.from(jsonText(value.every(isMap) ? value : { value })));
    } else {
      json.raw(tag === KVLIST_VALUE_TAG ? STRUCTURED : TEXT);
      if (!json.values.valueUnlessNull(start, end)) {
        out.length = from;
        return;
      }
    }
    out.byte(CLOSE_OBJECT);
  }

  private links(json: DocumentJson, start: number, end: number): void {
    const { bytes: b } = this;
    const { out } = json;
    json.raw(LINKS);
    const first = out.length;
    for (let p = start; (p = nextBody(b, p, end, SPAN_LINKS_TAG)) >= 0; ) {
      const body = p;
      p = bodyEnd;
      if (out.length > first) out.byte(COMMA);
      const from = out.length;
      link.read(b, body, p);
      json.id(TRACE_ID, link.traceStart, link.traceEnd);
      json.id(SPAN_ID, link.spanStart, link.spanEnd);
      json.text(TRACE_STATE, link.stateStart, link.stateEnd);
      json.map(ATTRIBUTES, body, p, SPAN_LINK_ATTRIBUTES_TAG);
      json.close(from);
    }
    out.byte(CLOSE_LIST);
  }

  private status(json: DocumentJson, start: number, end: number): void {
    json.raw(STATUS);
    const from = json.out.length;
    status.read(this.bytes, start, end);
    json.text(MESSAGE, status.messageStart, status.messageEnd);
    if (status.code !== 0) json.raw(CODES[status.code] ?? NOTHING);
    json.close(from);
  }
}

/** Returns the tag of an AnyValue's first known field; 0 if it has no value. */
function valueTag(b: Uint8Array, start: number, end: number): number {
  for (let p = start; p < end; ) {
    p = stepOver(b, p);
    if (fieldTag >= STRING_VALUE_TAG && fieldTag <= BYTES_VALUE_TAG) return fieldTag;
  }
  return 0;
}

/** The messages being written. */
const event = new EventFields();
const link = new LinkFields();
const status = new StatusFields();

function endLine(json: DocumentJson, from: number): void {
  json.close(from);
  json.out.byte(NEW_LINE);
}

const NEW_LINE = 10;
const COMMA = 44;
const CLOSE_LIST = 93;
const CLOSE_OBJECT = 125;
const NOTHING = Buffer.alloc(0);
const ANY_VALUE = MESSAGES["AnyValue"]!;
const EVENT_NAME_KEY = new KeySet(["event.name"]);
const ROUTING_AND_NAME = new KeySet([...ROUTING, "event.name"]);

const TIMESTAMP = labelOf("@timestamp");
const OBSERVED_TIMESTAMP = labelOf("observed_timestamp");
const SEVERITY_TEXT = labelOf("severity_text");
const SEVERITY_NUMBER = labelOf("severity_number");
const TRACE_ID = labelOf("trace_id");
const SPAN_ID = labelOf("span_id");
const TRACE_STATE = labelOf("trace_state");
const PARENT_SPAN_ID = labelOf("parent_span_id");
const NAME = labelOf("name");
const DURATION = labelOf("duration");
const ATTRIBUTES = labelOf("attributes");
const DROPPED_ATTRIBUTES = labelOf("dropped_attributes_count");
const DROPPED_EVENTS = labelOf("dropped_events_count");
const DROPPED_LINKS = labelOf("dropped_links_count");
const EVENT_NAME = labelOf("event_name");
const EVENT_NAME_ATTRIBUTE = labelOf("event.name");
const MESSAGE = labelOf("message");
const STATUS = labelOf("status");
const LINKS = Buffer.from(',"links":[');
const STRUCTURED = Buffer.from(',"body":{"structured":');
const TEXT = Buffer.from(',"body":{"text":');
const KINDS = SPAN_KINDS.map((kind) => Buffer.from(`,"kind":"${capitalised(kind)}"`));
const CODES = STATUS_CODES.map((code) => Buffer.from(`,"code":"${capitalised(code)}"`));
