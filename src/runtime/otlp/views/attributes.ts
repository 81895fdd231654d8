import {
  anyValueAt,
  anyValueEnd,
  byteText,
  encodedKey,
  findAttribute,
  indexAttributes,
  readKey,
} from "../bytes/key-value.js";
import { KEY_TAG, STRING_VALUE_TAG, VALUE_TAG } from "../bytes/tags.generated.js";
import {
  attributeValue,
  DoubleValue,
  readValue,
  readValues,
  type Value,
  valueRange,
  writeKeyValue,
  writeValue,
} from "../bytes/value.js";
import { after, bodyEnd, fieldAt, nextBody, varint } from "../bytes/wire.js";
import { WireWriter } from "../bytes/writer.js";
import { type AttributeChange, AttributeChanges, DELETED, RawValue } from "./attribute-changes.js";

/**
 * The number of lookups that scan the message. For further lookups the positions are read once into a map: otherwise
 * looking up every key of a record with very many attributes would take quadratic time.
 */
const MAX_WALKS = 32;
/**
 * The attributes of a record, resource, scope, span event or data point, read from the bytes on demand. Changes are
 * kept beside the bytes and visible at once; they reach the batch when the record is written.
 */
export class Attributes {
  private readonly bytes: Uint8Array;
  private start: number;
  private end: number;
  private tag: number;
  private changes: AttributeChanges | undefined;
  private walks = 0;
  private lastKey: string | undefined;
  /** The result of the last `find`. */
  private lastAt = -1;
  private positions: Map<string, number> | undefined;

  /** Attributes are the fields with this tag in the message [start, end). */
  constructor(bytes: Uint8Array, start: number, end: number, tag: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.tag = tag;
  }

  /** @internal Forgets everything, and stands for the attributes of another message of the same bytes from now on. */
  moveTo(start: number, end: number, tag: number): void {
    this.start = start;
    this.end = end;
    this.tag = tag;
    this.changes?.clear();
    this.walks = 0;
    this.lastKey = undefined;
    this.positions = undefined;
  }

  get changed(): boolean {
    return this.changes !== undefined && this.changes.size > 0;
  }

  /** The value, or undefined if there is no such attribute; null is an attribute without a value. */
  get(key: string): Value | undefined {
    const change = this.changes?.get(key);
    if (change !== undefined) return change === DELETED ? undefined : valueWhenRead(change);
    const at = this.find(key);
    return at < 0 ? undefined : attributeValue(this.bytes, at);
  }

  has(key: string): boolean {
    const change = this.changes?.get(key);
    if (change !== undefined) return change !== DELETED;
    return this.find(key) >= 0;
  }

  set(key: string, value: Value): this {
    this.change(key, value);
    return this;
  }

  /** Returns true if there was one. */
  delete(key: string): boolean {
    if (!this.has(key)) return false;
    this.change(key, DELETED);
    return true;
  }

  /**
   * Gives an attribute another key and keeps its value; an attribute that already has that key is replaced. Returns
   * true if there was one.
   */
  rename(key: string, to: string): boolean {
    const value = this.storedValue(key);
    if (value === undefined || value === DELETED) return false;
    if (key === to) return true;
    this.change(key, DELETED);
    this.change(to, value);
    return true;
  }

  /** @internal Copies a value as it is encoded, so a whole double stays a double. Returns true if there was one. */
  copy(key: string, to: string): boolean {
    const value = this.storedValue(key);
    if (value === undefined || value === DELETED) return false;
    this.change(to, value);
    return true;
  }

  /** @internal The bytes of the attribute's AnyValue, which tell whole doubles from integers. */
  encoded(key: string): Uint8Array | undefined {
    const change = this.changes?.get(key);
    if (change === undefined) return this.rawValue(key)?.encoded();
    if (change === DELETED) return undefined;
    if (change instanceof RawValue) return change.encoded();
    const writer = new WireWriter();
    writeValue(writer, change);
    return writer.bytes.subarray(0, writer.length);
  }

  /**
   * @internal Copies an attribute's text in ASCII to `target` and returns its size. Returns -1 if it is anything else,
   * if it was changed, or if it is larger than the target.
   */
  copyAscii(key: string, target: Uint8Array): number {
    const b = this.bytes;
    const at = this.changes?.get(key) === undefined ? this.find(key) : -1;
    const value = at < 0 ? -1 : anyValueAt(b, at);
    if (value < 0 || value === anyValueEnd || b[value] !== STRING_VALUE_TAG) return -1;
    const size = varint(b, value + 1);
    const start = after;
    if (start + size !== anyValueEnd || size > target.length) return -1;
    for (let i = 0; i < size; i++) {
      const byte = b[start + i]!;
      if (byte > 127) return -1;
      target[i] = byte;
    }
    return size;
  }

