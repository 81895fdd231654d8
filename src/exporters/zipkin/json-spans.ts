import { isUtf8 } from "node:buffer";
import { isIP } from "node:net";
import {
  after,
  decodeMessage,
  decodeText,
  fieldTag,
  findField,
  fixed32,
  MESSAGES,
  message,
  stepOver,
  valueAt,
  varint,
  viewOf,
  WireWriter,
} from "#otlp/bytes";
import { PlainJsonWriter, putDecimal64, writeAscii, writeEscaped, writeHex, writeText } from "#otlp/json";
import { micros, toMicros } from "#otlp/signals";
import {
  RESOURCE_ATTRIBUTES_TAG,
  SCOPE_ATTRIBUTES_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_EVENT_ATTRIBUTES_TAG,
  SPAN_EVENTS_TAG,
  SPAN_ID_TAG,
  SPAN_LINKS_TAG,
  SPAN_TRACE_ID_TAG,
} from "#otlp/tags";
import { EventFields, SpanFields, StatusFields } from "#otlp/views";
import { NO_SERVICE_NAME, SERVICE_NAME_KEYS, ZIPKIN_KINDS, ZIPKIN_TAGS } from "#traces";
import { SPECIAL_TAGS, SpanTags } from "./span-tags.js";
import { linkText } from "./to-zipkin.js";

/** A resource and a scope in the bytes of a batch, which spans share. */
export interface SpanOwner {
  readonly resourceStart: number;
  readonly resourceEnd: number;
  readonly scopeStart: number;
  readonly scopeEnd: number;
}

/** Whether the span [start, end) has both ids, which Zipkin requires. */
export function hasIds(b: Uint8Array, start: number, end: number): boolean {
  return hasId(b, start, end, SPAN_TRACE_ID_TAG) && hasId(b, start, end, SPAN_ID_TAG);
}

function hasId(b: Uint8Array, start: number, end: number, tag: number): boolean {
  const at = findField(b, start, end, tag);
  if (at < 0) return false;
  const size = varint(b, at);
  return !isZero(b, after, after + size);
}

const [COMMA, BAR, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, QUOTE] = [44, 124, 91, 93, 123, 125, 34];

/** Writes spans of a batch as a JSON list of Zipkin's API, directly from the wire bytes. */
export class JsonSpanWriter {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private readonly defaultService: string;
  private readonly out: WireWriter;
  private readonly tags: SpanTags;
  private owner: SpanOwner | undefined;
  /** The service name as JSON; empty if there is none. */
  private service = "";
  /** The endpoint of spans that only know the service name. */
  private local: Uint8Array = new Uint8Array(0);
  private separator = OPEN_LIST;
  /** JSON that becomes part of a text. */
  private readonly inner = new WireWriter(256);
  private readonly innerJson: PlainJsonWriter;

