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
      this.edits = new Edits();
      this.onFirstEdit?.();
    }
    return this.edits;
  }

  attribute(key: string, encoded: Uint8Array): OttlValue {
    if (this.edits !== undefined) {
      const change = this.edits.attributes.get(key);
      if (change !== undefined) return change === DELETED ? null : (change as OttlValue);
    }
    const at = findAttribute(this.bytes, this.start, this.end, this.attributesTag, encoded);
    if (at < 0) return null;
    const value = anyValueAt(this.bytes, at);
    return value < 0 ? null : readAny(this.bytes, value, anyEnd);
  }

  hasAttribute(key: string, encoded: Uint8Array): boolean {
    const change = this.edits?.attributes.get(key);
    if (change !== undefined) return change !== DELETED;
    return findAttribute(this.bytes, this.start, this.end, this.attributesTag, encoded) >= 0;
  }

  setAttribute(key: string, encoded: Uint8Array, value: OttlValue): void {
    if (typeof value === "object") checkStorable(value);
    const current = this.attribute(key, encoded);
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
      for (const [key, change] of this.edits.attributes) {
        if (change === DELETED) map.delete(key);
        else map.set(key, change as OttlValue);
      }
    }
    return map;
  }

  /** Makes the attributes what is in the map; those that stay the same are left as they are. */
  setAttributes(map: OttlMap): void {
    for (const value of map.values()) checkStorable(value);
    const current = this.attributes();
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
    const { edits } = this;
    if (edits === undefined) return writer.copy(bytes, start, end);
    const written = new Set<string>();
    let copied = start;
    for (let p = start; p < end; ) {
      const tag = varint(bytes, p);
      const at = after;
      const next = skip(bytes, at, tag);
      const isAttribute = tag === this.attributesTag && edits.keys.length > 0;
      const key = isAttribute ? edits.changedKey(bytes, at, next) : undefined;
      if (key !== undefined || edits.fields.has(tag >>> 3)) {
        writer.copy(bytes, copied, p);
        if (key !== undefined && !written.has(key)) {
          this.writeChange(writer, key);
          written.add(key);
        }
        copied = next;
      }
      p = next;
    }
    writer.copy(bytes, copied, end);
    for (const { key } of edits.keys) if (!written.has(key)) this.writeChange(writer, key);
    for (const field of edits.fields.values()) writer.copy(field, 0, field.length);
  }

  private writeChange(writer: WireWriter, key: string): void {
    const change = this.edits!.attributes.get(key);
    if (change !== DELETED) writeKeyValue(writer, this.attributesTag, key, change as OttlValue);
  }
}

/** The changes to one message. */
export class Edits {
  /** By key: the new value, or that it is gone. */
  readonly attributes = new Map<string, OttlValue | typeof DELETED>();
  readonly keys: { readonly key: string; readonly encoded: Uint8Array }[] = [];
  /** By field number: its new bytes, tag and all; none when it is gone. */
  readonly fields = new Map<number, Uint8Array>();

  change(key: string, encoded: Uint8Array, value: OttlValue | typeof DELETED): void {
    if (!this.attributes.has(key)) this.keys.push({ key, encoded });
    this.attributes.set(key, value);
  }

  /** The key of the KeyValue whose length is at `at`, if it is one of those that changed. */
  changedKey(b: Uint8Array, at: number, end: number): string | undefined {
    varint(b, at);
    const start = after;
    for (const { key, encoded } of this.keys) if (hasKey(b, start, end, encoded)) return key;
    return undefined;
  }
}

const NOTHING = new Uint8Array(0);

function hasKey(b: Uint8Array, start: number, end: number, key: Uint8Array): boolean {
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
