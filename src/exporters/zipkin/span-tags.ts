import {
  after,
  bodyEnd,
  decodeMessage,
  decodeText,
  KeyCache,
  lengthAt,
  MESSAGES,
  nextBody,
  stepOver,
  varint,
  varint64,
  viewOf,
  WireWriter,
} from "#otlp/bytes";
import {
  findKeyAndValue,
  keyEnd,
  keyStart,
  plainValue,
  plainValueText,
  putDecimal,
  valueEnd,
  valueStart,
  writeAscii,
  writeText,
} from "#otlp/json";
import { BOOL_VALUE_TAG, INT_VALUE_TAG, STRING_VALUE_TAG } from "#otlp/tags";
import { ENDPOINT_KEYS, ZIPKIN_TAGS } from "#traces";

/** Keys of tags with a special meaning. Each has an index. */
const SPECIAL_KEYS: readonly string[] = [
  ZIPKIN_TAGS.error,
  "http.status_code",
  "http.response.status_code",
  ENDPOINT_KEYS.local.ip,
  ENDPOINT_KEYS.local.port,
  ENDPOINT_KEYS.remote.ip,
  ENDPOINT_KEYS.remote.port,
  ENDPOINT_KEYS.remote.oldService,
  ENDPOINT_KEYS.remote.service,
  "service.name",
  "faas.name",
  "k8s.deployment.name",
  "process.executable.name",
];

/** The indexes. They are written out because a literal is compiled into the code. */
export const SPECIAL_TAGS = {
  error: 0,
  httpCode: 1,
  httpResponseCode: 2,
  localIp: 3,
  localPort: 4,
  remoteIp: 5,
  remotePort: 6,
  peer: 7,
  newPeer: 8,
  serviceName: 9,
  otherServiceNames: [10, 11, 12],
} as const;

/** A key and its derived data. */
interface ZipkinTagKey {
  readonly text: string;
  /** The key as JSON with a comma before it and a colon after it. */
  readonly label: Uint8Array;
  readonly special: number;
  /** A bit that few other keys have. */
  readonly bit: number;
}

const KEYS = new KeyCache<ZipkinTagKey>((b, start, end) => keyOf(decodeText(b, start, end)));

function keyOf(text: string): ZipkinTagKey {
  const last = text.length === 0 ? 0 : text.charCodeAt(text.length - 1);
  const label = Buffer.from(`,${JSON.stringify(text)}:`);
  return { text, label, special: SPECIAL_KEYS.indexOf(text), bit: 1 << (text.length * 5 + last) };
}

const NOWHERE = -1;
/** With this many tags or more, keys are looked up instead of compared. */
const MAX_COMPARED = 64;
/** Kinds of values: a removed one, an AnyValue in the bytes, a text that was made. */
const REMOVED = 0;
const IN_BYTES = 1;
const MADE = 2;

/**
 * The tags of a span: OTLP values in the bytes, or texts that were made. A tag replaces an earlier one with the same
 * key. Tags that spans share are added first, followed by `share`: every `begin` goes back to that state.
 */
