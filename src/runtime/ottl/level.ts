import { decodeText } from "../telemetry/decode.js";
import { encodeField } from "../telemetry/encode.js";
import type { Message } from "../telemetry/messages.js";
import { encodedKey, findAttribute } from "../telemetry/views/attributes.js";
import { after, BYTES, skip, varint } from "../telemetry/wire.js";
import { WireWriter } from "../telemetry/writer.js";
import { type OttlMap, type OttlValue, sameValue } from "./value.js";
import { anyEnd, anyValueAt, checkStorable, readAny, readKeyValues, writeKeyValue } from "./wire-value.js";

const DELETED = Symbol("deleted");

/**
 * A message that paths lead into: a record, its resource, its metric. It is read where it lies in the bytes; changes
 * are kept beside them, are seen by every later read, and reach the batch through `encodeInto`.
 *
 * One object serves all messages of a level, one after the other: `place` moves it on and forgets the changes. It is
 * public state on purpose: the compiled paths read it for every record.
 */
export class Level {
  bytes: Uint8Array = NOTHING;
  start = 0;
  end = 0;
  /** Undefined as long as nothing has changed. */
  edits: Edits | undefined;
  message: Message;
  /** Tag of the attributes in this message; 0 when it has none. */
  attributesTag = 0;
  private readonly onFirstEdit: (() => void) | undefined;
  /** The changes of one message after the other: most records that are edited are edited alike. */
  private readonly spare = new Edits();

  /** `onFirstEdit` is called with the first change after each `place`. */
  constructor(message: Message, onFirstEdit?: () => void) {
    this.message = message;
    this.onFirstEdit = onFirstEdit;
    this.is(message);
  }

  /** The next message is of another kind: points of a histogram after those of a gauge. */
  is(message: Message): void {
    this.message = message;
    const field = message.byName.get("attributes") ?? message.byName.get("metadata");
    this.attributesTag = field === undefined ? 0 : (field.number << 3) | BYTES;
  }

  place(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.edits = undefined;
  }

  edit(): Edits {
    if (this.edits === undefined) {
      this.spare.clear();
      this.edits = this.spare;
      this.onFirstEdit?.();
    }
    return this.edits;
  }

  attribute(key: string, encoded: Uint8Array): OttlValue {
    if (this.edits !== undefined) {
      const change = this.edits.attribute(key);
      if (change !== undefined) return change === DELETED ? null : (change as OttlValue);
    }
    const at = findAttribute(this.bytes, this.start, this.end, this.attributesTag, encoded);
    if (at < 0) return null;
    const value = anyValueAt(this.bytes, at);
    return value < 0 ? null : readAny(this.bytes, value, anyEnd);
  }

  hasAttribute(key: string, encoded: Uint8Array): boolean {
    const change = this.edits?.attribute(key);
    if (change !== undefined) return change !== DELETED;
    return findAttribute(this.bytes, this.start, this.end, this.attributesTag, encoded) >= 0;
  }

  setAttribute(key: string, encoded: Uint8Array, value: OttlValue): void {
    const current = this.attribute(key, encoded);
    checkStorable(value, current);
    if (sameValue(current, value) && (value !== null || this.hasAttribute(key, encoded))) return;
    this.edit().change(key, encoded, value);
  }

  deleteAttribute(key: string, encoded: Uint8Array): void {
    if (this.hasAttribute(key, encoded)) this.edit().change(key, encoded, DELETED);
  }

  /** All attributes, with the changes; a new map every time. */
  attributes(): OttlMap {
    const map = readKeyValues(this.bytes, this.start, this.end, this.attributesTag, new Map());
    if (this.edits !== undefined) {
      for (const [key, change] of this.edits.entries()) {
        if (change === DELETED) map.delete(key);
        else map.set(key, change as OttlValue);
      }
    }
    return map;
  }

  /** Makes the attributes what is in the map; those that stay the same are left as they are. */
  setAttributes(map: OttlMap): void {
    const current = this.attributes();
    for (const [key, value] of map) checkStorable(value, current.get(key));
    for (const key of current.keys()) if (!map.has(key)) this.edit().change(key, encodedKey(key), DELETED);
    for (const [key, value] of map) {
      const before = current.get(key);
      if (before === undefined || !sameValue(before, value)) this.edit().change(key, encodedKey(key), value);
    }
  }

  /** Position of the first value of the field with this tag, or -1. Only for fields without a change. */
  find(tag: number): number {
    const { bytes, end } = this;
    for (let p = this.start; p < end; ) {
      let found = bytes[p++]!;
      if (found > 127) {
        found = varint(bytes, p - 1);
        p = after;
      }
      if (found === tag) return p;
      p = skip(bytes, p, found);
    }
    return -1;
  }

