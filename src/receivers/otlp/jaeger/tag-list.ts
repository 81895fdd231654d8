import { decodeText, KeyCache, WireWriter } from "#otlp/bytes";
import {
  BOOL_VALUE_TAG,
  BYTES_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  INT_VALUE_TAG,
  KEY_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "#otlp/tags";
import { JAEGER_TAG_TYPES, JAEGER_TAGS } from "#traces";
import { writeUtf8 } from "./write-utf8.js";

/** Keys of tags with a special meaning; each has a fixed place in a list. */
const SPECIAL_KEYS: readonly string[] = [
  JAEGER_TAGS.kind,
  JAEGER_TAGS.error,
  JAEGER_TAGS.statusCode,
  JAEGER_TAGS.statusMessage,
  JAEGER_TAGS.scopeName,
  JAEGER_TAGS.scopeVersion,
  JAEGER_TAGS.traceState,
  JAEGER_TAGS.event,
  "http.status_code",
  "http.status_message",
  "hostname",
  "host.name",
  "jaeger.version",
  "opencensus.exporterversion",
];

/** Places of the special keys, written out so the compiler can inline them as literals. */
export const SPECIAL = {
  kind: 0,
  error: 1,
  statusCode: 2,
  statusMessage: 3,
  scopeName: 4,
  scopeVersion: 5,
  traceState: 6,
  event: 7,
  httpCode: 8,
  httpMessage: 9,
  hostname: 10,
  hostName: 11,
  version: 12,
  clientVersion: 13,
} as const;

/** Facts about a key. */
interface TagKey {
  readonly text: string;
  /** The key encoded as a field of a KeyValue. */
  readonly field: Uint8Array;
  /** Its place among the special keys, or -1. */
  readonly special: number;
  /** A bit that few other keys share, to rule out duplicates quickly. */
  readonly bit: number;
}

const KEYS = new KeyCache<TagKey>((b, start, end) => keyOf(decodeText(b, start, end)));

function keyOf(text: string): TagKey {
  const out = new WireWriter(text.length + 8);
  out.byte(KEY_TAG);
  out.text(text);
  const last = text.length === 0 ? 0 : text.charCodeAt(text.length - 1);
  return { text, field: out.written(), special: SPECIAL_KEYS.indexOf(text), bit: 1 << (text.length * 5 + last) };
}

/** Up to this many tags, keys are compared one by one; beyond it they are looked up in a map. */
const MAX_COMPARED = 64;
const REMOVED = -1;
const NOT_FOUND = -1;

/**
 * The tags of a span, a log or a process, by their positions in the bytes. If a key repeats, the last value counts, in
 * the first one's place. A list is cleared and reused, so a tag creates no object.
 */
export class TagList {
  private bytes: Uint8Array = new Uint8Array(0);
  private count = 0;
  private readonly keys: TagKey[] = [];
  /** Types of Jaeger's protobuf, or REMOVED. */
  private readonly types: number[] = [];
  /** For texts and binary values their range; for integers and booleans two halves of 32 bits. */
  private readonly firsts: number[] = [];
  private readonly seconds: number[] = [];
  private readonly doubles: number[] = [];
  /** Texts that are not in the bytes, by place. */
  private readonly strings = new Map<number, string>();
  private readonly places: number[] = SPECIAL_KEYS.map(() => NOT_FOUND);
  private seen = 0;
  private lookup: Map<string, number> | undefined;

  /** Starts a new list of tags in these bytes. */
  clear(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.count = 0;
    this.seen = 0;
    this.lookup = undefined;
    if (this.strings.size > 0) this.strings.clear();
    const { places } = this;
    for (let i = 0; i < places.length; i++) places[i] = NOT_FOUND;
  }

  /** Adds a tag whose key is the text [keyStart, keyEnd). See the class's fields for `first` and `second`. */
  add(keyStart: number, keyEnd: number, type: number, first: number, second: number, double: number): void {
    const at = this.placeOf(KEYS.get(this.bytes, keyStart, keyEnd));
    this.types[at] = type;
    this.firsts[at] = first;
    this.seconds[at] = second;
    this.doubles[at] = double;
  }

  /** Adds a tag with this text as its value. */
  addString(keyStart: number, keyEnd: number, text: string): void {
    this.setString(KEYS.get(this.bytes, keyStart, keyEnd), text);
  }

  /** Reserves the first place for a tag with this key, which may be added later or filled by `fillFirst`. */
  reserveFirst(key: string): void {
    this.types[this.placeOf(keyOf(key))] = REMOVED;
  }

  /** Gives the first tag the text [start, end), unless the tag was added. */
  fillFirst(start: number, end: number): void {
    if (this.types[0] !== REMOVED) return;
    this.types[0] = JAEGER_TAG_TYPES.string;
    this.firsts[0] = start;
    this.seconds[0] = end;
  }

  private setString(key: TagKey, text: string): void {
    const at = this.placeOf(key);
    this.types[at] = JAEGER_TAG_TYPES.string;
    this.strings.set(at, text);
  }

  private placeOf(key: TagKey): number {
    const { keys, count } = this;
    const isNew = (this.seen & key.bit) === 0;
    this.seen |= key.bit;
    if (!isNew || this.lookup !== undefined) {
      const known = this.find(key);
      if (known !== NOT_FOUND) {
        if (this.strings.size > 0) this.strings.delete(known);
        return known;
      }
    }
    keys[count] = key;
    this.count = count + 1;
    this.lookup?.set(key.text, count);
    if (key.special >= 0) this.places[key.special] = count;
    return count;
  }

  private find(key: TagKey): number {
    const { keys, count } = this;
    if (count < MAX_COMPARED) {
      for (let i = 0; i < count; i++) {
        const other = keys[i]!;
        if (other === key || (other.bit === key.bit && other.text === key.text)) return i;
      }
      return NOT_FOUND;
    }
    this.lookup ??= new Map(keys.slice(0, count).map(({ text }, i) => [text, i]));
    return this.lookup.get(key.text) ?? NOT_FOUND;
  }

  has(special: number): boolean {
    return this.placeOfSpecial(special) !== NOT_FOUND;
  }

  remove(special: number): void {
    const at = this.placeOfSpecial(special);
    if (at !== NOT_FOUND) this.types[at] = REMOVED;
  }

  /** The text of a tag; undefined if the tag is missing or not a text. */
  textOf(special: number): string | undefined {
    const at = this.placeOfSpecial(special);
    if (at === NOT_FOUND || this.types[at] !== JAEGER_TAG_TYPES.string) return undefined;
    return this.strings.get(at) ?? TEXTS.get(this.bytes, this.firsts[at]!, this.seconds[at]!);
  }

  /** Removes a tag and returns its text. A tag that is not text stays. */
  takeText(special: number): string | undefined {
    const text = this.textOf(special);
    if (text !== undefined) this.remove(special);
    return text;
  }

  isTrue(special: number): boolean {
    const at = this.placeOfSpecial(special);
    return at !== NOT_FOUND && this.types[at] === JAEGER_TAG_TYPES.bool && this.firsts[at] !== 0;
  }

  /** The integer of a tag; undefined if the tag is missing or not an integer. */
  integerOf(special: number): number | undefined {
    const at = this.placeOfSpecial(special);
    if (at === NOT_FOUND || this.types[at] !== JAEGER_TAG_TYPES.int64) return undefined;
    return (this.seconds[at]! | 0) * 2 ** 32 + this.firsts[at]!;
  }

  /** Gives a tag another key and moves it to the end. */
  rename(from: number, to: number): void {
    const at = this.placeOfSpecial(from);
    const string = this.strings.get(at);
    const fresh = this.placeOf(keyOf(SPECIAL_KEYS[to]!));
    this.types[fresh] = this.types[at]!;
    this.firsts[fresh] = this.firsts[at]!;
    this.seconds[fresh] = this.seconds[at]!;
    this.doubles[fresh] = this.doubles[at]!;
    if (string !== undefined) this.strings.set(fresh, string);
    this.types[at] = REMOVED;
  }

  /** Gives a tag another key and this text and moves it to the end. */
  replace(from: number, to: number, text: string): void {
    this.remove(from);
    this.setString(keyOf(SPECIAL_KEYS[to]!), text);
  }

  private placeOfSpecial(special: number): number {
    const at = this.places[special]!;
    return at === NOT_FOUND || this.types[at] === REMOVED ? NOT_FOUND : at;
  }

  /** Writes the remaining tags as attributes with this field tag. */
  write(out: WireWriter, attributesTag: number): void {
    for (let i = 0; i < this.count; i++) if (this.types[i] !== REMOVED) this.writeAttribute(out, attributesTag, i);
  }

  private writeAttribute(out: WireWriter, attributesTag: number, i: number): void {
    const { field } = this.keys[i]!;
    const type = this.types[i]!;
    const first = this.firsts[i]!;
    const second = this.seconds[i]!;
    const string = this.strings.size === 0 ? undefined : this.strings.get(i);
    const isText = type === JAEGER_TAG_TYPES.string && string === undefined;
    if (isText && writeShortText(out, attributesTag, field, this.bytes, first, second)) return;
    const hint = type === JAEGER_TAG_TYPES.string || type === JAEGER_TAG_TYPES.binary ? second - first + 2 : 4;
    out.byte(attributesTag);
    out.begin(field.length + hint + 4);
    out.copy(field, 0, field.length);
    out.byte(VALUE_TAG);
    out.begin(hint);
    switch (type) {
      case JAEGER_TAG_TYPES.bool:
        out.byte(BOOL_VALUE_TAG);
        out.byte(first);
        break;
      case JAEGER_TAG_TYPES.int64:
        out.byte(INT_VALUE_TAG);
        out.varintOfHalves(first, second);
        break;
      case JAEGER_TAG_TYPES.float64:
        out.byte(DOUBLE_VALUE_TAG);
        out.double(this.doubles[i]!);
        break;
      case JAEGER_TAG_TYPES.binary:
        out.byte(BYTES_VALUE_TAG);
        out.varint(second - first);
        out.copy(this.bytes, first, second);
        break;
      default:
        out.byte(STRING_VALUE_TAG);
        if (string === undefined) writeUtf8(out, this.bytes, first, second);
        else out.text(string);
    }
    out.end();
    out.end();
  }
}

/** A length up to this takes one byte. */
const MAX_SHORT = 127;

/**
 * Writes an attribute with the text [start, end) if it is short ASCII, as nearly all are. Otherwise writes nothing and
 * returns false.
 */
function writeShortText(
  out: WireWriter,
  attributesTag: number,
  field: Uint8Array,
  b: Uint8Array,
  start: number,
  end: number,
): boolean {
  const size = end - start;
  const whole = field.length + size + 4;
  if (whole > MAX_SHORT) return false;
  out.reserve(whole + 2);
  const { bytes } = out;
  let at = out.length;
  bytes[at++] = attributesTag;
  bytes[at++] = whole;
  for (let i = 0; i < field.length; i++) bytes[at++] = field[i]!;
  bytes[at++] = VALUE_TAG;
  bytes[at++] = size + 2;
  bytes[at++] = STRING_VALUE_TAG;
  bytes[at++] = size;
  let any = 0;
  for (let p = start; p < end; p++) {
    const byte = b[p]!;
    any |= byte;
    bytes[at++] = byte;
  }
  if (any > 127) return false;
  out.length = at;
  return true;
}

/** Texts that repeat often: kinds, scopes, states. */
const TEXTS = new KeyCache<string>((b, start, end) => decodeText(b, start, end), 256);
