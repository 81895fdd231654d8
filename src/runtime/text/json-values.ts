// Written as numbers, which are compared twice as fast as variables.
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/**
 * Reads JSON values that stand one after the other, with nothing, blanks or commas between them, so a million of them are
 * never in memory as objects.
 */
export class JsonValues {
  /** Where the last value begins and ends. */
  start = 0;
  end = 0;
  private readonly json: Buffer;

  constructor(json: Buffer) {
    this.json = json;
  }

  get hasNext(): boolean {
    this.skipBlanks();
    return this.end < this.json.length;
  }

  /** Moves behind the next byte that is no blank, if it is this one. */
  take(byte: number): boolean {
    this.skipBlanks();
    if (this.json[this.end] !== byte) return false;
    this.end++;
    return true;
  }

  /** Parses the next value. Throws a `SyntaxError` if it is no JSON, or has more than `maxValues` elements or `maxBytes`. */
  next(maxValues: number, maxBytes = Number.POSITIVE_INFINITY): unknown {
    this.skip(maxValues);
    if (this.end - this.start > maxBytes) throw new SyntaxError(`more than ${maxBytes} bytes`);
    return JSON.parse(this.json.toString("utf8", this.start, this.end));
  }

  /** Finds the end of the next value, if it is JSON, without parsing it. */
  skip(maxValues = Number.POSITIVE_INFINITY): void {
    this.skipBlanks();
    this.start = this.end;
    this.end = this.valueEnd(maxValues);
  }

  private skipBlanks(): void {
    const { json } = this;
    while (isBlank(json[this.end])) this.end++;
  }

  private valueEnd(maxValues: number): number {
    const { json, start } = this;
    const first = json[start];
    if (first === QUOTE) return textEnd(json, start);
    if (first !== OPEN_OBJECT && first !== OPEN_LIST) return wordEnd(json, start);
    let depth = 0;
    let values = 0;
    for (let at = start; at < json.length; at++) {
      const byte = json[at];
      if (byte === QUOTE) at = textEnd(json, at) - 1;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        if (--depth === 0) return at + 1;
      } else if (byte === COMMA && ++values > maxValues) throw new SyntaxError(`more than ${maxValues} values`);
    }
    return json.length;
  }
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function textEnd(json: Buffer, quote: number): number {
  const { length } = json;
  for (let at = quote + 1; at < length; at++) {
    const byte = json[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at++;
  }
  return length;
}

/** Numbers, true, false and null end in front of anything that cannot be part of them. */
function wordEnd(json: Buffer, from: number): number {
  let at = from;
  while (at < json.length && WORD_BYTES[json[at]!] === 1) at++;
  return Math.max(at, from + 1);
}

const WORD_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => Number(/[\w.+-]/.test(String.fromCharCode(byte))));
