import { hasKey, readKey, type WireWriter } from "#otlp/bytes";
import { KEY_TAG } from "#otlp/tags";
import { DEFAULT_MAX_RECORD_SIZE, encodedSize, recordTooLarge } from "../values/limits.js";
import type { OttlValue } from "../values/value.js";
import { writeOttlKeyValue } from "../values/wire-value.js";

export const DELETED = Symbol("deleted");

/**
 * Up to this many changed keys are compared one by one; above that they are looked up, because a record may have many
 * attributes.
 */
const MAX_LINEAR_SEARCH = 12;

/** Texts up to this length are not counted. */
const SMALL_SIZE = 1024;

/**
 * The changes to one message. They are kept in arrays that are reused: with a map cleared for every record, setting one
 * attribute measured a tenth slower.
 */
export class MessageEdits {
  /** The number of changed attributes. */
  count = 0;
  /** By field number: its new bytes with the tag; empty if it was removed. */
  readonly fields = new Map<number, Uint8Array>();
  /** The body's new text, if it is a text: it is encoded once, when the record is written. */
  bodyText: string | undefined;
  /** A bit for each length of a changed key, modulo 32: rules out most other keys quickly. */
  private keyLengths = 0;
  private readonly keys: string[] = [];
  private readonly encodedKeys: Uint8Array[] = [];
  private readonly values: (OttlValue | typeof DELETED)[] = [];
  private readonly written: boolean[] = [];
  /** The sizes of large new values by index, and of all of them. */
  private largeSizes: Map<number | string, number> | undefined;
  private largeSize = 0;
  private readonly maxSize: number;

  /** `maxSize` is a limit for all new values together. */
  constructor(maxSize = DEFAULT_MAX_RECORD_SIZE) {
    this.maxSize = maxSize;
  }

  /** About as many bytes as the new values take; small ones are not counted. */
  get size(): number {
    return this.largeSize;
  }
  /** By key, once there are more than a few. */
  private indexes: Map<string, number> | undefined;

  clear(): void {
    this.count = 0;
    this.keyLengths = 0;
    this.bodyText = undefined;
    this.indexes = undefined;
    if (this.largeSize > 0) {
      this.largeSizes = undefined;
      this.largeSize = 0;
    }
    if (this.fields.size > 0) this.fields.clear();
  }

  /** The new value of an attribute; DELETED if it was removed, undefined if it has not changed. */
  attribute(key: string): OttlValue | typeof DELETED | undefined {
    const index = this.indexOf(key);
    return index < 0 ? undefined : this.values[index];
  }

  /** The changed keys by index, in the order of their first change. */
  keyAt(index: number): string {
    return this.keys[index]!;
  }

  encodedKeyAt(index: number): Uint8Array {
    return this.encodedKeys[index]!;
  }

  valueAt(index: number): OttlValue | typeof DELETED {
    return this.values[index]!;
  }

  changeAt(index: number, value: OttlValue | typeof DELETED): void {
    this.noteSize(index, value);
    this.values[index] = value;
  }

  /** Counts the size of the body or of a field's bytes. */
  noteFieldSize(name: string, size: number): void {
    if (size > SMALL_SIZE || this.largeSizes?.has(name)) this.replaceSize(name, size);
  }

  change(key: string, encoded: Uint8Array, value: OttlValue | typeof DELETED): void {
    let index = this.indexOf(key);
    this.noteSize(index < 0 ? this.count : index, value); // may throw, so nothing has changed yet
    if (index < 0) {
      index = this.count++;
      this.keys[index] = key;
      this.encodedKeys[index] = encoded;
      this.keyLengths |= 1 << encoded.length;
      if (this.count > MAX_LINEAR_SEARCH) this.index(key, index);
    }
    this.values[index] = value;
  }

  private noteSize(index: number, value: OttlValue | typeof DELETED): void {
    const isLarge = typeof value === "string" ? value.length > SMALL_SIZE : typeof value === "object" && value !== null;
    if (isLarge || this.largeSizes?.has(index)) this.replaceSize(index, isLarge ? encodedSize(value as OttlValue) : 0);
  }

  private replaceSize(key: number | string, size: number): void {
    this.largeSizes ??= new Map();
    const before = this.largeSizes.get(key) ?? 0;
    const total = this.largeSize - before + size;
    if (total > this.maxSize && size > before) throw recordTooLarge(this.maxSize);
    this.largeSizes.set(key, size);
    this.largeSize = total;
  }

  beginWriting(): void {
    for (let i = 0; i < this.count; i++) this.written[i] = false;
  }

  /** The index of the changed key that the KeyValue in [start, end) has, or -1. */
  indexOfKey(b: Uint8Array, start: number, end: number): number {
    if (
      b[start] === KEY_TAG &&
      end - start > 1 &&
      b[start + 1]! < 128 &&
      (this.keyLengths & (1 << b[start + 1]!)) === 0
    )
      return -1;
    if (this.indexes !== undefined) return this.indexes.get(readKey(b, start, end)) ?? -1;
    for (let i = 0; i < this.count; i++) if (hasKey(b, start, end, this.encodedKeys[i]!)) return i;
    return -1;
  }

  /** Writes a change unless it was written before or is a deletion. */
  writeOnce(writer: WireWriter, tag: number, index: number): void {
    if (this.written[index]) return;
    this.written[index] = true;
    const value = this.values[index]!;
    if (value !== DELETED) writeOttlKeyValue(writer, tag, this.keys[index]!, value as OttlValue);
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
