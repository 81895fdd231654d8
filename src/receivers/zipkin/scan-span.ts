const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, QUOTE, BACKSLASH, COMMA, COLON] = Buffer.from('[]{}"\\,:');
const ZERO = 48;
const NINE = 57;
const LETTER_T = 116;

/** Spans with more tags are left to the other reader, because each key is compared with all before it. */
const MAX_TAGS = 32;
/** The digits of the largest exact integer. */
const MAX_DIGITS = 16;

/** The position of a text between its quotes. An absent text is empty. */
export class JsonText {
  at = 0;
  end = 0;

  get length(): number {
    return this.end - this.at;
  }
}

export class ScannedEndpoint {
  readonly serviceName = new JsonText();
  readonly ipv4 = new JsonText();
  readonly ipv6 = new JsonText();
  port = 0;

  clear(): void {
    for (const text of [this.serviceName, this.ipv4, this.ipv6]) text.at = text.end = 0;
    this.port = 0;
  }
}

export class ScannedTag {
  readonly key = new JsonText();
  readonly value = new JsonText();
}

/** Names that members of an object may have. */
class FieldNames {
  private readonly names: readonly Uint8Array[];
  /** The name that followed each name last time: a tracer writes its fields in the same order. */
  private readonly followers: Uint8Array;

  constructor(names: readonly string[]) {
    this.names = names.map((name) => Buffer.from(name));
    this.followers = new Uint8Array(names.length + 1);
  }

  /** The index of the name at [at, end) of the JSON, or -1; `before` is the index of the member before it, or -1. */
  find(json: Uint8Array, at: number, end: number, before: number): number {
    const guess = this.followers[before + 1]!;
    if (this.is(guess, json, at, end)) return guess;
    for (let i = 0; i < this.names.length; i++) {
      if (!this.is(i, json, at, end)) continue;
      this.followers[before + 1] = i;
      return i;
    }
    return -1;
  }

  private is(index: number, json: Uint8Array, at: number, end: number): boolean {
    const name = this.names[index]!;
    if (name.length !== end - at) return false;
    for (let k = 0; k < name.length; k++) if (name[k] !== json[at + k]) return false;
    return true;
  }
}

/** In the order of the cases in `readField`. */
const FIELDS = new FieldNames([
  "traceId",
  "id",
  "parentId",
  "name",
  "kind",
  "timestamp",
  "duration",
  "localEndpoint",
  "remoteEndpoint",
  "tags",
  "annotations",
  "shared",
  "debug",
]);
const ENDPOINT_FIELDS = new FieldNames(["serviceName", "ipv4", "ipv6", "port"]);
const LITERALS = new FieldNames(["true", "false"]);

/**
 * Finds the fields of a Zipkin span in its JSON, without making objects of them. It knows the JSON that tracers write.
 * A scan fails if there is anything else, such as an escaped character, an unknown field, an annotation, a null or a name
 * that occurs twice. The values of ids and kinds are not checked. The JSON must be valid UTF-8.
 */
export class SpanScanner {
  readonly traceId = new JsonText();
  readonly id = new JsonText();
  readonly parentId = new JsonText();
  readonly name = new JsonText();
  readonly kind = new JsonText();
  /** Microseconds. */
  timestamp = 0;
  duration = 0;
  readonly localEndpoint = new ScannedEndpoint();
  readonly remoteEndpoint = new ScannedEndpoint();
  /** The first `tagCount` are those of the span. */
  readonly tags: readonly ScannedTag[] = Array.from({ length: MAX_TAGS }, () => new ScannedTag());
  tagCount = 0;

  private readonly json: Uint8Array;
  private p = 0;
  private readonly member = new JsonText();
  private number = 0;

  constructor(json: Uint8Array) {
    this.json = json;
  }

  /** Returns the position of the comma or bracket after the span that begins at `start`, or -1 if the scan fails. */
  scan(start: number): number {
    this.clear();
    this.p = start;
    if (!this.object(FIELDS, this.readField)) return -1;
    const next = this.skipBlanks();
    return next === COMMA || next === CLOSE_LIST ? this.p : -1;
  }

  private clear(): void {
    for (const text of [this.traceId, this.id, this.parentId, this.name, this.kind]) text.at = text.end = 0;
    this.timestamp = this.duration = this.tagCount = 0;
    this.localEndpoint.clear();
    this.remoteEndpoint.clear();
  }