  constructor(bytes: Uint8Array, defaultService = NO_SERVICE_NAME) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.defaultService = defaultService;
    this.out = scratch;
    this.out.clear();
    this.tags = new SpanTags(bytes);
    this.innerJson = new PlainJsonWriter(bytes, this.inner);
  }

  /** Returns the list. Invalid UTF-8 becomes U+FFFD. */
  finish(): Buffer {
    const { out } = this;
    if (this.separator === OPEN_LIST) out.byte(OPEN_LIST);
    out.byte(CLOSE_LIST);
    const written = out.written();
    const body = Buffer.from(isUtf8(written) ? written : out.bytes.toString("utf8", 0, out.length));
    if (out.bytes.length > MAX_SCRATCH_BYTES) scratch = new WireWriter(65_536);
    return body;
  }

  /** Adds the span [start, end), which must have ids. */
  add(start: number, end: number, owner: SpanOwner): void {
    const { bytes: b, out, tags } = this;
    if (owner !== this.owner) this.enter(owner);
    tags.begin();
    tags.addAttributes(start, end, SPAN_ATTRIBUTES_TAG);
    span.read(b, start, end);
    const kind = span.kind | 0;
    const responseCode = tags.textOf(SPECIAL_TAGS.httpResponseCode);
    if (responseCode !== undefined && !tags.has(SPECIAL_TAGS.httpCode)) tags.set("http.status_code", responseCode);
    if (kind === 1) tags.set(ZIPKIN_TAGS.kind, "internal");
    if (span.stateStart < span.stateEnd)
      tags.set(ZIPKIN_TAGS.traceState, decodeText(b, span.stateStart, span.stateEnd));
    out.byte(this.separator);
    this.separator = COMMA;
    this.writeIds();
    if (span.nameStart < span.nameEnd) {
      writeAscii(',"name":', out);
      this.writeLowerCase(span.nameStart, span.nameEnd);
    }
    const kindName = ZIPKIN_KINDS[kind];
    if (kindName) writeAscii(`,"kind":"${kindName}"`, out);
    this.writeTimes();
    this.writeEndpoint("localEndpoint", SPECIAL_TAGS.localIp, SPECIAL_TAGS.localPort, this.service);
    const peer = tags.take(SPECIAL_TAGS.newPeer) ?? tags.take(SPECIAL_TAGS.peer);
    const peerJson = peer === undefined ? "" : JSON.stringify(peer.toLowerCase());
    this.writeEndpoint("remoteEndpoint", SPECIAL_TAGS.remoteIp, SPECIAL_TAGS.remotePort, peerJson);
    this.addStatus();
    if (span.hasEvents || span.hasLinks) this.addEventsAndLinks(start, end);
    const tagsStart = out.length;
    writeAscii(',"tags":', out);
    const membersStart = out.length;
    tags.writeJson(out);
    if (out.length === membersStart) out.length = tagsStart;
    else {
      out.bytes[membersStart] = OPEN_OBJECT; // every member begins with a comma
      out.byte(CLOSE_OBJECT);
    }
    out.byte(CLOSE_OBJECT);
  }

  /** Adds the tags that all spans of an owner share. */
  private enter(owner: SpanOwner): void {
    const { bytes: b, tags } = this;
    const { resourceStart, resourceEnd, scopeStart, scopeEnd } = owner;
    this.owner = owner;
    tags.clear();
    tags.addAttributes(resourceStart, resourceEnd, RESOURCE_ATTRIBUTES_TAG);
    const service = this.takeServiceName() ?? this.defaultService;
    this.service = service === "" ? "" : JSON.stringify(service.toLowerCase());
    this.local = Buffer.from(`,"localEndpoint":{"serviceName":${this.service}}`);
    tags.addAttributes(scopeStart, scopeEnd, SCOPE_ATTRIBUTES_TAG);
    const [nameStart, nameEnd] = message(b, scopeStart, scopeEnd, SCOPE_NAME_TAG);
    if (nameStart < nameEnd) tags.set(ZIPKIN_TAGS.scopeName, decodeText(b, nameStart, nameEnd));
    const [versionStart, versionEnd] = message(b, scopeStart, scopeEnd, SCOPE_VERSION_TAG);
    if (versionStart < versionEnd) tags.set(ZIPKIN_TAGS.scopeVersion, decodeText(b, versionStart, versionEnd));
    tags.share();
  }

  private takeServiceName(): string | undefined {
    const { tags } = this;
    const name = tags.take(SPECIAL_TAGS.serviceName);
    if (name !== undefined) return name;
    for (const [i, special] of SPECIAL_TAGS.otherServiceNames.entries()) {
      const other = tags.take(special);
      if (other === undefined) continue;
      tags.set(ZIPKIN_TAGS.nameSource, SERVICE_NAME_KEYS[i]!);
      return other;
    }
    return undefined;
  }

  private writeIds(): void {
    const { bytes: b, out } = this;
    const { traceStart, traceEnd, spanStart, spanEnd, parentStart, parentEnd } = span;
    // Zipkin tracers may use 64-bit ids: then the first half is zeros.
    const isShort = isZero(b, traceStart, traceStart + 8);
    writeAscii('{"traceId":', out);
    writeHex(b, isShort ? traceStart + 8 : traceStart, traceEnd, out);
    writeAscii(',"id":', out);
    writeHex(b, spanStart, spanEnd, out);
    if (isZero(b, parentStart, parentEnd)) return;
    writeAscii(',"parentId":', out);
    writeHex(b, parentStart, parentEnd, out);
  }

  /** A duration below a microsecond is written as one, because zero means unknown. */
  private writeTimes(): void {
    const { bytes: b } = this;
    const { startAt, endAt } = span;
    const [startLow, startHigh] = startAt < 0 ? [0, 0] : [fixed32(b, startAt), fixed32(b, startAt + 4)];
    const [endLow, endHigh] = endAt < 0 ? [0, 0] : [fixed32(b, endAt), fixed32(b, endAt + 4)];
    if (startLow !== 0 || startHigh !== 0) this.writeMicros(',"timestamp":', startLow, startHigh, 0);
    if (endHigh < startHigh || (endHigh === startHigh && endLow <= startLow)) return;
    const borrow = endLow < startLow ? 1 : 0;
    this.writeMicros(',"duration":', (endLow - startLow) >>> 0, endHigh - startHigh - borrow, 1);
  }

  /** Writes nanoseconds as microseconds, at least `min`. They are rounded if `min` is positive, and otherwise truncated. */
  private writeMicros(label: string, low: number, high: number, min: number): void {
    const { out } = this;
    toMicros(low, high, min > 0);
    const time = Math.max(min, micros);
    writeAscii(label, out);
    out.reserve(24);
    out.length = putDecimal64(out.view, out.length, time >>> 0, Math.floor(time / TWO_32));
  }

  /** Names have lower case in Zipkin's JSON, as its clients write it. No escape of JSON has letters in upper case. */
  private writeLowerCase(start: number, end: number): void {
    const { bytes: b, out } = this;
    for (let p = start; p < end; p++) {
      if (b[p]! < 128) continue;
      const json = Buffer.from(JSON.stringify(decodeText(b, start, end).toLowerCase()));
      return out.copy(json, 0, json.length);
    }
    const from = out.length;
    writeText(b, this.view, start, end, out);
    const { bytes } = out;
    for (let p = from; p < out.length; p++) if (bytes[p]! >= 65 && bytes[p]! <= 90) bytes[p]! += 32;
  }

  /** Moves address and port from the tags to the endpoint, but only if the endpoint can hold them. */
  private writeEndpoint(name: string, ipTag: number, portTag: number, service: string): void {
    const { out, tags } = this;
    const ip = tags.textOf(ipTag) ?? "";
    const version = ip === "" ? 0 : isIP(ip);
    if (version === 0 && service === "") return;
    if (version !== 0) tags.remove(ipTag);
    const port = tags.has(portTag) ? Number(tags.textOf(portTag)) : 0;
    const hasPort = Number.isInteger(port) && port > 0 && port < 65_536;
    if (hasPort) tags.remove(portTag);
    if (version === 0 && !hasPort && name === "localEndpoint") return out.copy(this.local, 0, this.local.length);
    const members: string[] = [];
    if (service !== "") members.push(`"serviceName":${service}`);
    if (version !== 0) members.push(`"ipv${version}":${JSON.stringify(ip)}`);
    if (hasPort) members.push(`"port":${port}`);
    const json = Buffer.from(`,"${name}":{${members.join(",")}}`);
    out.copy(json, 0, json.length);
  }

  private addStatus(): void {
    const { bytes: b, tags } = this;
    status.read(b, span.statusStart, span.statusEnd);
    const { code, messageStart, messageEnd } = status;
    // Zipkin takes every span with this tag for a failed one, whatever its value.
    if (code === 2) tags.set(ZIPKIN_TAGS.error, "true");
    else tags.remove(SPECIAL_TAGS.error);
    if (code === 0) return;
    tags.set(ZIPKIN_TAGS.statusCode, code === 2 ? "STATUS_CODE_ERROR" : "STATUS_CODE_OK");
    if (messageStart < messageEnd) tags.set(ZIPKIN_TAGS.statusMessage, decodeText(b, messageStart, messageEnd));
  }

  private addEventsAndLinks(start: number, end: number): void {
    const { bytes: b, out } = this;
    let separator = OPEN_LIST;
    let links = 0;
    for (let p = start; p < end; ) {
      p = stepOver(b, p);
      if (fieldTag === SPAN_EVENTS_TAG) {
        varint(b, valueAt);
        if (separator === OPEN_LIST) writeAscii(',"annotations":', out);
        out.byte(separator);
        separator = COMMA;
        this.writeAnnotation(after, p);
      } else if (fieldTag === SPAN_LINKS_TAG) {
        varint(b, valueAt);
        this.tags.set(ZIPKIN_TAGS.link + links++, linkText(decodeMessage(MESSAGES["Link"]!, b, after, p)));
      }
    }
    if (separator === COMMA) out.byte(CLOSE_LIST);
  }

  private writeAnnotation(start: number, end: number): void {
    const { bytes: b, out, inner } = this;
    event.read(b, start, end);
    const { timeAt, nameStart, nameEnd, droppedAttributes: dropped } = event;
    this.writeMicros('{"timestamp":', timeAt < 0 ? 0 : fixed32(b, timeAt), timeAt < 0 ? 0 : fixed32(b, timeAt + 4), 0);
    writeAscii(',"value":"', out);
    writeEscaped(b, this.view, nameStart, nameEnd, out);
    inner.clear();
    const hasAttributes = this.innerJson.map(start, end, SPAN_EVENT_ATTRIBUTES_TAG);
    if (hasAttributes || dropped > 0) {
      if (!hasAttributes) writeAscii("{}", inner);
      out.byte(BAR);
      writeEscaped(inner.bytes, inner.view, 0, inner.length, out);
      writeAscii(`|${dropped}`, out);
    }
    out.byte(QUOTE);
    out.byte(CLOSE_OBJECT);
  }
}

/** The messages being written. */
const span = new SpanFields();
const status = new StatusFields();
const event = new EventFields();

const TWO_32 = 2 ** 32;

/** Memory that all lists reuse: allocating takes longer than writing. */
let scratch = new WireWriter(65_536);
const MAX_SCRATCH_BYTES = 8 * 1024 * 1024;

function isZero(b: Uint8Array, start: number, end: number): boolean {
  for (let p = start; p < end; p++) if (b[p] !== 0) return false;
  return true;
}
