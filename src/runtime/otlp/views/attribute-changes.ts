import { byteText, encodedKey, hasKey, keyAt, keyEnd } from "../bytes/key-value.js";
import type { Value } from "../bytes/value.js";

export const DELETED = Symbol("deleted");

/** An encoded value, [start, end) of the bytes, for moving it without decoding: a whole double stays a double. */
export class RawValue {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }

  encoded(): Uint8Array {
    return this.bytes.subarray(this.start, this.end);
  }
}

export type AttributeChange = Value | RawValue | typeof DELETED;

/** Up to this many keys are compared one by one; more are looked up. */
const MAX_COMPARED_KEYS = 8;

interface KeyedChange {
  key: string;
  utf8: Uint8Array;
  value: AttributeChange;
}

/**
 * Changes by key, in the order in which the keys were first changed. Using them again for another message makes no
 * objects; a Map would make its table again.
 */
export class AttributeChanges {
  size = 0;
  /** The first `size` of them count. */
  private readonly changes: KeyedChange[] = [];
  /** Positions by key, and the keys in the form of `byteText`, once there are many. */
  private positions: Map<string, number> | undefined;
  private keyTexts: Set<string> | undefined;

  get(key: string): AttributeChange | undefined {
    const at = this.find(key);
    return at < 0 ? undefined : this.changes[at]!.value;
  }

  at(index: number): Readonly<KeyedChange> {
    return this.changes[index]!;
  }

  set(key: string, value: AttributeChange): void {
    const at = this.find(key);
    if (at < 0) this.add(key, encodedKey(key), value);
    else this.changes[at]!.value = value;
  }

  clear(): void {
    if (this.changes.length > MAX_COMPARED_KEYS) this.changes.length = 0;
    this.size = 0;
    this.positions = undefined;
    this.keyTexts = undefined;
  }

  /** Whether one of the changes is to the attribute whose KeyValue is [start, end) of `b`. */
  replaces(b: Uint8Array, start: number, end: number): boolean {
    const { size, changes } = this;
    if (size > MAX_COMPARED_KEYS) {
      this.keyTexts ??= new Set(changes.map(({ utf8 }) => byteText(utf8, 0, utf8.length)));
      return this.keyTexts.has(byteText(b, keyAt(b, start, end), keyEnd));
    }
    for (let i = 0; i < size; i++) if (hasKey(b, start, end, changes[i]!.utf8)) return true;
    return false;
  }

  *[Symbol.iterator](): Generator<readonly [key: string, value: AttributeChange]> {
    for (let i = 0; i < this.size; i++) yield [this.changes[i]!.key, this.changes[i]!.value];
  }

  private add(key: string, utf8: Uint8Array, value: AttributeChange): void {
    const at = this.size++;
    const old = this.changes[at];
    if (old === undefined) this.changes[at] = { key, utf8, value };
    else {
      old.key = key;
      old.utf8 = utf8;
      old.value = value;
    }
    this.positions?.set(key, at);
    this.keyTexts?.add(byteText(utf8, 0, utf8.length));
  }

  private find(key: string): number {
    const { size, changes } = this;
    if (size > MAX_COMPARED_KEYS) {
      this.positions ??= new Map(changes.map((change, i) => [change.key, i]));
      return this.positions.get(key) ?? -1;
    }
    for (let i = 0; i < size; i++) if (changes[i]!.key === key) return i;
    return -1;
  }
}