  private readonly readField = (field: number): boolean => {
    switch (field) {
      case 0:
        return this.text(this.traceId);
      case 1:
        return this.text(this.id);
      case 2:
        return this.text(this.parentId);
      case 3:
        return this.text(this.name);
      case 4:
        return this.text(this.kind);
      case 5:
        if (!this.integer()) return false;
        this.timestamp = this.number;
        return true;
      case 6:
        if (!this.integer()) return false;
        this.duration = this.number;
        return true;
      case 7:
        this.current = this.localEndpoint;
        return this.object(ENDPOINT_FIELDS, this.readEndpointField);
      case 8:
        this.current = this.remoteEndpoint;
        return this.object(ENDPOINT_FIELDS, this.readEndpointField);
      case 9:
        return this.tagsObject();
      case 10:
        return this.emptyList();
      default:
        return this.literal();
    }
  };

  private current = this.localEndpoint;

  private readonly readEndpointField = (field: number): boolean => {
    const endpoint = this.current;
    if (field === 0) return this.text(endpoint.serviceName);
    if (field === 1) return this.text(endpoint.ipv4);
    if (field === 2) return this.text(endpoint.ipv6);
    if (!this.integer() || this.number > 65_535) return false;
    endpoint.port = this.number;
    return true;
  };

  /** Reads an object whose members have these names, each at most once. */
  private object(names: FieldNames, read: (field: number) => boolean): boolean {
    if (this.skipBlanks() !== OPEN_OBJECT) return false;
    this.p++;
    if (this.skipBlanks() === CLOSE_OBJECT) return this.p++ > 0;
    for (let found = 0, field = -1; ; ) {
      if (!this.text(this.member) || this.skipBlanks() !== COLON) return false;
      this.p++;
      field = names.find(this.json, this.member.at, this.member.end, field);
      if (field < 0 || (found & (1 << field)) !== 0) return false;
      found |= 1 << field;
      if (!read(field)) return false;
      const next = this.skipBlanks();
      this.p++;
      if (next === CLOSE_OBJECT) return true;
      if (next !== COMMA) return false;
    }
  }

  private tagsObject(): boolean {
    if (this.skipBlanks() !== OPEN_OBJECT) return false;
    this.p++;
    if (this.skipBlanks() === CLOSE_OBJECT) return this.p++ > 0;
    for (;;) {
      const tag = this.tags[this.tagCount];
      if (tag === undefined || !this.text(tag.key) || this.isKnownTag(tag.key) || this.skipBlanks() !== COLON)
        return false;
      this.p++;
      if (!this.text(tag.value)) return false;
      this.tagCount++;
      const next = this.skipBlanks();
      this.p++;
      if (next === CLOSE_OBJECT) return true;
      if (next !== COMMA) return false;
    }
  }

  /** Also true for a key that begins with a digit: objects put numbers before other keys. */
  private isKnownTag({ at, end }: JsonText): boolean {
    const { json, tags } = this;
    const first = json[at]!;
    if (first >= ZERO && first <= NINE) return true;
    for (let i = 0; i < this.tagCount; i++) {
      const { key } = tags[i]!;
      if (key.end - key.at !== end - at || json[key.end - 1] !== json[end - 1] || json[key.at] !== first) continue;
      let k = 1;
      while (at + k < end && json[key.at + k] === json[at + k]) k++;
      if (at + k >= end) return true;
    }
    return false;
  }

  private text(range: JsonText): boolean {
    const { json } = this;
    if (this.skipBlanks() !== QUOTE) return false;
    let p = this.p + 1;
    range.at = p;
    for (let c = json[p]; c !== QUOTE; c = json[++p]) if (c === undefined || c === BACKSLASH || c < 32) return false;
    range.end = p;
    this.p = p + 1;
    return true;
  }

  private integer(): boolean {
    const { json } = this;
    const first = this.skipBlanks();
    const start = this.p;
    let value = 0;
    let p = start;
    for (let c = json[p]!; c >= ZERO && c <= NINE; c = json[++p]!) value = value * 10 + (c - ZERO);
    const digits = p - start;
    this.p = p;
    this.number = value;
    return digits > 0 && digits <= MAX_DIGITS && value <= Number.MAX_SAFE_INTEGER && (first !== ZERO || digits === 1);
  }

  private emptyList(): boolean {
    if (this.skipBlanks() !== OPEN_LIST) return false;
    this.p++;
    return this.skipBlanks() === CLOSE_LIST && this.p++ > 0;
  }

  private literal(): boolean {
    this.skipBlanks();
    const size = this.json[this.p] === LETTER_T ? 4 : 5;
    this.p += size;
    return LITERALS.find(this.json, this.p - size, this.p, -1) >= 0;
  }

  private skipBlanks(): number | undefined {
    const { json } = this;
    let c = json[this.p];
    while (c === 32 || c === 9 || c === 10 || c === 13) c = json[++this.p];
    return c;
  }
}
