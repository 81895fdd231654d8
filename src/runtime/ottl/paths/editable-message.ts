import {
  after,
  anyValueAt,
  anyValueEnd,
  bodyEnd,
  encodedKey,
  findAttribute,
  findField,
  keyAt,
  keyEnd,
  type Message,
  nextBody,
  skip,
  varint,
  varintSize,
  type WireWriter,
} from "#otlp/bytes";
import { LOG_BODY_TAG, STRING_VALUE_TAG, VALUE_TAG } from "#otlp/tags";
import type { Pattern } from "#text/patterns";
import { checkSize } from "../values/limits.js";
import { type OttlMap, type OttlValue, sameValue } from "../values/value.js";
import { checkStorable, isSurelyStorable, mayMatchEncoded, readOttlMap, readOttlValue } from "../values/wire-value.js";
import { type KnownKey, knownKey, type MatchingKeys } from "./known-keys.js";
import { DELETED, MessageEdits } from "./message-edits.js";

/**
 * A message that paths lead into: a record, its resource, its metric. It is read in place; changes are kept beside the
 * bytes, are visible to every later read, and reach the batch through `encodeInto`.
 *
 * One object serves all messages of a kind in turn: `moveTo` moves it on and forgets the changes. Its state is public
 * on purpose: the compiled paths read it for every record.
 */
export class EditableMessage {
  bytes: Uint8Array = EMPTY_BYTES;
  start = 0;
  end = 0;
  /** Undefined until something has changed. */
  edits: MessageEdits | undefined;
  type: Message;
  /** Tag of the attributes in this message; 0 if it has none. */
  attributesTag = 0;
  /** The last text read from a record's body and its place, because several statements ask for it. */
  readonly lastBody = { bytes: EMPTY_BYTES as Uint8Array, at: -1, text: "" };
  private readonly onFirstEdit: (() => void) | undefined;
  /** Reused for one message after the other, because most edited records are edited alike. */
  private reusedEdits: MessageEdits | undefined;
  private readonly maxSize: number | undefined;

  /** `onFirstEdit` is called with the first change after each `moveTo`. */
  constructor(message: Message, onFirstEdit?: () => void, maxSize?: number) {
    this.maxSize = maxSize;
    this.type = message;
    this.onFirstEdit = onFirstEdit;
    this.setType(message);
  }

  /** Called when the next message is of another kind, such as points of a histogram after those of a gauge. */
  setType(message: Message): void {
    this.type = message;
    this.attributesTag = message.attributesTag;
  }

  moveTo(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.edits = undefined;
  }

