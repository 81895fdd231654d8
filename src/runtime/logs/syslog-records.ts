import type { WireWriter } from "#otlp/bytes";
import {
  ELEMENT_TAG,
  INT_VALUE_TAG,
  KEY_TAG,
  KVLIST_VALUE_TAG,
  LOG_ATTRIBUTES_TAG,
  LOG_BODY_TAG,
  LOG_TIME_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "#otlp/tags";
import { writeSeverity } from "./entries/log-entry.js";
import { IsoTime } from "./iso-time.js";
import type { OperatorConfig } from "./operator-schema.js";
import { FACILITIES, RFC5424_FIELDS, SEVERITIES } from "./syslog-parser.js";

/**
 * Writes ordinary messages of RFC 5424 as log records directly from their bytes, without objects: with the same bytes
 * as `SyslogParser` and `writeEntry` make of them. It leaves everything unusual to these: other characters than ASCII,
 * escapes, repeated names, other forms of time, and everything that is no such message.
 *
 * First `read` notes where each part is; then `write` writes them.
 */
export class SyslogRecords {
  private readonly maxSize: number;
  private readonly time = new IsoTime();
  private bytes: Uint8Array = new Uint8Array(0);
  private from = 0;
  private to = 0;
  private priority = 0;
  private version = 0;
  private hasTime = false;
  private messageAt = 0;
  /** Where hostname, appname, proc_id and msg_id start and end; an empty one is left out. */
  private readonly header: number[] = [0, 0, 0, 0, 0, 0, 0, 0];
  /** Where names of elements start and end, and how many parameters they have. */
  private readonly elements: number[] = [];
  private elementCount = 0;
  /** Where names and values of the parameters of all elements start and end. */
  private readonly parameters: number[] = [];
  private parameterCount = 0;

  /** Whether all that these operators do is to parse such messages into attributes. */
  static suit(operators: readonly OperatorConfig[]): boolean {
    const [parser] = operators;
    if (operators.length !== 1 || parser?.type !== "syslog_parser" || parser.protocol !== "rfc5424") return false;
    const { parse_from, parse_to, timestamp, severity, trace, scope_name, body, output } = parser;
    const isUsual =
      parse_from.root === "body" && parse_from.isRoot && parse_to.root === "attributes" && parse_to.isRoot;
    return (
      isUsual && [timestamp, severity, trace, scope_name, body, output, parser.if].every((each) => each === undefined)
    );
  }

  /** `maxRecordSize` is how large a record may become; `resourceSize` is an upper bound for its resource. */
  constructor(maxRecordSize: number, resourceSize: number) {
    this.maxSize = Math.min(MAX_SIZE, (maxRecordSize - resourceSize - COUNTED) / COUNTED_PER_BYTE);
  }

  /** Reads the message [from, to); returns false if it is not an ordinary one. The bytes must not change before `write`. */
  read(bytes: Uint8Array, from: number, to: number): boolean {
    if (to - from > this.maxSize) return false;
    for (let p = from; p < to; p++) if (bytes[p]! > 127) return false;
    this.bytes = bytes;
    this.from = from;
    this.to = to;
    let p = this.readPriority();
    if (p > 0) p = this.readVersion(p);
    if (p > 0) p = this.readTime(p);
    for (let i = 0; i < HEADER.length && p > 0; i++) p = this.readField(p, i);
    return p > 0 && this.readData(p);
  }

  /** Writes the fields of the record. */
  readonly write = (writer: WireWriter): void => {
    const { bytes, from, to, priority, header, messageAt } = this;
    if (this.hasTime) {
      writer.byte(LOG_TIME_TAG);
      writer.fixed64OfHalves(this.time.low, this.time.high);
    }
    const [number, text] = SEVERITIES[priority & 7]!;
    writeSeverity(writer, number, text);
    writer.byte(LOG_BODY_TAG);
    writer.begin(to - from + 4);
    writer.byte(STRING_VALUE_TAG);
    writeBytes(writer, bytes, from, to);
    writer.end();
    writeNumber(writer, PRIORITY, priority);
    writeNumber(writer, FACILITY, priority >> 3);
    const facility = FACILITY_TEXTS[priority >> 3]!;
    writeAttribute(writer, FACILITY_TEXT, facility, 0, facility.length);
    writeNumber(writer, VERSION, this.version);
    for (let i = 0; i < HEADER.length; i++) {
      const start = header[2 * i]!;
      const end = header[2 * i + 1]!;
      if (start < end) writeAttribute(writer, HEADER[i]!.name, bytes, start, end);
    }
    if (this.elementCount > 0) this.writeData(writer);
    if (messageAt < to) writeAttribute(writer, MESSAGE, bytes, messageAt, to);
  };

  private readPriority(): number {
    const { bytes, from } = this;
    let p = from + 1;
    let priority = 0;
    while (p < from + 4 && isDigit(bytes[p]!)) priority = priority * 10 + bytes[p++]! - ZERO;
    this.priority = priority;
    return bytes[from] === LESS && p > from + 1 && bytes[p] === GREATER && p < this.to && priority <= 191 ? p + 1 : -1;
  }

  private readVersion(at: number): number {
    const { bytes } = this;
    let p = at;
    let version = 0;
    while (p < at + 3 && isDigit(bytes[p]!)) version = version * 10 + bytes[p++]! - ZERO;
    this.version = version;
    return p > at && bytes[at] !== ZERO && bytes[p] === SPACE && p < this.to ? p + 1 : -1;
  }

  private readTime(at: number): number {
    const end = this.endOfField(at);
    if (end < 0) return -1;
    this.hasTime = !(end === at + 1 && this.bytes[at] === MINUS);
    return !this.hasTime || this.time.read(this.bytes, at, end) ? end + 1 : -1;
  }

  private readField(at: number, index: number): number {
    const end = this.endOfField(at);
    if (end < 0 || end - at > HEADER[index]!.maxLength) return -1;
    const isEmpty = end === at + 1 && this.bytes[at] === MINUS;
    this.header[2 * index] = at;
    this.header[2 * index + 1] = isEmpty ? at : end;
    return end + 1;
  }

  /** Where the space behind a field is; -1 if there is none, or the field is empty or contains other white space. */
  private endOfField(at: number): number {
    const { bytes, to } = this;
    let p = at;
    while (p < to && bytes[p]! > SPACE) p++;
    return p > at && p < to && bytes[p] === SPACE ? p : -1;
  }

  private readData(at: number): boolean {
    const { bytes, to } = this;
    this.elementCount = 0;
    this.parameterCount = 0;
    if (bytes[at] === MINUS && at < to && (at + 1 === to || bytes[at + 1] === SPACE)) {
      this.messageAt = at + 2;
      return true;
    }
    let p = at;
    while (p < to && bytes[p] === OPEN) {
      p = this.readElement(p + 1);
      if (p < 0) return false;
    }
    this.messageAt = p + 1;
    return p > at;
  }

  private readElement(at: number): number {
    const { bytes, to, elements } = this;
    const index = 3 * this.elementCount;
    const end = this.endOfName(at);
    if (end < 0 || this.isKnown(elements, 3, 0, this.elementCount, at, end)) return -1;
    const first = this.parameterCount;
    let p = end;
    while (p < to && bytes[p] === SPACE) {
      while (bytes[p] === SPACE && p < to) p++;
      p = this.readParameter(p, first);
      if (p < 0) return -1;
    }
    if (p >= to || bytes[p] !== CLOSE) return -1;
    elements[index] = at;
    elements[index + 1] = end;
    elements[index + 2] = this.parameterCount - first;
    return ++this.elementCount > MAX_ELEMENTS ? -1 : p + 1;
  }

  private readParameter(at: number, first: number): number {
    const { bytes, to, parameters } = this;
    const index = 4 * this.parameterCount;
    const end = this.endOfName(at);
    if (end < 0 || this.isKnown(parameters, 4, first, this.parameterCount, at, end)) return -1;
    if (end + 1 >= to || bytes[end] !== EQUALS || bytes[end + 1] !== QUOTE) return -1;
    let p = end + 2;
    while (p < to && bytes[p] !== QUOTE && bytes[p] !== BACKSLASH) p++;
    if (p >= to || bytes[p] !== QUOTE) return -1;
    parameters[index] = at;
    parameters[index + 1] = end;
    parameters[index + 2] = end + 2;
    parameters[index + 3] = p;
    return ++this.parameterCount > MAX_PARAMETERS ? -1 : p + 1;
  }

  /** Where a name ends; -1 for one that is empty, too long, or in another order than it was written. */
  private endOfName(at: number): number {
    const { bytes, to } = this;
    let p = at;
    while (p < to && IN_NAME[bytes[p]!] === 1) p++;
    return p > at && p - at <= MAX_NAME && !isDigit(bytes[at]!) ? p : -1;
  }

  /** Whether one of the names noted from `first` on is the same as [start, end). */
  private isKnown(names: readonly number[], step: number, first: number, count: number, start: number, end: number) {
    const { bytes } = this;
    for (let i = first; i < count; i++) {
      const from = names[step * i]!;
      if (names[step * i + 1]! - from !== end - start) continue;
      let p = start;
      while (p < end && bytes[p] === bytes[from + p - start]) p++;
      if (p === end) return true;
    }
    return false;
  }

  private writeData(writer: WireWriter): void {
    const { bytes, elements, parameters } = this;
    let parameter = 0;
    const end = this.messageAt;
    beginMap(writer, LOG_ATTRIBUTES_TAG, STRUCTURED_DATA, 0, STRUCTURED_DATA.length, end - elements[0]!);
    for (let i = 0; i < this.elementCount; i++) {
      beginMap(writer, ELEMENT_TAG, bytes, elements[3 * i]!, elements[3 * i + 1]!, end - elements[3 * i]!);
      for (const last = parameter + elements[3 * i + 2]!; parameter < last; parameter++) {
        const at = 4 * parameter;
        const size = parameters[at + 3]! - parameters[at]!;
        writer.byte(ELEMENT_TAG);
        writer.begin(size + 6);
        writeKey(writer, bytes, parameters[at]!, parameters[at + 1]!);
        writeValue(writer, bytes, parameters[at + 2]!, parameters[at + 3]!);
        writer.end();
      }
      endMap(writer);
    }
    endMap(writer);
  }
}

const MAX_SIZE = 4096;
const MAX_ELEMENTS = 8;
const MAX_PARAMETERS = 32;
const MAX_NAME = 32;
/** What `SyslogParser` counts for a message, with the record around it, and for each of its bytes. */
const COUNTED = 560;
const COUNTED_PER_BYTE = 19;

const ZERO = 0x30;
const LESS = 0x3c;
const GREATER = 0x3e;
const SPACE = 0x20;
const MINUS = 0x2d;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const EQUALS = 0x3d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const IN_NAME = new Uint8Array(256).fill(1);
for (const byte of [SPACE, EQUALS, CLOSE, QUOTE]) IN_NAME[byte] = 0;

const PRIORITY = Buffer.from("priority");
const FACILITY = Buffer.from("facility");
const FACILITY_TEXT = Buffer.from("facility_text");
const VERSION = Buffer.from("version");
const STRUCTURED_DATA = Buffer.from("structured_data");
const MESSAGE = Buffer.from("message");
const FACILITY_TEXTS = FACILITIES.map((text) => Buffer.from(text));
const HEADER = RFC5424_FIELDS.slice(2).map(([name, maxLength]) => ({ name: Buffer.from(name), maxLength }));

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= ZERO + 9;
}

