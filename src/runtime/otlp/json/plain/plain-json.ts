import { findKeyAndValue, keyEnd, keyStart, valueEnd, valueStart } from "../../bytes/key-value.js";
import {
  ARRAY_VALUE_TAG,
  BOOL_VALUE_TAG,
  BYTES_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  ELEMENT_TAG,
  INT_VALUE_TAG,
  KVLIST_VALUE_TAG,
  STRING_VALUE_TAG,
} from "../../bytes/tags.generated.js";
import { decodeText } from "../../bytes/texts.js";
import {
  after,
  bodyEnd,
  double,
  fieldTag,
  lengthAt,
  nextBody,
  stepOver,
  valueAt,
  varint,
  varint64,
  viewOf,
} from "../../bytes/wire.js";
import type { WireWriter } from "../../bytes/writer.js";
import { putDecimal, writeAscii, writeText } from "../write-text.js";

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** Maps with more keys than this look keys up instead of comparing them with one another. */
const MAX_COMPARED = 64;

/**
 * Writes OTLP values directly from the wire in the form in which `jsonText` writes plain values. If a key repeats, the
 * last value counts, in the first one's place. The bytes must have been checked; invalid UTF-8 in texts stays as it is.
 */
export class PlainJsonWriter {
  readonly out: WireWriter;
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  /** Ranges of keys and values of the maps being written, innermost last. */
  private readonly members: number[] = [];
  private membersEnd = 0;

