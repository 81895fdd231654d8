import { deadLetterOf } from "#contract/operations";
import { bodyEnd, decodeMessage, fixed32, lengthAt, MESSAGES, nextBody, type WireWriter } from "#otlp/bytes";
import {
  findKeyAndValue,
  JsonWriter,
  jsonText,
  KeySet,
  keyEnd,
  keyStart,
  PlainJsonWriter,
  plainValue,
  putPadded,
  type TreeOwner,
  valueEnd,
  valueStart,
  writeAscii,
  writeHex,
} from "#otlp/json";
import { nanos, SPAN_KINDS, STATUS_CODES, seconds, splitNanos } from "#otlp/signals";
import {
  KEY_TAG,
  LOG_ATTRIBUTES_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_EVENT_ATTRIBUTES_TAG,
  SPAN_EVENTS_TAG,
  VALUE_TAG,
} from "#otlp/tags";
import { EventFields, LogFields, SpanFields, StatusFields } from "#otlp/views";
import type { Batch } from "../../../plugin.js";
import { type AlertFacts, textOf } from "../record-facts.js";

/** The facts that records of the same resource and scope share, as JSON. */
interface OwnerFacts {
  readonly owner: TreeOwner;
  readonly resource: Uint8Array;
  readonly scope: Uint8Array;
  readonly service: Uint8Array;
  readonly deadLetter: Uint8Array;
}

/** Writes facts of log records or spans as JSON directly from their bytes. Invalid UTF-8 stays as it is. */
export class FactWriter {
  private readonly bytes: Uint8Array;
  private readonly out: WireWriter;
  private readonly values: PlainJsonWriter;
  private readonly isLog: boolean;
  private readonly signal: Uint8Array;
  private readonly attributesTag: number;
  private readonly json: JsonWriter;
  private readonly log = new LogFields();
  private readonly span = new SpanFields();
  /** The one of the two that is read. */
  private readonly record: LogFields | SpanFields;
  private shared: OwnerFacts | undefined;
  private start = 0;
  private end = 0;

  constructor({ signal, bytes }: Batch, out: WireWriter) {
    this.bytes = bytes;
    this.out = out;
    this.values = new PlainJsonWriter(bytes, out);
    this.json = new JsonWriter(bytes, out);
    this.isLog = signal === "logs";
    this.record = this.isLog ? this.log : this.span;
    this.signal = jsonBytes(signal);
    this.attributesTag = this.isLog ? LOG_ATTRIBUTES_TAG : SPAN_ATTRIBUTES_TAG;
  }

  /** Chooses the record whose facts are written next. */
  read(start: number, end: number, owner: TreeOwner): void {
    this.start = start;
    this.end = end;
    this.record.read(this.bytes, start, end);
    if (this.shared?.owner !== owner) this.shared = ownerFacts(owner);
  }

  write(name: keyof AlertFacts): void {
    const { out, log, span, record, values, isLog } = this;
    switch (name) {
      case "signal":
        return this.raw(this.signal);
      case "name":
        return record.nameStart > 0 ? values.text(record.nameStart, record.nameEnd) : this.eventName();
      case "body":
        return values.value(log.bodyStart, log.bodyEnd);
      case "attributes":
        return this.map(this.start, this.end, this.attributesTag);
      case "resource":
        return this.raw(this.shared!.resource);
      case "scope":
        return this.raw(this.shared!.scope);
      case "service":
        return this.raw(this.shared!.service);
      case "severity":
        return values.text(log.severityStart, log.severityEnd);
      case "severity_number":
        return writeAscii(String(log.severityNumber | 0), out);
      case "time":
        return this.time(isLog ? (log.timeAt >= 0 ? log.timeAt : log.observedAt) : span.startAt);
      case "trace_id":
        return writeHex(this.bytes, record.traceStart, record.traceEnd, out);
      case "span_id":
        return writeHex(this.bytes, record.spanStart, record.spanEnd, out);
      case "kind":
        return this.raw(isLog ? EMPTY_TEXT : (KINDS[span.kind] ?? EMPTY_TEXT));
      case "status":
        status.read(this.bytes, span.statusStart, span.statusEnd);
        return this.raw(isLog ? EMPTY_TEXT : (CODES[status.code] ?? EMPTY_TEXT));
      case "status_message":
        return values.text(status.messageStart, status.messageEnd);
      case "exceptions":
        return this.exceptions();
      case "record":
        return this.json.message(isLog ? LOG_RECORD : SPAN, this.start, this.end);
      case "dead_letter":
        return this.raw(this.shared!.deadLetter);
    }
  }