  /** Each key once, in the order of the bytes, new ones at the end. */
  keys(): string[] {
    const keys = new Set<string>();
    for (let p = this.start; (p = nextBody(this.bytes, p, this.end, this.tag)) >= 0; ) {
      const body = p;
      p = bodyEnd;
      keys.add(readKey(this.bytes, body, p));
    }
    for (const [key, value] of this.changes ?? []) {
      if (value === DELETED) keys.delete(key);
      else keys.add(key);
    }
    return [...keys];
  }

  entries(): [string, Value][] {
    return Object.entries(this.toObject());
  }

  get size(): number {
    return this.keys().length;
  }

  /** All attributes with their changes, in an object without a prototype. */
  toObject(): { [key: string]: Value } {
    const all = readValues(this.bytes, this.start, this.end, this.tag);
    for (const [key, value] of this.changes ?? []) {
      if (value === DELETED) delete all[key];
      else all[key] = valueWhenRead(value);
    }
    return all;
  }

  /**
   * @internal For the owner's encoder: whether a change replaces the attribute whose KeyValue is [start, end) of `b`.
   */
  replaces(b: Uint8Array, start: number, end: number): boolean {
    return this.changes!.replaces(b, start, end);
  }

  /** @internal Writes the body of the message, nothing of which changes but its attributes. */
  encodeInto(writer: WireWriter): void {
    const { bytes, end } = this;
    let copied = this.start;
    for (let p = copied; (p = nextBody(bytes, p, end, this.tag)) >= 0; ) {
      const at = fieldAt;
      const body = p;
      p = bodyEnd;
      if (!this.replaces(bytes, body, p)) continue;
      writer.copy(bytes, copied, at);
      copied = p;
    }
    writer.copy(bytes, copied, end);
    this.writeChanges(writer);
  }

  /** @internal For the owner's encoder: writes the new and changed attributes, each with its tag. */
  writeChanges(writer: WireWriter): void {
    const { changes } = this;
    for (let i = 0; changes !== undefined && i < changes.size; i++) {
      const { key, value } = changes.at(i);
      if (value === DELETED) continue;
      writer.varint(this.tag);
      writer.begin(key.length + (typeof value === "string" ? value.length : 0) + 6);
      if (value instanceof RawValue) writeRaw(writer, key, value);
      else writeKeyValue(writer, key, value);
      writer.end();
    }
  }

  /** Returns the same position as `findAttribute`. */
  private find(key: string): number {
    if (key !== this.lastKey) {
      this.lastAt = this.search(encodedKey(key));
      this.lastKey = key;
    }
    return this.lastAt;
  }

  private search(utf8: Uint8Array): number {
    if (this.walks < MAX_WALKS) {
      this.walks += 1;
      return findAttribute(this.bytes, this.start, this.end, this.tag, utf8);
    }
    this.positions ??= indexAttributes(this.bytes, this.start, this.end, this.tag);
    return this.positions.get(byteText(utf8, 0, utf8.length)) ?? -1;
  }

  private storedValue(key: string): AttributeChange | undefined {
    const change = this.changes?.get(key); // null is a value
    return change === undefined ? this.rawValue(key) : change;
  }

  private rawValue(key: string): RawValue | undefined {
    const at = this.find(key);
    if (at < 0) return undefined;
    const [from, to] = valueRange(this.bytes, at);
    return new RawValue(this.bytes, from, to);
  }

  private change(key: string, value: AttributeChange): void {
    this.changes ??= new AttributeChanges();
    this.changes.set(key, value);
  }
}

function writeRaw(writer: WireWriter, key: string, value: RawValue): void {
  writer.byte(KEY_TAG);
  writer.text(key);
  writer.byte(VALUE_TAG);
  writer.varint(value.end - value.start);
  writer.copy(value.bytes, value.start, value.end);
}

/** A value as it will be read after it was written. */
function valueWhenRead(value: Value | RawValue): Value {
  if (value instanceof RawValue) return readValue(value.bytes, value.start, value.end);
  return value instanceof DoubleValue ? value.double : value;
}