  constructor(bytes: Uint8Array, out: WireWriter) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.out = out;
  }

  text(start: number, end: number): void {
    writeText(this.bytes, this.view, start, end, this.out);
  }

  /** Writes the AnyValue in [start, end); null if it has no value. */
  value(start: number, end: number): void {
    if (!this.valueUnlessNull(start, end)) writeAscii("null", this.out);
  }

  /** The same, but writes nothing and returns false if there is no value. */
  valueUnlessNull(start: number, end: number): boolean {
    const { bytes: b, out } = this;
    for (let p = start; p < end; ) {
      p = stepOver(b, p);
      const at = valueAt;
      switch (fieldTag) {
        case STRING_VALUE_TAG:
          varint(b, at);
          this.text(after, p);
          return true;
        case INT_VALUE_TAG:
          this.integer(at, p);
          return true;
        case BOOL_VALUE_TAG:
          writeAscii(varint64(b, at) === 0n ? "false" : "true", out);
          return true;
        case DOUBLE_VALUE_TAG: {
          const value = double(b, at);
          writeAscii(Number.isFinite(value) ? String(value) : `"${value}"`, out);
          return true;
        }
        case ARRAY_VALUE_TAG:
          varint(b, at);
          this.list(after, p);
          return true;
        case KVLIST_VALUE_TAG:
          varint(b, at);
          if (!this.map(after, p, ELEMENT_TAG)) writeAscii("{}", out);
          return true;
        case BYTES_VALUE_TAG:
          varint(b, at);
          writeAscii(`"${Buffer.prototype.base64Slice.call(b, after, p)}"`, out);
          return true;
      }
    }
    return false;
  }

  /**
   * Writes the KeyValues with this tag in the message [start, end), except those with keys in `excluded`. Writes nothing
   * and returns false if there are none.
   */
  map(start: number, end: number, attributesTag: number, excluded: KeySet = NO_KEYS): boolean {
    const { out, members, membersEnd: base } = this;
    // Find all keys before writing the first value, because values may be nested maps that take long.
    if (!this.findMembers(start, end, attributesTag, excluded)) {
      this.membersEnd = base;
      return this.mapWithLookup(start, end, attributesTag, excluded);
    }
    const { membersEnd } = this;
    for (let i = base; i < membersEnd; i += MEMBER) {
      out.byte(i === base ? OPEN_OBJECT : COMMA);
      this.text(members[i]!, members[i + 1]!);
      out.byte(COLON);
      this.value(members[i + 2]!, members[i + 3]!);
    }
    this.membersEnd = base;
    if (membersEnd === base) return false;
    out.byte(CLOSE_OBJECT);
    return true;
  }

  /**
   * Appends a map's members to those of the maps around it. Returns false if a key repeats or there are too many keys
   * to compare.
   */
  private findMembers(start: number, end: number, attributesTag: number, excluded: KeySet): boolean {
    const { bytes: b, members, membersEnd: base } = this;
    let seen = 0;
    for (let p = start; (p = nextBody(b, p, end, attributesTag)) >= 0; ) {
      const at = lengthAt;
      p = bodyEnd;
      findKeyAndValue(b, at, p);
      if (excluded.has(b, keyStart, keyEnd)) continue;
      const bit = keyStart === keyEnd ? 1 : 1 << ((keyEnd - keyStart) * 5 + b[keyEnd - 1]!);
      if ((seen & bit) !== 0 && this.isKnown(base)) return false;
      seen |= bit;
      const last = this.membersEnd;
      if (last - base === MAX_COMPARED * MEMBER) return false;
      members[last] = keyStart;
      members[last + 1] = keyEnd;
      members[last + 2] = valueStart;
      members[last + 3] = valueEnd;
      this.membersEnd = last + MEMBER;
    }
    return true;
  }

  /** Whether the last key found is among the keys from this place on. */
  private isKnown(base: number): boolean {
    const { bytes: b, members, membersEnd } = this;
    const size = keyEnd - keyStart;
    for (let i = base; i < membersEnd; i += MEMBER) {
      if (members[i + 1]! - members[i]! === size && areSame(b, members[i]!, b, keyStart, size)) return true;
    }
    return false;
  }

  /** Writes the same map whatever its keys are. */
  private mapWithLookup(start: number, end: number, attributesTag: number, excluded: KeySet): boolean {
    const { bytes: b, out } = this;
    const values = new Map<string, readonly [start: number, end: number]>();
    for (let p = start; (p = nextBody(b, p, end, attributesTag)) >= 0; ) {
      const at = lengthAt;
      p = bodyEnd;
      findKeyAndValue(b, at, p);
      if (!excluded.has(b, keyStart, keyEnd)) values.set(decodeText(b, keyStart, keyEnd), [valueStart, valueEnd]);
    }
    let separator = OPEN_OBJECT;
    for (const [key, [from, to]] of values) {
      const label = Buffer.from(`${JSON.stringify(key)}:`);
      out.byte(separator);
      separator = COMMA;
      out.copy(label, 0, label.length);
      this.value(from, to);
    }
    if (values.size > 0) out.byte(CLOSE_OBJECT);
    return values.size > 0;
  }

  private list(start: number, end: number): void {
    const { bytes: b, out } = this;
    let separator = OPEN_LIST;
    for (let p = start; (p = nextBody(b, p, end, ELEMENT_TAG)) >= 0; ) {
      const body = p;
      p = bodyEnd;
      out.byte(separator);
      separator = COMMA;
      this.value(body, p);
    }
    if (separator === OPEN_LIST) out.byte(OPEN_LIST);
    out.byte(CLOSE_LIST);
  }

  private integer(at: number, end: number): void {
    const { out } = this;
    if (end - at < 5) {
      out.reserve(10);
      out.length = putDecimal(out.view, out.length, varint(this.bytes, at));
      return;
    }
    const value = BigInt.asIntN(64, varint64(this.bytes, at));
    const isSafe = Number.isSafeInteger(Number(value));
    if (!isSafe) out.byte(QUOTE);
    writeAscii(String(value), out);
    if (!isSafe) out.byte(QUOTE);
  }
}

/** The number of positions kept per member of a map. */
const MEMBER = 4;

/** From this number of keys on, they are looked up instead of compared. */
const MAX_KEYS_COMPARED = 32;

/** A set of keys that are recognised by their bytes. */
export class KeySet {
  private readonly keys: readonly Uint8Array[];
  private readonly texts: ReadonlySet<string> | undefined;

  constructor(keys: Iterable<string>) {
    this.keys = Array.from(keys, (key) => Buffer.from(key));
    if (this.keys.length <= MAX_KEYS_COMPARED) return;
    this.texts = new Set(this.keys.map((key) => Buffer.prototype.latin1Slice.call(key, 0, key.length)));
  }

  /** Whether the text [start, end) of `b` is in the set. */
  has(b: Uint8Array, start: number, end: number): boolean {
    const { keys, texts } = this;
    if (texts !== undefined) return texts.has(Buffer.prototype.latin1Slice.call(b, start, end));
    const size = end - start;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      if (key.length === size && areSame(key, 0, b, start, size)) return true;
    }
    return false;
  }
}

/** Compares backwards, because keys differ at their ends. */
function areSame(a: Uint8Array, i: number, b: Uint8Array, j: number, size: number): boolean {
  for (let at = size - 1; at >= 0; at--) if (a[i + at] !== b[j + at]) return false;
  return true;
}

const NO_KEYS = new KeySet([]);