  private raw(json: Uint8Array): void {
    this.out.copy(json, 0, json.length);
  }

  private map(start: number, end: number, tag: number): void {
    if (!this.values.map(start, end, tag)) writeAscii("{}", this.out);
  }

  /** The attribute event.name is the name of a record without one. */
  private eventName(): void {
    const { bytes: b, end } = this;
    let [from, to] = [-1, -1];
    for (let p = this.start; (p = nextBody(b, p, end, this.attributesTag)) >= 0; ) {
      const at = lengthAt;
      const body = p;
      p = bodyEnd;
      if (isOtherKey(b, body, p)) continue;
      findKeyAndValue(b, at, p);
      if (EVENT_NAME.has(b, keyStart, keyEnd)) [from, to] = [valueStart, valueEnd];
    }
    if (from < 0) return this.raw(EMPTY_TEXT);
    const value: unknown = JSON.parse(jsonText(plainValue(decodeMessage(ANY_VALUE, b, from, to))));
    this.raw(jsonBytes(textOf(value)));
  }

  /** Writes ISO 8601 with milliseconds; null for a missing time and for 0. */
  private time(at: number): void {
    const { bytes: b, out } = this;
    if (at < 0) splitNanos(0, 0);
    else splitNanos(fixed32(b, at), fixed32(b, at + 4));
    const millis = Math.floor(nanos / 1_000_000);
    if (seconds === 0 && millis === 0) return this.raw(NULL);
    if (seconds !== lastSecond) {
      lastSecond = seconds;
      lastSecondText = Buffer.from(`"${new Date(seconds * 1000).toISOString().slice(0, 20)}`);
    }
    this.raw(lastSecondText);
    out.reserve(END_OF_TIME.length + 3);
    putPadded(out.view, out.length, millis, 3);
    out.length += 3;
    this.raw(END_OF_TIME);
  }

  /** The attributes of events with the name exception. */
  private exceptions(): void {
    const { bytes: b, out, end, span } = this;
    out.byte(OPEN_LIST);
    if (span.hasEvents) {
      const first = out.length;
      for (let p = this.start; (p = nextBody(b, p, end, SPAN_EVENTS_TAG)) >= 0; ) {
        const body = p;
        p = bodyEnd;
        event.read(b, body, p);
        if (!EXCEPTION.has(b, event.nameStart, event.nameEnd)) continue;
        if (out.length > first) out.byte(COMMA);
        this.map(body, p, SPAN_EVENT_ATTRIBUTES_TAG);
      }
    }
    out.byte(CLOSE_LIST);
  }
}

/** Recognises most KeyValues [start, end) whose key is not as long as event.name: those of one key and one value. */
function isOtherKey(b: Uint8Array, start: number, end: number): boolean {
  const size = b[start + 1]!;
  const value = start + 2 + size;
  if (b[start] !== KEY_TAG || size === EVENT_NAME_TEXT.length || size > MAX_SHORT || value + 2 > end) return false;
  return b[value] === VALUE_TAG && b[value + 1]! <= MAX_SHORT && value + 2 + b[value + 1]! === end;
}

function ownerFacts(owner: TreeOwner): OwnerFacts {
  const json = jsonText(owner.resource);
  const resource = JSON.parse(json) as Readonly<Record<string, unknown>>;
  return {
    owner,
    resource: Buffer.from(json),
    scope: jsonBytes(owner.scopeName),
    service: jsonBytes(textOf(resource["service.name"])),
    deadLetter: jsonBytes(deadLetterOf(resource) ?? null),
  };
}

function jsonBytes(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** The messages being written. */
const event = new EventFields();
const status = new StatusFields();

const COMMA = 44;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const NULL = Buffer.from("null");
const EMPTY_TEXT = Buffer.from('""');
const ANY_VALUE = MESSAGES["AnyValue"]!;
const LOG_RECORD = MESSAGES["LogRecord"]!;
const SPAN = MESSAGES["Span"]!;
const EVENT_NAME_TEXT = "event.name";
/** The largest length that takes one byte. */
const MAX_SHORT = 127;
const EVENT_NAME = new KeySet([EVENT_NAME_TEXT]);
const EXCEPTION = new KeySet(["exception"]);
const KINDS = SPAN_KINDS.map(jsonBytes);
const CODES = STATUS_CODES.map(jsonBytes);

const END_OF_TIME = Buffer.from('Z"');

/** Records that follow one another mostly have the same second. */
let lastSecond = -1;
let lastSecondText: Uint8Array = NULL;
