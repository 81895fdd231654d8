import { bodyEnd, decodeText, fixed32, message, nextBody, WireWriter } from "#otlp/bytes";
import { DocumentJson, labelOf, membersOf, plainAttributes, plainValueAt, plainValueText } from "#otlp/json";
import { micros, toMicros } from "#otlp/signals";
import {
  LOG_ATTRIBUTES_TAG,
  SCOPE_ATTRIBUTES_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
  STRING_VALUE_TAG,
} from "#otlp/tags";
import { LogFields } from "#otlp/views";
import { type RecordOwner, textLength } from "../record-pages.js";

/** Makes messages of the log records of a batch, which are the records as JSON, directly from their bytes. */
export class LogMessages {
  private readonly bytes: Uint8Array;
  private readonly json: DocumentJson;
  private readonly isRaw: boolean;
  private owner: RecordOwner | undefined;
  private shared: Uint8Array = new Uint8Array(0);

  constructor(bytes: Uint8Array, isRaw: boolean) {
    this.bytes = bytes;
    this.json = new DocumentJson(bytes, new WireWriter(4096));
    this.isRaw = isRaw;
  }

  /** Returns the message of a record as JSON, that is, JSON in quotes. */
  messageOf(start: number, end: number, owner: RecordOwner): string {
    log.read(this.bytes, start, end);
    return JSON.stringify(this.isRaw ? this.bodyText() : this.recordText(start, end, owner));
  }

  /** The bytes of a body that is a text; its message has as many at least. */
  bodyLength(start: number, end: number): number {
    log.read(this.bytes, start, end);
    return textLength(this.bytes, log.bodyStart, log.bodyEnd);
  }

  /** Returns when the record read last happened; 0 if it does not say. */
  get timeMs(): number {
    return this.millisAt(log.timeAt) || this.millisAt(log.observedAt);
  }

  private recordText(start: number, end: number, owner: RecordOwner): string {
    const { json } = this;
    const { out } = json;
    out.clear();
    json.raw(BODY);
    if (!json.values.valueUnlessNull(log.bodyStart, log.bodyEnd)) out.clear();
    if (log.severityNumber > 0) json.number(SEVERITY_NUMBER, log.severityNumber);
    json.text(SEVERITY_TEXT, log.severityStart, log.severityEnd);
    if (log.droppedAttributes > 0) json.number(DROPPED, log.droppedAttributes);
    if (log.flags !== 0) json.number(FLAGS, log.flags);
    json.id(TRACE_ID, log.traceStart, log.traceEnd);
    json.id(SPAN_ID, log.spanStart, log.spanEnd);
    const from = out.length;
    json.raw(ATTRIBUTES);
    if (!json.values.map(start, end, LOG_ATTRIBUTES_TAG)) out.length = from;
    json.raw(this.sharedOf(owner));
    json.close(0);
    return decodeText(out.bytes, 0, out.length);
  }

  /** A message has at least one character. */
  private bodyText(): string {
    const b = this.bytes;
    const start = nextBody(b, log.bodyStart, log.bodyEnd, STRING_VALUE_TAG);
    if (start >= 0) return decodeText(b, start, bodyEnd) || " ";
    return plainValueText(plainValueAt(b, log.bodyStart, log.bodyEnd)) || " ";
  }

  private sharedOf(owner: RecordOwner): Uint8Array {
    if (owner === this.owner) return this.shared;
    const { resource, scopeStart, scopeEnd } = owner;
    const scopeText = (tag: number) => decodeText(this.bytes, ...message(this.bytes, scopeStart, scopeEnd, tag));
    const scope = {
      name: scopeText(SCOPE_NAME_TAG),
      version: scopeText(SCOPE_VERSION_TAG) || undefined,
      attributes: unlessEmpty(plainAttributes(this.bytes, scopeStart, scopeEnd, SCOPE_ATTRIBUTES_TAG)),
    };
    this.owner = owner;
    this.shared = membersOf({ scope: scope.name === "" ? undefined : scope, resource: unlessEmpty(resource) });
    return this.shared;
  }

  private millisAt(at: number): number {
    if (at < 0) return 0;
    toMicros(fixed32(this.bytes, at), fixed32(this.bytes, at + 4), false);
    return Math.floor(micros / 1000);
  }
}

function unlessEmpty<T extends object>(map: T): T | undefined {
  return Object.keys(map).length === 0 ? undefined : map;
}

const log = new LogFields();
const BODY = labelOf("body");
const SEVERITY_NUMBER = labelOf("severity_number");
const SEVERITY_TEXT = labelOf("severity_text");
const DROPPED = labelOf("dropped_attributes_count");
const FLAGS = labelOf("flags");
const TRACE_ID = labelOf("trace_id");
const SPAN_ID = labelOf("span_id");
const ATTRIBUTES = labelOf("attributes");
