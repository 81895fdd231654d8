import type { Pattern } from "../../kit/match/pattern.js";
import { anyValueAt, anyValueEnd } from "../../telemetry/bytes/any-value.js";
import { decodeText } from "../../telemetry/bytes/decode.js";
import { encodeField } from "../../telemetry/bytes/encode.js";
import { KeyCache } from "../../telemetry/bytes/key-cache.js";
import { attributesTagOf, type Message } from "../../telemetry/bytes/messages.js";
import { KEY_TAG, STRING_VALUE_TAG, VALUE_TAG } from "../../telemetry/bytes/tags.js";
import { after, findField, skip, varint } from "../../telemetry/bytes/wire.js";
import { WireWriter } from "../../telemetry/bytes/writer.js";
import { encodedKey, findAttribute, readKey } from "../../telemetry/views/attributes.js";
import { type OttlMap, type OttlValue, sameValue } from "../values/value.js";
import { checkStorable, readOttlMap, readOttlValue } from "../values/wire-value.js";
import { DELETED, MessageEdits } from "./message-edits.js";

/**
 * A message that paths lead into: a record, its resource, its metric. It is read where it lies in the bytes; changes
 * are kept beside them, are seen by every later read, and reach the batch through `encodeInto`.
 *
 * One object serves all messages of a kind, one after the other: `moveTo` moves it on and forgets the changes. It is
 * public state on purpose: the compiled paths read it for every record.
 */
export class EditableMessage {
  bytes: Uint8Array = EMPTY_BYTES;
  start = 0;
  end = 0;
  /** Undefined as long as nothing has changed. */
  edits: MessageEdits | undefined;
  type: Message;
  /** Tag of the attributes in this message; 0 when it has none. */
  attributesTag = 0;
  /** The text that was read or written last of a field that several statements ask for, and where it lies. */
  readonly lastText = { bytes: EMPTY_BYTES as Uint8Array, at: -1, text: "" };
  private readonly onFirstEdit: (() => void) | undefined;
  /** The changes of one message after the other: most records that are edited are edited alike. */
  private readonly reusedEdits = new MessageEdits();

  /** `onFirstEdit` is called with the first change after each `moveTo`. */
  constructor(message: Message, onFirstEdit?: () => void) {
    this.type = message;
    this.onFirstEdit = onFirstEdit;
    this.setType(message);
  }

  /** The next message is of another kind: points of a histogram after those of a gauge. */
  setType(message: Message): void {
    this.type = message;
    this.attributesTag = attributesTagOf(message);
  }

  moveTo(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.edits = undefined;
  }

  edit(): MessageEdits {
    if (this.edits === undefined) {
      this.reusedEdits.clear();
      this.edits = this.reusedEdits;
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
    return value < 0 ? null : readOttlValue(this.bytes, value, anyValueEnd);
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
    const map = readOttlMap(this.bytes, this.start, this.end, this.attributesTag);
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

  /** Puts these among the attributes, as `editMap` would with all of them. */
  mergeAttributes(map: OttlMap, isWanted: (isThere: boolean) => boolean): void {
    const changes: [key: string, encoded: Uint8Array, value: OttlValue][] = [];
    for (const [key, value] of map) {
      const encoded = encodedKey(key);
      const isThere = this.hasAttribute(key, encoded);
      if (!isWanted(isThere)) continue;
      const current = isThere ? this.attribute(key, encoded) : null;
      checkStorable(value, current);
      if (!isThere || !sameValue(current, value)) changes.push([key, encoded, value]);
    }
    for (const [key, encoded, value] of changes) this.edit().change(key, encoded, value);
  }

  /** Takes these out of the attributes. */
  deleteMatching(matching: MatchingKeys): void {
    if (this.edits !== undefined) {
      for (const [key] of this.edits.entries()) if (matching.has(key)) this.edits.change(key, encodedKey(key), DELETED);
    }
    const { bytes } = this;
    this.eachAttribute((start, end) => {
      const at = findField(bytes, start, end, KEY_TAG);
      const size = at < 0 ? 0 : varint(bytes, at);
      const keyStart = at < 0 ? start : after;
      const found = matching.find(bytes, keyStart, keyStart + size);
      if (found !== undefined) this.edit().change(found.key, found.encoded, DELETED);
    });
  }

  /** Replaces the attributes that are texts; of those that have not changed only such in which the pattern may match. */
  replaceTexts(pattern: Pattern, replace: (text: string) => string): void {
    const { bytes } = this;
    const changed: [key: string, text: string][] = [];
    for (const [key, value] of this.edits?.entries() ?? []) {
      if (typeof value === "string") changed.push([key, replace(value)]);
    }
    this.eachAttribute((start, end) => {
      const valueAt = findField(bytes, start, end, VALUE_TAG);
      if (valueAt < 0) return;
      const size = varint(bytes, valueAt);
      const from = after;
      if (bytes[from] !== STRING_VALUE_TAG) return;
      varint(bytes, from + 1);
      if (!pattern.mayMatch(bytes, after, from + size)) return;
      const key = readKey(bytes, start, end);
      if (this.edits?.attribute(key) !== undefined) return;
      const text = readOttlValue(bytes, from, from + size);
      if (typeof text === "string") changed.push([key, replace(text)]);
    });
    for (const [key, text] of changed) this.setAttribute(key, encodedKey(key), text);
  }

  private eachAttribute(visit: (start: number, end: number) => void): void {
    const { bytes, end, attributesTag } = this;
    for (let p = this.start; p < end; ) {
      const tag = varint(bytes, p);
      const at = after;
      p = skip(bytes, at, tag);
      if (tag !== attributesTag) continue;
      varint(bytes, at);
      visit(after, p);
    }
  }

  /** Position of the first value of the field with this tag, or -1. Only for fields without a change. */
  find(tag: number): number {
    return findField(this.bytes, this.start, this.end, tag);
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

/** The keys that a pattern matches, or those that it does not. */
export class MatchingKeys {
  readonly pattern: Pattern;
  private readonly ifMatching: boolean;
  private readonly known = new KeyCache((b, start, end) => this.findOut(b, start, end), 256);

  constructor(pattern: Pattern, ifMatching: boolean) {
    this.pattern = pattern;
    this.ifMatching = ifMatching;
  }

  has(key: string): boolean {
    return this.pattern.test(key) === this.ifMatching;
  }

  /** The key that these bytes are, if it is one of them: programs have few keys, so most are known. */
  find(b: Uint8Array, start: number, end: number): MatchingKey | undefined {
    return this.known.get(b, start, end);
  }

  private findOut(b: Uint8Array, start: number, end: number): MatchingKey | undefined {
    if (this.ifMatching && !this.pattern.mayMatch(b, start, end)) return undefined;
    const key = decodeText(b, start, end);
    return this.has(key) ? { key, encoded: encodedKey(key) } : undefined;
  }
}

interface MatchingKey {
  readonly key: string;
  readonly encoded: Uint8Array;
}

const EMPTY_BYTES = new Uint8Array(0);

/** A field as it is written, with its tag; empty when `value` is undefined. */
export function encodedField(message: Message, number: number, value: unknown): Uint8Array {
  if (value === undefined) return EMPTY_BYTES;
  scratch.clear();
  encodeField(message.byNumber[number]!, value, scratch);
  return Buffer.from(scratch.written()); // small ones share a block of memory
}

const scratch = new WireWriter(4096);
