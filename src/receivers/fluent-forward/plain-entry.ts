import { isUtf8 } from "node:buffer";
import { varintSize, type WireWriter } from "#otlp/bytes";
import {
  BOOL_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  INT_VALUE_TAG,
  KEY_TAG,
  LOG_ATTRIBUTES_TAG,
  LOG_BODY_TAG,
  LOG_TIME_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "#otlp/tags";

const MAX_FIELDS = 64;
const NONE = -1;

type PlainKind = "text" | "int" | "double" | "true" | "false" | "nil";

/** The position of a key and its value in the bytes. For an integer the value itself is kept. */
class PlainField {
  keyStart = 0;
  keyEnd = 0;
  kind: PlainKind = "nil";
  start = 0;
  end = 0;
  integer = 0;
  /** The size of its AnyValue. */
  valueSize = 0;
}

/**
 * A plain entry: a time in Fluentd's extension type and a record whose keys are texts and whose values are texts,
 * numbers, booleans or nil. Nearly all entries are like this. The entry is read in place and its texts are copied
 * without creating strings. For any other entry `read` returns false; the general reader then handles it and reports
 * what is wrong with it.
 *
 * One instance serves all entries in turn: `read` finds the fields, and `write` writes them as the fields of a log
 * record.
 */
export class PlainEntry {
  end = 0;
  /** The number of values in the entry. */
  values = 0;
  /** The size of its fields in bytes. */
  size = 0;
  private readonly fields = Array.from({ length: MAX_FIELDS }, () => new PlainField());
  private bytes: Buffer = Buffer.alloc(0);
  private count = 0;
  private body = NONE;
  private timeAt = 0;
  private readonly tag: Uint8Array;

  /** `tag` is the encoded attribute that every record gets. */
  constructor(tag: Uint8Array) {
    this.tag = tag;
  }

  /** Returns false if the entry at this position is not a plain one. */
  read(bytes: Buffer, from: number): boolean {
    this.bytes = bytes;
    let at = from;
    if (bytes[at++] !== 0x92) return false;
    const hasMetadata = bytes[at] === 0x92;
    if (hasMetadata) at++;
    if (bytes[at] !== 0xd7 || bytes[at + 1] !== 0) return false;
    this.timeAt = at + 2;
    at += 10;
    if (hasMetadata && bytes[at++] !== 0x80) return false; // the metadata map is nearly always empty
    const head = bytes[at++]!;
    if (head >= 0x80 && head < 0x90) return this.readFields(at, head & 0x0f);
    if (head !== 0xde) return false;
    return this.readFields(at + 2, bytes[at]! * 256 + bytes[at + 1]!);
  }

  readonly write = (out: WireWriter): void => {
    const { bytes, fields, body, timeAt, tag } = this;
    out.byte(LOG_TIME_TAG);
    const nanoseconds = BigInt(bytes.readUInt32BE(timeAt)) * 1_000_000_000n + BigInt(bytes.readUInt32BE(timeAt + 4));
    out.fixed64(nanoseconds);
    if (body !== NONE && fields[body]!.kind !== "nil") {
      out.byte(LOG_BODY_TAG);
      out.varint(fields[body]!.valueSize);
      this.writeValue(out, fields[body]!);
    }
    for (let i = 0; i < this.count; i++) {
      if (i === body) continue;
      const field = fields[i]!;
      const keySize = field.keyEnd - field.keyStart;
      out.byte(LOG_ATTRIBUTES_TAG);
      out.varint(keyValueSize(field));
      out.byte(KEY_TAG);
      out.varint(keySize);
      out.copy(bytes, field.keyStart, field.keyEnd);
      out.byte(VALUE_TAG);
      out.varint(field.valueSize);
      this.writeValue(out, field);
    }
    out.copy(tag, 0, tag.length);
  };

  private readFields(from: number, count: number): boolean {
    if (!(count <= MAX_FIELDS)) return false;
    const { fields } = this;
    this.count = count;
    this.body = NONE;
    this.size = 9 + this.tag.length;
    let at = from;
    for (let i = 0; i < count; i++) {
      const field = fields[i]!;
      at = this.readField(field, at);
      if (at === NONE || this.isKnown(i)) return false;
      const size = this.isBody(field) ? field.valueSize : keyValueSize(field);
      if (this.isBody(field)) {
        if (this.body !== NONE) return false;
        this.body = i;
      }
      this.size += 1 + varintSize(size) + size;
    }
    this.end = at;
    this.values = 4 + 2 * count;
    return at <= this.bytes.length;
  }

  /** Returns where the field ends. */
  private readField(field: PlainField, from: number): number {
    const keyEnd = this.readText(field, from);
    if (keyEnd === NONE) return NONE;
    field.keyStart = field.start;
    field.keyEnd = field.end;
    const valueEnd = this.readText(field, keyEnd);
    if (valueEnd === NONE) return this.readScalar(field, keyEnd);
    field.kind = "text";
    const size = field.end - field.start;
    field.valueSize = 1 + varintSize(size) + size;
    return valueEnd;
  }

  /** Returns where the text ends, or NONE if it is not a complete UTF-8 text. */
  private readText(field: PlainField, at: number): number {
    const { bytes } = this;
    const type = bytes[at]!;
    let start = at + 1;
    let size: number;
    if (type >= 0xa0 && type < 0xc0) size = type & 0x1f;
    else if (type === 0xd9 || type === 0xc4) size = bytes[start++]!;
    else if (type === 0xda || type === 0xc5) {
      size = bytes[start]! * 256 + bytes[start + 1]!;
      start += 2;
    } else return NONE;
    const end = start + size;
    if (!(end <= bytes.length)) return NONE;
    let all = 0;
    for (let i = start; i < end; i++) all |= bytes[i]!;
    if (all > 127 && !isUtf8(bytes.subarray(start, end))) return NONE;
    field.start = start;
    field.end = end;
    return end;
  }

  private readScalar(field: PlainField, at: number): number {
    const { bytes } = this;
    const type = bytes[at]!;
    if (type < 0x80 || type >= 0xe0) return integer(field, type < 0x80 ? type : type - 256, at + 1);
    switch (type) {
      case 0xc0:
        field.kind = "nil";
        field.valueSize = 0;
        return at + 1;
      case 0xc2:
      case 0xc3:
        field.kind = type === 0xc2 ? "false" : "true";
        field.valueSize = 2;
        return at + 1;
      case 0xcb:
        field.kind = "double";
        field.start = at + 1;
        field.valueSize = 9;
        return at + 9 <= bytes.length ? at + 9 : NONE;
      case 0xcc:
        return at + 2 <= bytes.length ? integer(field, bytes[at + 1]!, at + 2) : NONE;
      case 0xcd:
        return at + 3 <= bytes.length ? integer(field, bytes.readUInt16BE(at + 1), at + 3) : NONE;
      case 0xce:
        return at + 5 <= bytes.length ? integer(field, bytes.readUInt32BE(at + 1), at + 5) : NONE;
      case 0xd2:
        return at + 5 <= bytes.length ? integer(field, bytes.readInt32BE(at + 1), at + 5) : NONE;
      default:
        return NONE;
    }
  }

  /** Duplicate keys count once, and the tag belongs to the event; the general reader handles both cases. */
  private isKnown(at: number): boolean {
    const { fields } = this;
    const field = fields[at]!;
    if (this.isKey(field, TAG_KEY)) return true;
    const size = field.keyEnd - field.keyStart;
    for (let i = 0; i < at; i++) {
      const other = fields[i]!;
      if (other.keyEnd - other.keyStart === size && this.isSame(field.keyStart, other.keyStart, size)) return true;
    }
    return false;
  }

  private isSame(a: number, b: number, size: number): boolean {
    const { bytes } = this;
    for (let i = size - 1; i >= 0; i--) if (bytes[a + i] !== bytes[b + i]) return false;
    return true;
  }

  private isBody(field: PlainField): boolean {
    return this.isKey(field, LOG_KEY) || this.isKey(field, MESSAGE_KEY);
  }

  private isKey({ keyStart, keyEnd }: PlainField, key: Uint8Array): boolean {
    if (keyEnd - keyStart !== key.length) return false;
    for (let i = 0; i < key.length; i++) if (this.bytes[keyStart + i] !== key[i]) return false;
    return true;
  }

  private writeValue(out: WireWriter, { kind, start, end, integer: value }: PlainField): void {
    switch (kind) {
      case "text":
        out.byte(STRING_VALUE_TAG);
        out.varint(end - start);
        return out.copy(this.bytes, start, end);
      case "int":
        out.byte(INT_VALUE_TAG);
        return out.varintOfNumber(value);
      case "double":
        out.byte(DOUBLE_VALUE_TAG);
        return out.double(this.bytes.readDoubleBE(start));
      case "true":
      case "false":
        out.byte(BOOL_VALUE_TAG);
        return out.byte(kind === "true" ? 1 : 0);
    }
  }
}

const TAG_KEY = Buffer.from("fluent.tag");
const LOG_KEY = Buffer.from("log");
const MESSAGE_KEY = Buffer.from("message");

/** The size of the KeyValue's content. */
function keyValueSize({ keyStart, keyEnd, valueSize }: PlainField): number {
  const keySize = keyEnd - keyStart;
  return 1 + varintSize(keySize) + keySize + 1 + varintSize(valueSize) + valueSize;
}

function integer(field: PlainField, value: number, end: number): number {
  field.kind = "int";
  field.integer = value;
  field.valueSize = 1 + (value < 0 ? 10 : varintSize(value));
  return end;
}
