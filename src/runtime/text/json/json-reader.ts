/** Makes the error for JSON that cannot be read, with the position of the fault. */
type JsonFault = (reason: string, at: number) => Error;

/** Limits for one value that is parsed in one go. */
export interface JsonBounds {
  /** Elements of lists and members of objects. */
  readonly maxValues: number;
  readonly maxBytes: number;
}

/**
 * No JSON from outside may be nested deeper: a million brackets are a kilobyte when they arrive compressed, and a
 * gigabyte when they are parsed.
 */
export const MAX_JSON_DEPTH = 200;
/** A value within these bounds is parsed in less than a turn of the event loop. */
const BOUNDS: JsonBounds = { maxValues: 20_000, maxBytes: 4 * 1024 * 1024 };
/** For senders who are trusted with large values, and for values that are not parsed in one go. */
export const ONLY_DEPTH: JsonBounds = { maxValues: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY };
const MAX_WORD_BYTES = 1024;

// Written as numbers, which are compared twice as fast as variables.
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * Reads JSON from outside value by value, so a million of them are never in memory as objects, and whoever reads can stop
 * between two of them. A value is found before it is parsed: what has no end, or is larger or deeper than it may be, is
 * refused without `JSON.parse` having seen it.
 */
export class JsonReader {
  /** Where the last value begins and ends. Whoever reads a value otherwise sets `end` behind it. */
  start = 0;
  end: number;
  private readonly json: Buffer;
  private readonly fault: JsonFault;
  private readonly bounds: JsonBounds;

  constructor(json: Buffer, fault: JsonFault, bounds = BOUNDS) {
    this.json = json;
    this.fault = fault;
    this.bounds = bounds;
    this.end = hasMark(json) ? 3 : 0;
  }

  get hasNext(): boolean {
    this.skipBlanks();
    return this.end < this.json.length;
  }

  /** Whether the next byte that is no blank is this one. */
  isAt(byte: number): boolean {
    this.skipBlanks();
    return this.json[this.end] === byte;
  }

  /** Parses the next value. */
  next(): unknown {
    this.find();
    return this.parse();
  }

  /** Parses the value that was found last. */
  parse(): unknown {
    const text = this.json.toString("utf8", this.start, this.end);
    try {
      return JSON.parse(text);
    } catch {
      throw this.fault("expected valid JSON", this.start);
    }
  }

  /** Finds the end of the next value, if it is JSON, without parsing it. */
  skip(): void {
    this.findWithin(ONLY_DEPTH);
  }

  /** Finds the end of the next value, and refuses what `next` refuses to parse. */
  find(): void {
    this.findWithin(this.bounds);
  }

  /** Stops in front of each element of the list that comes next. The caller reads the element. */
  *elements(): Generator<void> {
    if (!this.take(OPEN_LIST)) throw this.fault("expected a list", this.end);
    if (this.take(CLOSE_LIST)) return;
    do yield;
    while (this.take(COMMA));
    if (!this.take(CLOSE_LIST)) throw this.fault("expected a comma or the end of the list", this.end);
  }

  /** Gives the name of each member of the object that comes next. The caller reads the member. */
  *members(): Generator<string> {
    if (!this.take(OPEN_OBJECT)) throw this.fault("expected an object", this.end);
    if (this.take(CLOSE_OBJECT)) return;
    do {
      if (!this.isAt(QUOTE)) throw this.fault("expected the name of a member", this.end);
      const name = this.next() as string;
      if (!this.take(COLON)) throw this.fault("expected a colon", this.end);
      yield name;
    } while (this.take(COMMA));
    if (!this.take(CLOSE_OBJECT)) throw this.fault("expected a comma or the end of the object", this.end);
  }

  /** Moves over the comma that may stand between two values. */
  skipComma(): void {
    this.take(COMMA);
  }

  expectEnd(): void {
    if (this.hasNext) throw this.fault("expected nothing after the JSON", this.end);
  }

  private take(byte: number): boolean {
    if (!this.isAt(byte)) return false;
    this.end++;
    return true;
  }

  private skipBlanks(): void {
    const { json } = this;
    while (isBlank(json[this.end])) this.end++;
  }

  private findWithin(bounds: JsonBounds): void {
    this.skipBlanks();
    this.start = this.end;
    const { json, start } = this;
    const first = json[start];
    if (first === QUOTE) this.end = this.textEnd(start);
    else if (first === OPEN_OBJECT || first === OPEN_LIST) this.end = this.nestedEnd(bounds.maxValues);
    else this.end = this.wordEnd();
    if (this.end - start > bounds.maxBytes) throw this.fault(`more than ${bounds.maxBytes} bytes`, start);
  }

  private nestedEnd(maxValues: number): number {
    const { json, start } = this;
    const { length } = json;
    let depth = 0;
    let values = 0;
    for (let at = start; at < length; at++) {
      const byte = json[at];
      if (byte === QUOTE) at = this.textEnd(at) - 1;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        if (++depth > MAX_JSON_DEPTH) throw this.fault(`nested more than ${MAX_JSON_DEPTH} deep`, at);
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        if (--depth === 0) return at + 1;
      } else if (byte === COMMA && ++values > maxValues) throw this.fault(`more than ${maxValues} values`, start);
    }
    throw this.fault("the JSON ends within a value", length);
  }

  private textEnd(quote: number): number {
    const { json } = this;
    const { length } = json;
    for (let at = quote + 1; at < length; at++) {
      const byte = json[at];
      if (byte === QUOTE) return at + 1;
      if (byte === BACKSLASH) at++;
    }
    throw this.fault("the JSON ends within a text", length);
  }

  /** Numbers, true, false and null end in front of anything that cannot be part of them. */
  private wordEnd(): number {
    const { json, start } = this;
    let at = start;
    while (at < json.length && WORD_BYTES[json[at]!] === 1) at++;
    if (at === start) throw this.fault("expected a value", start);
    if (at - start > MAX_WORD_BYTES) throw this.fault(`a number of more than ${MAX_WORD_BYTES} digits`, start);
    return at;
  }
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** The mark of UTF-8 that some programs write in front. */
function hasMark(json: Buffer): boolean {
  return json[0] === 0xef && json[1] === 0xbb && json[2] === 0xbf;
}

const WORD_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => Number(/[\w.+-]/.test(String.fromCharCode(byte))));

/**
 * Parses JSON that came from outside in a text, such as the body of a record. Throws a `SyntaxError` if it is no JSON, or
 * larger or deeper than what is parsed in one go.
 */
export function parseJson(text: string, bounds?: JsonBounds): unknown {
  if (text.length > MAX_UNCHECKED) checkBounds(text, bounds);
  return JSON.parse(text);
}

/** A shorter text cannot hold much, so nothing is lost if it is parsed as it is. */
const MAX_UNCHECKED = 32 * 1024;

function checkBounds(text: string, bounds: JsonBounds | undefined): void {
  const fault = (reason: string, at: number) => new SyntaxError(`${reason}, at byte ${at}`);
  new JsonReader(Buffer.from(text), fault, bounds).find();
}
