import {
  byteText,
  encodedKey,
  findAttribute,
  hasKey,
  indexAttributes,
  keyAt,
  keyEnd,
  readKey,
} from "../bytes/key-value.js";
import { KEY_TAG, VALUE_TAG } from "../bytes/tags.generated.js";
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
import { bodyEnd, nextBody } from "../bytes/wire.js";
import { WireWriter } from "../bytes/writer.js";

const DELETED = Symbol("deleted");
/**
 * The number of lookups that scan the message. For further lookups the positions are read once into a map: otherwise
 * looking up every key of a record with very many attributes would take quadratic time.
 */
const MAX_WALKS = 32;
/**
 * Up to this many changed keys are compared one by one while the attributes are written; more are looked up in a set.
 */
const MAX_COMPARED_KEYS = 8;

/** An encoded value, for moving it without decoding: a whole double stays a double. */
class RawValue {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

type AttributeChange = Value | RawValue | typeof DELETED;

/**
 * The attributes of a record, resource, scope, span event or data point, read from the bytes on demand. Changes are
 * kept beside the bytes and visible at once; they reach the batch when the record is written.
 */
export class Attributes {
  private readonly bytes: Uint8Array;
  private readonly start: number;
  private readonly end: number;
  private readonly tag: number;
  private changes: Map<string, AttributeChange> | undefined;
  /** The keys of the changes in UTF-8. */
  private changedKeys: Uint8Array[] | undefined;
  /** The same keys in the form of `byteText`, once there are many. */
  private changedKeyTexts: Set<string> | undefined;
  private walks = 0;
  private positions: Map<string, number> | undefined;

  /** Attributes are the fields with this tag in the message [start, end). */
  constructor(bytes: Uint8Array, start: number, end: number, tag: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.tag = tag;
  }

  get changed(): boolean {
    return this.changes !== undefined;
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
    const value = this.changes?.has(key) ? this.changes.get(key) : this.rawValue(key);
    if (value === undefined || value === DELETED) return false;
    if (key === to) return true;
    this.change(key, DELETED);
    this.change(to, value);
    return true;
  }

  /** @internal Copies a value as it is encoded, so a whole double stays a double. Returns true if there was one. */
  copy(key: string, to: string): boolean {
    const value = this.changes?.has(key) ? this.changes.get(key) : this.rawValue(key);
    if (value === undefined || value === DELETED) return false;
    this.change(to, value);
    return true;
  }

  /** @internal The bytes of the attribute's AnyValue, which tell whole doubles from integers. */
  encoded(key: string): Uint8Array | undefined {
    const change = this.changes?.get(key);
    if (change === undefined) return this.rawValue(key)?.bytes;
    if (change === DELETED) return undefined;
    if (change instanceof RawValue) return change.bytes;
    const writer = new WireWriter();
    writeValue(writer, change);
    return writer.bytes.subarray(0, writer.length);
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
    const keys = this.changedKeys!;
    if (keys.length > MAX_COMPARED_KEYS) return this.replacesOneOfMany(b, start, end);
    for (let i = 0; i < keys.length; i++) if (hasKey(b, start, end, keys[i]!)) return true;
    return false;
  }

  /** @internal For the owner's encoder: writes the new and changed attributes, each with its tag. */
  writeChanges(writer: WireWriter): void {
    for (const [key, value] of this.changes ?? []) {
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
    if (this.walks < MAX_WALKS) {
      this.walks += 1;
      return findAttribute(this.bytes, this.start, this.end, this.tag, encodedKey(key));
    }
    this.positions ??= indexAttributes(this.bytes, this.start, this.end, this.tag);
    const utf8 = encodedKey(key);
    return this.positions.get(byteText(utf8, 0, utf8.length)) ?? -1;
  }

  private noteChangedKey(utf8: Uint8Array): void {
    this.changedKeys!.push(utf8);
    this.changedKeyTexts?.add(byteText(utf8, 0, utf8.length));
  }

  private replacesOneOfMany(b: Uint8Array, start: number, end: number): boolean {
    this.changedKeyTexts ??= new Set(this.changedKeys!.map((utf8) => byteText(utf8, 0, utf8.length)));
    return this.changedKeyTexts.has(byteText(b, keyAt(b, start, end), keyEnd));
  }

  private rawValue(key: string): RawValue | undefined {
    const at = this.find(key);
    if (at < 0) return undefined;
    const [from, to] = valueRange(this.bytes, at);
    return new RawValue(this.bytes.subarray(from, to));
  }

  private change(key: string, value: AttributeChange): void {
    this.changes ??= new Map();
    this.changedKeys ??= [];
    if (!this.changes.has(key)) this.noteChangedKey(encodedKey(key));
    this.changes.set(key, value);
  }
}

function writeRaw(writer: WireWriter, key: string, value: RawValue): void {
  writer.byte(KEY_TAG);
  writer.text(key);
  writer.byte(VALUE_TAG);
  writer.lengthDelimited(value.bytes);
}

/** A value as it will be read after it was written. */
function valueWhenRead(value: Value | RawValue): Value {
  if (value instanceof RawValue) return readValue(value.bytes, 0, value.bytes.length);
  return value instanceof DoubleValue ? value.double : value;
}