export class SpanTags {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private count = 0;
  private readonly keys: ZipkinTagKey[] = [];
  private readonly kinds: number[] = [];
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];
  private readonly made: string[] = [];
  private readonly places: number[] = SPECIAL_KEYS.map(() => NOWHERE);
  private seen = 0;
  private lookup: Map<string, number> | undefined;
  private shared: SharedTags = NOTHING_SHARED;
  /** Whether the shared tags are unchanged. */
  private isSharedWhole = true;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }

  clear(): void {
    this.shared = NOTHING_SHARED;
    this.isSharedWhole = false;
    this.begin();
  }

  /** Declares all present tags as shared by the spans that follow. */
  share(): void {
    const { count } = this;
    this.shared = NOTHING_SHARED;
    const json = new WireWriter(256);
    this.writeJson(json);
    this.shared = {
      count,
      kinds: this.kinds.slice(0, count),
      starts: this.starts.slice(0, count),
      ends: this.ends.slice(0, count),
      made: this.made.slice(0, count),
      places: [...this.places],
      seen: this.seen,
      json: json.written(),
    };
    this.isSharedWhole = true;
  }

  /** Starts the next span with the shared tags. */
  begin(): void {
    const { shared } = this;
    this.count = shared.count;
    this.seen = shared.seen;
    this.lookup = undefined;
    for (let i = 0; i < SPECIAL_KEYS.length; i++) this.places[i] = shared.places[i]!;
    if (this.isSharedWhole) return;
    for (let i = 0; i < shared.count; i++) {
      this.kinds[i] = shared.kinds[i]!;
      this.starts[i] = shared.starts[i]!;
      this.ends[i] = shared.ends[i]!;
      this.made[i] = shared.made[i]!;
    }
    this.isSharedWhole = true;
  }

  /** Adds the attributes with this tag of the message [start, end). */
  addAttributes(start: number, end: number, attributesTag: number): void {
    const { bytes: b } = this;
    for (let p = start; (p = nextBody(b, p, end, attributesTag)) >= 0; ) {
      const at = lengthAt;
      p = bodyEnd;
      findKeyAndValue(b, at, p);
      const place = this.placeOf(KEYS.get(b, keyStart, keyEnd));
      this.kinds[place] = IN_BYTES;
      this.starts[place] = valueStart;
      this.ends[place] = valueEnd;
    }
  }

  set(key: string, text: string): void {
    const place = this.placeOf(OWN_KEYS.get(key) ?? keyOf(key));
    this.kinds[place] = MADE;
    this.made[place] = text;
  }

  remove(special: number): void {
    const at = this.placeOfSpecial(special);
    if (at === NOWHERE) return;
    this.kinds[at] = REMOVED;
    if (at < this.shared.count) this.isSharedWhole = false;
  }

  has(special: number): boolean {
    return this.placeOfSpecial(special) !== NOWHERE;
  }

  /** Returns the text of a tag; undefined if there is none. */
  textOf(special: number): string | undefined {
    const at = this.placeOfSpecial(special);
    return at === NOWHERE ? undefined : this.textAt(at);
  }

  /** Removes and returns a tag. An empty tag counts as missing, and stays. */
  take(special: number): string | undefined {
    const text = this.textOf(special) || undefined;
    if (text !== undefined) this.remove(special);
    return text;
  }

  /** Writes all tags as members of an object, each with a comma before it. */
  writeJson(out: WireWriter): void {
    let i = 0;
    if (this.isSharedWhole && this.shared.count > 0) {
      out.copy(this.shared.json, 0, this.shared.json.length);
      i = this.shared.count;
    }
    for (; i < this.count; i++) {
      if (this.kinds[i] === REMOVED) continue;
      const { label } = this.keys[i]!;
      out.copy(label, 0, label.length);
      if (this.kinds[i] === MADE) writeMade(out, this.made[i]!);
      else this.writeValue(out, this.starts[i]!, this.ends[i]!);
    }
  }

  /** Writes the AnyValue [start, end) as the text of a tag. */
  private writeValue(out: WireWriter, start: number, end: number): void {
    const { bytes: b } = this;
    const tag = start < end ? b[start]! : STRING_VALUE_TAG;
    const at = start + 1;
    if (start < end && stepOver(b, start) === end) {
      if (tag === STRING_VALUE_TAG) {
        varint(b, at);
        return writeText(b, this.view, after, end, out);
      }
      if (tag === INT_VALUE_TAG && end - at < 5) {
        out.reserve(14);
        out.bytes[out.length] = QUOTE;
        const behind = putDecimal(out.view, out.length + 1, varint(b, at));
        out.bytes[behind] = QUOTE;
        out.length = behind + 1;
        return;
      }
      if (tag === BOOL_VALUE_TAG) return writeAscii(varint64(b, at) === 0n ? '"false"' : '"true"', out);
    }
    writeMade(out, this.textOfValue(start, end));
  }

  private textAt(at: number): string {
    return this.kinds[at] === MADE ? this.made[at]! : this.textOfValue(this.starts[at]!, this.ends[at]!);
  }

  private textOfValue(start: number, end: number): string {
    return plainValueText(plainValue(decodeMessage(MESSAGES["AnyValue"]!, this.bytes, start, end)));
  }

  private placeOf(key: ZipkinTagKey): number {
    const { keys, count } = this;
    const isNew = (this.seen & key.bit) === 0;
    this.seen |= key.bit;
    if (!isNew || this.lookup !== undefined) {
      const known = this.find(key);
      if (known !== NOWHERE) {
        if (known < this.shared.count) this.isSharedWhole = false;
        return known;
      }
    }
    keys[count] = key;
    this.count = count + 1;
    this.lookup?.set(key.text, count);
    if (key.special >= 0) this.places[key.special] = count;
    return count;
  }

  private find(key: ZipkinTagKey): number {
    const { keys, count } = this;
    if (count < MAX_COMPARED) {
      for (let i = 0; i < count; i++) {
        const other = keys[i]!;
        if (other === key || (other.bit === key.bit && other.text === key.text)) return i;
      }
      return NOWHERE;
    }
    this.lookup ??= new Map(keys.slice(0, count).map(({ text }, i) => [text, i]));
    return this.lookup.get(key.text) ?? NOWHERE;
  }

  private placeOfSpecial(special: number): number {
    const at = this.places[special]!;
    return at === NOWHERE || this.kinds[at] === REMOVED ? NOWHERE : at;
  }
}

/** The shared tags, to go back to. */
interface SharedTags {
  readonly count: number;
  readonly kinds: readonly number[];
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly made: readonly string[];
  readonly places: readonly number[];
  readonly seen: number;
  readonly json: Uint8Array;
}

const NOTHING_SHARED: SharedTags = {
  count: 0,
  kinds: [],
  starts: [],
  ends: [],
  made: [],
  places: SPECIAL_KEYS.map(() => NOWHERE),
  seen: 0,
  json: new Uint8Array(0),
};

const OWN_KEYS = new Map(
  [...SPECIAL_KEYS, ...Object.values(ZIPKIN_TAGS)].map((key) => [key as string, keyOf(key)] as const),
);

const QUOTE = 34;

/** Writes a text as JSON in UTF-8. */
function writeMade(out: WireWriter, text: string): void {
  const json = Buffer.from(JSON.stringify(text));
  out.copy(json, 0, json.length);
}
