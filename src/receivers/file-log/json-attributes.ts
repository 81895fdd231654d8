import { copyInto } from "#logs/entries";
import type { WireWriter } from "#otlp/bytes";
import { putVarint, varintSize } from "#otlp/bytes";
import {
  ARRAY_VALUE_TAG,
  BOOL_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  ELEMENT_TAG,
  KEY_TAG,
  KVLIST_VALUE_TAG,
  LOG_ATTRIBUTES_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "#otlp/tags";

/** The size of an AnyValue with a double: its tag and eight bytes. */
const DOUBLE_VALUE_SIZE = 9;

/**
 * Writes a JSON object as the attributes of a log record, directly from its bytes and without creating objects or
 * strings. The result equals that of `JSON.parse` and `writeLogMap`. It only handles the plain case: an object that is
 * not nested too deeply, has no duplicate keys and none of the keys in `taken`. For any other input, including invalid
 * JSON, `write` returns false after possibly writing something; the caller discards that and uses the general path.
 */
export class JsonAttributes {
  private readonly taken: readonly Buffer[];
  private source: Buffer = Buffer.alloc(0);
  private at = 0;
  private end = 0;
  private readonly keyStarts = new Uint32Array(MAX_KEYS);
  private readonly keyEnds = new Uint32Array(MAX_KEYS);

  /**
   * Text ranges of the members that `noted` names; -1 if the object has no such member or its value is not a plain
   * text.
   */
  readonly notedStarts: Int32Array;
  readonly notedEnds: Int32Array;
  private readonly noted: readonly Buffer[];

  /** `taken` lists attributes that the record already has. */
  constructor(taken: readonly string[], noted: readonly string[] = []) {
    this.taken = taken.map((key) => Buffer.from(key));
    this.noted = noted.map((key) => Buffer.from(key));
    this.notedStarts = new Int32Array(noted.length);
    this.notedEnds = new Int32Array(noted.length);
  }

  /** The text in [from, to) must be valid UTF-8. Returns false if the general path is needed. */
  write(writer: WireWriter, source: Buffer, from: number, to: number): boolean {
    this.source = source;
    this.at = from;
    this.end = to;
    this.notedStarts.fill(-1);
    if (this.next() !== 0x7b) return false;
    this.at++;
    return this.members(writer, LOG_ATTRIBUTES_TAG, 0) && this.next() === -1;
  }

  /** Skips white space and returns the next byte, or -1 at the end. */
  private next(): number {
    const { source, end } = this;
    while (this.at < end) {
      const byte = source[this.at]!;
      if (byte !== 32 && byte !== 9 && byte !== 10 && byte !== 13) return byte;
      this.at++;
    }
    return -1;
  }

  /** Writes the members of an object, starting after its {, each as a field with this tag. */
  private members(writer: WireWriter, tag: number, depth: number): boolean {
    if (depth > MAX_DEPTH) return false;
    if (this.next() === 0x7d) {
      this.at++;
      return true;
    }
    for (let count = 0; ; count++) {
      if (count === MAX_KEYS || this.next() !== 0x22) return false;
      const start = this.at + 1;
      const end = this.plainText();
      if (end < 0 || !this.isNewKey(start, end, count, depth)) return false;
      if (this.next() !== 0x3a) return false;
      this.at++;
      if (!this.member(writer, tag, start, end, depth)) return false;
      const byte = this.next();
      this.at++;
      if (byte === 0x7d) return true;
      if (byte !== 0x2c) return false;
    }
  }

  /** Whether no earlier key of the object equals this one. Only keys of the outermost object are compared. */
  private isNewKey(start: number, end: number, count: number, depth: number): boolean {
    const { source, keyStarts, keyEnds } = this;
    if (depth > 0) return count === 0; // a nested object with several keys takes the general path
    for (let i = 0; i < count; i++) {
      if (keyEnds[i]! - keyStarts[i]! === end - start && isSame(source, keyStarts[i]!, source, start, end - start))
        return false;
    }
    for (const key of this.taken)
      if (key.length === end - start && isSame(key, 0, source, start, key.length)) return false;
    keyStarts[count] = start;
    keyEnds[count] = end;
    return true;
  }

  private member(writer: WireWriter, tag: number, start: number, end: number, depth: number): boolean {
    const { source } = this;
    const keySize = end - start;
    const first = this.next();
    if (first >= 0x30 && first <= 0x39) {
      const value = this.readNumber();
      if (Number.isNaN(value)) return false;
      this.numberMember(writer, tag, start, end, value);
      return true;
    }
    if (first === 0x22) {
      const from = this.at + 1;
      const to = this.plainText();
      if (to >= 0) {
        if (depth === 0) this.note(start, end, from, to);
        this.textMember(writer, tag, start, end, from, to);
        return true;
      }
    }
    writer.byte(tag);
    writer.begin(keySize + 13);
    writer.byte(KEY_TAG);
    writer.varint(keySize);
    writer.copy(source, start, end);
    writer.byte(VALUE_TAG);
    writer.begin(9);
    const isWritten = this.value(writer, depth);
    writer.end();
    writer.end();
    return isWritten;
  }

  private note(start: number, end: number, from: number, to: number): void {
    for (let i = 0; i < this.noted.length; i++) {
      const key = this.noted[i]!;
      if (key.length !== end - start || !isSame(key, 0, this.source, start, key.length)) continue;
      this.notedStarts[i] = from;
      this.notedEnds[i] = to;
    }
  }

  /** Writes a KeyValue of two texts copied from the source: the most common case. */
  private textMember(writer: WireWriter, tag: number, start: number, end: number, from: number, to: number): void {
    const { source } = this;
    const keySize = end - start;
    const size = to - from;
    const valueSize = 1 + varintSize(size) + size;
    const memberSize = 1 + varintSize(keySize) + keySize + 1 + varintSize(valueSize) + valueSize;
    writer.reserve(memberSize + 6);
    const { bytes } = writer;
    let at = writer.length;
    bytes[at++] = tag;
    at = putVarint(bytes, at, memberSize);
    bytes[at++] = KEY_TAG;
    at = putVarint(bytes, at, keySize);
    for (let i = start; i < end; i++) bytes[at++] = source[i]!;
    bytes[at++] = VALUE_TAG;
    at = putVarint(bytes, at, valueSize);
    bytes[at++] = STRING_VALUE_TAG;
    at = putVarint(bytes, at, size);
    writer.length = copyInto(bytes, at, source, from, to);
  }

  /** Writes a KeyValue with a number. */
  private numberMember(writer: WireWriter, tag: number, start: number, end: number, value: number): void {
    const { source } = this;
    const keySize = end - start;
    const memberSize = 1 + varintSize(keySize) + keySize + 2 + DOUBLE_VALUE_SIZE;
    writer.reserve(memberSize + 6);
    const { bytes } = writer;
    let at = writer.length;
    bytes[at++] = tag;
    at = putVarint(bytes, at, memberSize);
    bytes[at++] = KEY_TAG;
    at = putVarint(bytes, at, keySize);
    for (let i = start; i < end; i++) bytes[at++] = source[i]!;
    bytes[at++] = VALUE_TAG;
    bytes[at++] = DOUBLE_VALUE_SIZE;
    bytes[at++] = DOUBLE_VALUE_TAG;
    writer.view.setFloat64(at, value, true);
    writer.length = at + 8;
  }

  private value(writer: WireWriter, depth: number): boolean {
    switch (this.next()) {
      case 0x22:
        return this.anyText(writer);
      case 0x7b:
        this.at++;
        return this.nested(writer, KVLIST_VALUE_TAG, () => this.members(writer, ELEMENT_TAG, depth + 1));
      case 0x5b:
        this.at++;
        return this.nested(writer, ARRAY_VALUE_TAG, () => this.items(writer, depth + 1));
      case 0x74:
        return this.literal(writer, "true", 1);
      case 0x66:
        return this.literal(writer, "false", 0);
      case 0x6e:
        return this.literal(writer, "null", -1);
      default:
        return this.number(writer);
    }
  }

  private nested(writer: WireWriter, tag: number, write: () => boolean): boolean {
    writer.byte(tag);
    writer.begin(20);
    const isWritten = write();
    writer.end();
    return isWritten;
  }

  private items(writer: WireWriter, depth: number): boolean {
    if (depth > MAX_DEPTH) return false;
    if (this.next() === 0x5d) {
      this.at++;
      return true;
    }
    for (;;) {
      writer.byte(ELEMENT_TAG);
      writer.begin(9);
      const isWritten = this.value(writer, depth);
      writer.end();
      if (!isWritten) return false;
      const byte = this.next();
      this.at++;
      if (byte === 0x5d) return true;
      if (byte !== 0x2c) return false;
    }
  }

  private literal(writer: WireWriter, word: string, truth: number): boolean {
    for (let i = 0; i < word.length; i++) if (this.source[this.at + i] !== word.charCodeAt(i)) return false;
    this.at += word.length;
    if (this.at > this.end) return false;
    if (truth >= 0) {
      writer.byte(BOOL_VALUE_TAG);
      writer.byte(truth);
    }
    return true;
  }

  /**
   * Starts after the opening ". Returns where a text without escapes ends and moves past its closing "; returns -1
   * without moving for any other text.
   */
  private plainText(): number {
    const { source, end } = this;
    for (let i = this.at + 1; i < end; i++) {
      const byte = source[i]!;
      if (byte === 0x22) {
        this.at = i + 1;
        return i;
      }
      if (byte === 0x5c || byte < 0x20) return -1;
    }
    return -1;
  }

  private anyText(writer: WireWriter): boolean {
    const { source, end } = this;
    const start = this.at;
    let i = start + 1;
    while (i < end && source[i] !== 0x22) i += source[i] === 0x5c ? 2 : 1;
    if (i >= end) return false;
    this.at = i + 1;
    try {
      writer.byte(STRING_VALUE_TAG);
      writer.text(JSON.parse(source.toString("utf8", start, i + 1)) as string);
      return true;
    } catch {
      return false;
    }
  }

  private number(writer: WireWriter): boolean {
    const value = this.readNumber();
    if (Number.isNaN(value)) return false;
    writer.byte(DOUBLE_VALUE_TAG);
    writer.double(value);
    return true;
  }

  /** Returns NaN if there is no number. */
  private readNumber(): number {
    const { source, end } = this;
    const start = this.at;
    let i = start;
    let value = 0;
    for (; i < end && i - start < 15; i++) {
      const digit = source[i]! - 0x30;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    const isWhole = i > start && i - start < 15 && (i === end || !isNumberByte(source[i]!));
    if (!isWhole || (source[start] === 0x30 && i > start + 1)) {
      while (i < end && isNumberByte(source[i]!)) i++;
      const text = source.toString("latin1", start, i);
      value = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;
    }
    this.at = i;
    return value;
  }
}

/** Whether the byte is a digit or one of + - . e E. */
function isNumberByte(byte: number): boolean {
  return (byte >= 48 && byte <= 57) || byte === 43 || byte === 45 || byte === 46 || byte === 69 || byte === 101;
}

const MAX_KEYS = 64;
const MAX_DEPTH = 20;

function isSame(one: Uint8Array, oneAt: number, other: Uint8Array, otherAt: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (one[oneAt + i] !== other[otherAt + i]) return false;
  return true;
}