  /** Writes the body of the message with the changes: from the bytes it lies in, or from others that took its place. */
  encodeInto(writer: WireWriter, bytes = this.bytes, start = this.start, end = this.end): void {
    const { edits, attributesTag } = this;
    if (edits === undefined) return writer.copy(bytes, start, end);
    const { count, fields } = edits;
    const hasFields = fields.size > 0;
    edits.beginWriting();
    let copied = start;
    for (let p = start; p < end; ) {
      const from = p;
      let tag = bytes[p++]!;
      if (tag > 127) {
        tag = varint(bytes, from);
        p = after;
      }
      let index = -1;
      if (tag === attributesTag) {
        let size = bytes[p++]!;
        if (size > 127) {
          size = varint(bytes, p - 1);
          p = after;
        }
        if (count > 0) index = edits.indexOfKey(bytes, p, p + size);
        p += size;
      } else p = skip(bytes, p, tag);
      if (index < 0 && !(hasFields && fields.has(tag >>> 3))) continue;
      writer.copy(bytes, copied, from);
      if (index >= 0) edits.writeOnce(writer, attributesTag, index);
      copied = p;
    }
    writer.copy(bytes, copied, end);
    for (let i = 0; i < count; i++) edits.writeOnce(writer, attributesTag, i);
    if (hasFields) for (const field of fields.values()) writer.copy(field, 0, field.length);
  }
}

/** Up to here the changed keys are compared one by one, above they are looked up: a record may have many attributes. */
const FEW = 12;

/**
 * The changes to one message. Kept in lists that are written over: with a map to be cleared for every record, setting
 * one attribute measured a tenth slower.
 */
export class Edits {
  /** How many attributes have changed. */
  count = 0;
  /** By field number: its new bytes, tag and all; none when it is gone. */
  readonly fields = new Map<number, Uint8Array>();
  private readonly keys: string[] = [];
  private readonly encoded: Uint8Array[] = [];
  private readonly values: (OttlValue | typeof DELETED)[] = [];
  private readonly written: boolean[] = [];
  /** By key, once there are more than a few. */
  private indexes: Map<string, number> | undefined;

  clear(): void {
    this.count = 0;
    this.indexes = undefined;
    if (this.fields.size > 0) this.fields.clear();
  }

  /** The new value of an attribute, DELETED when it is gone, undefined when it has not changed. */
  attribute(key: string): OttlValue | typeof DELETED | undefined {
    const index = this.indexOf(key);
    return index < 0 ? undefined : this.values[index];
  }

  /** The changed attributes, in the order in which they were changed first. */
  *entries(): Generator<[key: string, value: OttlValue | typeof DELETED]> {
    for (let i = 0; i < this.count; i++) yield [this.keys[i]!, this.values[i]!];
  }

  change(key: string, encoded: Uint8Array, value: OttlValue | typeof DELETED): void {
    let index = this.indexOf(key);
    if (index < 0) {
      index = this.count++;
      this.keys[index] = key;
      this.encoded[index] = encoded;
      if (this.count > FEW) this.index(key, index);
    }
    this.values[index] = value;
  }

  beginWriting(): void {
    for (let i = 0; i < this.count; i++) this.written[i] = false;
  }

  /** Which of the changed keys the KeyValue in [start, end) has, or -1. */
  indexOfKey(b: Uint8Array, start: number, end: number): number {
    if (this.indexes !== undefined) return this.indexes.get(keyOf(b, start, end)) ?? -1;
    for (let i = 0; i < this.count; i++) if (hasKey(b, start, end, this.encoded[i]!)) return i;
    return -1;
  }

  /** Writes a change unless it has been written or is a deletion. */
  writeOnce(writer: WireWriter, tag: number, index: number): void {
    if (this.written[index]) return;
    this.written[index] = true;
    const value = this.values[index]!;
    if (value !== DELETED) writeKeyValue(writer, tag, this.keys[index]!, value as OttlValue);
  }

  private indexOf(key: string): number {
    if (this.indexes !== undefined) return this.indexes.get(key) ?? -1;
    for (let i = 0; i < this.count; i++) if (this.keys[i] === key) return i;
    return -1;
  }

  private index(key: string, at: number): void {
    if (this.indexes === undefined) {
      this.indexes = new Map();
      for (let i = 0; i < at; i++) this.indexes.set(this.keys[i]!, i);
    }
    this.indexes.set(key, at);
  }
}

const NOTHING = new Uint8Array(0);

function keyOf(b: Uint8Array, start: number, end: number): string {
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== KEY_TAG) continue;
    varint(b, at);
    return decodeText(b, after, p);
  }
  return "";
}

function hasKey(b: Uint8Array, start: number, end: number, key: Uint8Array): boolean {
  if (end - start > 1 && b[start] === KEY_TAG && b[start + 1]! < 128)
    return b[start + 1] === key.length && sameBytes(b, start + 2, key);
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== KEY_TAG) continue;
    varint(b, at);
    return p - after === key.length && sameBytes(b, after, key);
  }
  return key.length === 0;
}

const KEY_TAG = 10;

function sameBytes(b: Uint8Array, p: number, key: Uint8Array): boolean {
  for (let i = key.length - 1; i >= 0; i--) if (b[p + i] !== key[i]) return false;
  return true;
}

/** A field as it is written, with its tag; empty when `value` is undefined. */
export function fieldBytes(message: Message, number: number, value: unknown): Uint8Array {
  if (value === undefined) return NOTHING;
  const writer = new WireWriter(64);
  encodeField(message.byNumber[number]!, value, writer);
  return writer.written();
}