function writeNumber(writer: WireWriter, key: Uint8Array, value: number): void {
  writer.byte(LOG_ATTRIBUTES_TAG);
  writer.begin();
  writeKey(writer, key, 0, key.length);
  writer.byte(VALUE_TAG);
  writer.begin();
  writer.byte(INT_VALUE_TAG);
  writer.varint(value);
  writer.end();
  writer.end();
}

/** Writes an attribute whose value is the text [from, to). */
function writeAttribute(writer: WireWriter, key: Uint8Array, bytes: Uint8Array, from: number, to: number): void {
  writer.byte(LOG_ATTRIBUTES_TAG);
  writer.begin(key.length + to - from + 6);
  writeKey(writer, key, 0, key.length);
  writeValue(writer, bytes, from, to);
  writer.end();
}

function writeKey(writer: WireWriter, bytes: Uint8Array, from: number, to: number): void {
  writer.byte(KEY_TAG);
  writeBytes(writer, bytes, from, to);
}

function writeValue(writer: WireWriter, bytes: Uint8Array, from: number, to: number): void {
  writer.byte(VALUE_TAG);
  writer.begin(to - from + 2);
  writer.byte(STRING_VALUE_TAG);
  writeBytes(writer, bytes, from, to);
  writer.end();
}

/** Begins a KeyValue whose value is a map. `hint` is its likely length. */
function beginMap(writer: WireWriter, tag: number, bytes: Uint8Array, from: number, to: number, hint: number): void {
  writer.byte(tag);
  writer.begin(hint + to - from);
  writeKey(writer, bytes, from, to);
  writer.byte(VALUE_TAG);
  writer.begin(hint);
  writer.byte(KVLIST_VALUE_TAG);
  writer.begin(hint);
}

function endMap(writer: WireWriter): void {
  writer.end();
  writer.end();
  writer.end();
}

/** Writes a length and [from, to). A loop makes no view of the bytes. */
function writeBytes(writer: WireWriter, source: Uint8Array, from: number, to: number): void {
  writer.varint(to - from);
  writer.reserve(to - from);
  const { bytes } = writer;
  let at = writer.length;
  for (let p = from; p < to; p++) bytes[at++] = source[p]!;
  writer.length = at;
}