  edit(): MessageEdits {
    if (this.edits === undefined) {
      if (this.reusedEdits === undefined) this.reusedEdits = new MessageEdits(this.maxSize);
      else this.reusedEdits.clear();
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

  /** Whether the pattern may match in an attribute; also true if it is no text, or has changed. */
  mayMatch(key: string, encoded: Uint8Array, pattern: Pattern): boolean {
    if (this.edits?.attribute(key) !== undefined) return true;
    const at = findAttribute(this.bytes, this.start, this.end, this.attributesTag, encoded);
    const value = at < 0 ? -1 : anyValueAt(this.bytes, at);
    return value < 0 || mayMatchEncoded(this.bytes, value, anyValueEnd, pattern);
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

  /** All attributes with the changes; a new map every time. */
  attributes(): OttlMap {
    const map = readOttlMap(this.bytes, this.start, this.end, this.attributesTag);
    if (this.edits !== undefined) {
      for (let i = 0; i < this.edits.count; i++) {
        const change = this.edits.valueAt(i);
        if (change === DELETED) map.delete(this.edits.keyAt(i));
        else map.set(this.edits.keyAt(i), change as OttlValue);
      }
    }
    return map;
  }

  /** Replaces the attributes by the map; equal ones stay untouched. */
  setAttributes(map: OttlMap): void {
    const current = this.attributes();
    if (map.size > current.size) checkSize(map);
    for (const [key, value] of map) checkStorable(value, current.get(key));
    for (const key of current.keys()) if (!map.has(key)) this.edit().change(key, encodedKey(key), DELETED);
    for (const [key, value] of map) {
      const before = current.get(key);
      if (before === undefined || !sameValue(before, value)) this.edit().change(key, encodedKey(key), value);
    }
  }

  /** Merges the map into the attributes with the same result as `editMap` on all of them. */
  mergeAttributes(map: OttlMap, isWanted: (exists: boolean) => boolean): void {
    checkSize(map);
    const all = map.size > MAX_LINEAR_LOOKUPS ? this.attributes() : undefined;
    const has = (key: string, encoded: Uint8Array) =>
      all === undefined ? this.hasAttribute(key, encoded) : all.has(key);
    const get = (key: string, encoded: Uint8Array) =>
      all === undefined ? this.attribute(key, encoded) : (all.get(key) ?? null);
    for (const [key, value] of map) {
      if (isSurelyStorable(value)) continue;
      const encoded = encodedKey(key);
      if (isWanted(has(key, encoded))) checkStorable(value, get(key, encoded));
    }
    for (const [key, value] of map) {
      const encoded = encodedKey(key);
      const exists = has(key, encoded);
      if (!isWanted(exists)) continue;
      if (!exists || !sameValue(get(key, encoded), value)) this.edit().change(key, encoded, value);
    }
  }

  /** Deletes the matching attributes. */
  deleteMatching(matching: MatchingKeys): void {
    const { bytes, end, attributesTag, edits } = this;
    for (let i = 0; edits !== undefined && i < edits.count; i++) {
      const encoded = edits.encodedKeyAt(i);
      if (matching.find(encoded, 0, encoded.length) !== undefined) edits.changeAt(i, DELETED);
    }
    for (let p = nextBody(bytes, this.start, end, attributesTag); p >= 0; ) {
      const stop = bodyEnd;
      const found = matching.find(bytes, keyAt(bytes, p, stop), keyEnd);
      if (found !== undefined) this.edit().change(found.key, found.encoded, DELETED);
      p = nextBody(bytes, stop, end, attributesTag);
    }
  }

  /**
   * Replaces texts in attributes; unchanged attributes are examined only if the pattern may match in them. If a key
   * repeats, the first attribute counts, and later ones with something to replace are removed, because they may contain
   * what is to be hidden.
   */
  replaceTexts(pattern: Pattern, replace: (text: string) => string): void {
    const { bytes, end, attributesTag, edits } = this;
    const changed: (KnownKey & { readonly text: string })[] = [];
    const duplicates: KnownKey[] = [];
    let firstPositions: Map<string, number> | undefined;
    let lookups = 0;
    for (let i = 0; edits !== undefined && i < edits.count; i++) {
      const value = edits.valueAt(i);
      if (typeof value !== "string") continue;
      const text = replace(value);
      if (text === value) continue;
      checkSize(text, value);
      changed.push({ key: edits.keyAt(i), encoded: edits.encodedKeyAt(i), text });
    }
    for (let p = nextBody(bytes, this.start, end, attributesTag); p >= 0; ) {
      const stop = bodyEnd;
      const value = this.unchangedText(pattern, p, stop);
      const text = value === undefined ? undefined : replace(value);
      if (text !== undefined && text !== value) {
        checkSize(text, value);
        const known = knownKey(bytes, keyAt(bytes, p, stop), keyEnd);
        const { key, encoded } = known;
        if (lookups++ === MAX_LINEAR_LOOKUPS) firstPositions = this.firstOfEachKey();
        const isFirst = firstPositions === undefined ? !this.isDuplicate(p, encoded) : firstPositions.get(key) === p;
        if (isFirst) changed.push({ key, encoded, text });
        else duplicates.push(known);
      }
      p = nextBody(bytes, stop, end, attributesTag);
    }
    for (const { key, encoded, text } of changed) this.edit().change(key, encoded, text);
    if (duplicates.length > 0) this.removeDuplicates(duplicates);
  }

  /**
   * The position of the first KeyValue of each key, for many lookups: each single lookup would pass over all
   * attributes.
   */
  private firstOfEachKey(): Map<string, number> {
    const { bytes, end, attributesTag } = this;
    const firstPositions = new Map<string, number>();
    for (let p = nextBody(bytes, this.start, end, attributesTag); p >= 0; ) {
      const stop = bodyEnd;
      const { key } = knownKey(bytes, keyAt(bytes, p, stop), keyEnd);
      if (!firstPositions.has(key)) firstPositions.set(key, p);
      p = nextBody(bytes, stop, end, attributesTag);
    }
    return firstPositions;
  }

  /** Removes later attributes with these keys: a changed attribute is written once and replaces all with its key. */
  private removeDuplicates(keys: readonly KnownKey[]): void {
    const all = this.attributes();
    for (const { key, encoded } of keys) this.edit().change(key, encoded, all.get(key) ?? null);
  }

  /** The text of the KeyValue in [start, end), if it is unchanged and the pattern may match in it. */
  private unchangedText(pattern: Pattern, start: number, end: number): string | undefined {
    const { bytes } = this;
    const valueAt = findField(bytes, start, end, VALUE_TAG);
    if (valueAt < 0) return undefined;
    const size = varint(bytes, valueAt);
    const from = after;
    if (bytes[from] !== STRING_VALUE_TAG) return undefined;
    varint(bytes, from + 1);
    if (!pattern.mayMatch(bytes, after, from + size)) return undefined;
    if (this.edits !== undefined) {
      const { key } = knownKey(bytes, keyAt(bytes, start, end), keyEnd);
      if (this.edits.attribute(key) !== undefined) return undefined;
    }
    const value = readOttlValue(bytes, from, from + size);
    return typeof value === "string" ? value : undefined;
  }

  /** Whether an earlier attribute has the same key: of several the first counts. */
  private isDuplicate(start: number, encoded: Uint8Array): boolean {
    const first = findAttribute(this.bytes, this.start, this.end, this.attributesTag, encoded);
    if (first < 0) return false;
    varint(this.bytes, first);
    return after < start;
  }

  /** Position of the first value of the field with this tag, or -1. Only for fields without a change. */
  find(tag: number): number {
    return findField(this.bytes, this.start, this.end, tag);
  }

  /** Writes the body of the message with the changes: from its own bytes, or from others that replaced them. */
  encodeInto(writer: WireWriter, bytes = this.bytes, start = this.start, end = this.end): void {
    const { edits, attributesTag } = this;
    if (edits === undefined) return writer.copy(bytes, start, end);
    const { count, fields, bodyText } = edits;
    const hasFields = fields.size > 0;
    const bodyTag = bodyText === undefined ? -1 : LOG_BODY_TAG;
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
      if (index < 0 && tag !== bodyTag && !(hasFields && fields.has(tag >>> 3))) continue;
      writer.copy(bytes, copied, from);
      if (index >= 0) edits.writeOnce(writer, attributesTag, index);
      copied = p;
    }
    writer.copy(bytes, copied, end);
    for (let i = 0; i < count; i++) edits.writeOnce(writer, attributesTag, i);
    if (hasFields) for (const field of fields.values()) writer.copy(field, 0, field.length);
    if (bodyText !== undefined) writeTextBody(writer, bodyText);
  }
}

/** Selects a context's own message. */
export const ownMessage = (ctx: { readonly record: EditableMessage }): EditableMessage => ctx.record;

const EMPTY_BYTES = new Uint8Array(0);
/** Up to this many keys are looked for one by one; a record may have a hundred thousand. */
const MAX_LINEAR_LOOKUPS = 64;

function writeTextBody(writer: WireWriter, text: string): void {
  writer.byte(LOG_BODY_TAG);
  writer.begin(1 + varintSize(text.length) + text.length);
  writer.byte(STRING_VALUE_TAG);
  writer.text(text);
  writer.end();
}
