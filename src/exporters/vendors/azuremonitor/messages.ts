import { bodyEnd, lengthAt, nextBody, type WireWriter } from "#otlp/bytes";
import {
  DocumentJson,
  findKeyAndValue,
  KeySet,
  keyEnd,
  keyStart,
  labelOf,
  membersOf,
  valueEnd,
  valueStart,
} from "#otlp/json";
import { LOG_ATTRIBUTES_TAG, STRING_VALUE_TAG } from "#otlp/tags";
import { LogFields } from "#otlp/views";
import { hasRepeatedKeys, type RecordOwner, type RecordPage, writeAsText } from "../record-pages.js";
import type { AzureMonitorConfig } from "./config.js";
import {
  type EnvelopeWriter,
  EVENT_MARKER,
  EVENT_NAME,
  MAX_KEY,
  MAX_MESSAGE,
  MAX_VALUE,
  severityOf,
  tagsOf,
  textsOf,
} from "./envelopes.js";

/**
 * Writes log records as envelopes, one in a line. The usual record is written directly from its bytes: a text with a
 * time, whose attributes are neither long nor special. All others are left to `EnvelopeWriter`.
 */
export class MessageWriter {
  private readonly bytes: Uint8Array;
  private readonly json: DocumentJson;
  private readonly envelopes: EnvelopeWriter;
  private readonly head: Uint8Array;
  private readonly special: KeySet;
  private owner: RecordOwner | undefined;
  private ownerTags: Uint8Array = NOTHING;
  private ownerMembers: Uint8Array = NOTHING;
  private ownerKeys = new KeySet([]);
  /** Where the keys of the current record's attributes start and end. */
  private readonly keys: number[] = [];

  constructor(
    bytes: Uint8Array,
    out: WireWriter,
    envelopes: EnvelopeWriter,
    { custom_events_enabled: hasEvents, exception_events_enabled: hasExceptions }: AzureMonitorConfig,
  ) {
    this.bytes = bytes;
    this.json = new DocumentJson(bytes, out);
    this.envelopes = envelopes;
    const name = "Microsoft.ApplicationInsights.Message";
    this.head = Buffer.from(JSON.stringify({ name, iKey: envelopes.key }).slice(0, -1));
    this.special = new KeySet([
      ...(hasEvents ? [EVENT_NAME, EVENT_MARKER] : []),
      ...(hasExceptions ? ["exception.type", "exception.message"] : []),
    ]);
  }

  write(page: RecordPage, now: number): void {
    const { json, bytes: b } = this;
    const { out } = json;
    let isFirst = true;
    page.each((start, end, owner) => {
      if (!isFirst) out.byte(NEWLINE);
      isFirst = false;
      const from = out.length;
      if (this.writeMessage(start, end, owner)) return;
      out.length = from;
      json.raw(Buffer.from(this.envelopes.log(b, start, end, owner.resource, now)));
    });
  }

  /** Returns false if the record is not a usual one. What was written of it must be removed then. */
  private writeMessage(start: number, end: number, owner: RecordOwner): boolean {
    const { json, bytes: b } = this;
    log.read(b, start, end);
    const timeAt = json.hasTime(log.timeAt) ? log.timeAt : log.observedAt;
    const textStart = nextBody(b, log.bodyStart, log.bodyEnd, STRING_VALUE_TAG);
    if (!json.hasTime(timeAt) || textStart < 0 || bodyEnd - textStart > MAX_MESSAGE) return false;
    const textEnd = bodyEnd;
    if (owner !== this.owner) this.enter(owner);
    json.raw(this.head);
    json.isoTime(TIME, timeAt);
    json.raw(this.ownerTags);
    json.id(OPERATION_ID, log.traceStart, log.traceEnd);
    json.id(PARENT_ID, log.spanStart, log.spanEnd);
    json.raw(DATA);
    json.values.text(textStart, textEnd);
    json.raw(SEVERITIES[log.severityNumber] ?? SEVERITIES[0]!);
    if (!this.writeProperties(start, end)) return false;
    json.raw(TAIL);
    return true;
  }

  private writeProperties(start: number, end: number): boolean {
    const { json, bytes: b, keys, ownerKeys, special } = this;
    const { out } = json;
    json.raw(PROPERTIES);
    const from = out.length;
    json.raw(this.ownerMembers);
    keys.length = 0;
    for (let p = start; (p = nextBody(b, p, end, LOG_ATTRIBUTES_TAG)) >= 0; ) {
      const at = lengthAt;
      p = bodyEnd;
      findKeyAndValue(b, at, p);
      const [key, keyTo, value, valueTo] = [keyStart, keyEnd, valueStart, valueEnd];
      if (keyTo - key > MAX_KEY || valueTo - value > MAX_VALUE) return false;
      if (ownerKeys.has(b, key, keyTo) || special.has(b, key, keyTo)) return false;
      keys.push(key, keyTo);
      out.byte(COMMA);
      json.values.text(key, keyTo);
      out.byte(COLON);
      writeAsText(json, b, value, valueTo);
    }
    json.close(from);
    return !hasRepeatedKeys(b, keys);
  }

  private enter(owner: RecordOwner): void {
    const properties = textsOf(owner.resource);
    this.owner = owner;
    this.ownerTags = Buffer.from(`,"tags":${JSON.stringify(tagsOf(owner.resource)).slice(0, -1)}`);
    this.ownerMembers = membersOf(properties);
    this.ownerKeys = new KeySet(Object.keys(properties));
  }
}

const log = new LogFields();
const NEWLINE = 10;
const COMMA = 44;
const COLON = 58;
const NOTHING = Buffer.alloc(0);
const TIME = labelOf("time");
const OPERATION_ID = labelOf("ai.operation.id");
const PARENT_ID = labelOf("ai.operation.parentId");
const DATA = Buffer.from('},"data":{"baseType":"MessageData","baseData":{"ver":2,"message":');
const PROPERTIES = labelOf("properties");
const TAIL = Buffer.from("}}}");
const SEVERITIES = Array.from({ length: 25 }, (_, number) => Buffer.from(`,"severityLevel":${severityOf(number)}`));
