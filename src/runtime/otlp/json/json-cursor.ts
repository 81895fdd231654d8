import { viewOf } from "../bytes/wire.js";
import { MalformedError } from "../signals/malformed.js";

export const QUOTE = 34;
const COMMA = 44;
export const MINUS = 45;
export const COLON = 58;
export const OPEN_LIST = 91;
export const BACKSLASH = 92;
export const CLOSE_LIST = 93;
export const SMALL_N = 110;
export const OPEN_OBJECT = 123;
export const CLOSE_OBJECT = 125;

/** By byte: 1 if it ends the plain part of a JSON string: a quote, a backslash or a forbidden character. */
export const ENDS_PLAIN_TEXT = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 32 || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);

/** Whether the plain part of a JSON string ends within these four bytes. */
export function endsPlainText(word: number): boolean {
  const quotes = word ^ 0x22222222;
  const backslashes = word ^ 0x5c5c5c5c;
  return (
    ((((word - 0x20202020) & ~word) | ((quotes - 0x01010101) & ~quotes) | ((backslashes - 0x01010101) & ~backslashes)) &
      0x80808080) !==
    0
  );
}

/** Skipped values may be nested deeper than those that are read, but not as deep as 20 MB of brackets. */
const MAX_SKIPPED_DEPTH = 10_000;

/** A JSON scalar as a value; a long integer stays text, because a number would round it. */
type JsonScalar = string | number | boolean | null;

/**
 * A position in UTF-8 JSON text. Skipping builds no objects and keeps one byte per level of nesting.
 */
export class JsonCursor {
  readonly bytes: Uint8Array;
  /** A view of the same memory, to look at four bytes at once. */
  readonly view: DataView;
  readonly end: number;
  position = 0;
  private levels = new Uint8Array(64);

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.end = bytes.length;
  }

  /** Skips white space and returns the next byte; -1 at the end. */
  next(): number {
    const { bytes, end } = this;
    let p = this.position;
    while (p < end) {
      const byte = bytes[p]!;
      if (byte > 32) break;
      if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) break;
      p++;
    }
    this.position = p;
    return p < end ? bytes[p]! : -1;
  }

  /** Skips white space and this byte. */
  expect(byte: number): void {
    if (this.next() !== byte) throw this.unexpected();
    this.position++;
  }

  /**
   * Skips the comma after a member or an element and returns true, or skips the end of the object or list and returns
   * false.
   */
  more(close: number): boolean {
    const byte = this.next();
    if (byte !== COMMA && byte !== close) throw this.unexpected();
    this.position++;
    return byte === COMMA;
  }

  /** The error for an unexpected byte here. */
  unexpected(): MalformedError {
    const what = this.position < this.end ? "unexpected character" : "ends too early";
    return new MalformedError(`not JSON: ${what}`, this.position);
  }

  /** Skips a value of any kind. */
  skipValue(): void {
    let depth = 0;
    do {
      const byte = this.next();
      if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        this.position++;
        const close = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_LIST;
        if (this.next() === close) this.position++;
        else {
          this.open(depth++, close);
          if (close === CLOSE_OBJECT) this.skipName();
          continue;
        }
      } else this.skipScalar(byte);
      depth = this.closeLevels(depth);
    } while (depth > 0);
  }

  private open(depth: number, close: number): void {
    if (depth === MAX_SKIPPED_DEPTH)
      throw new MalformedError(`nested more than ${MAX_SKIPPED_DEPTH} deep`, this.position);
    if (depth === this.levels.length) {
      const grown = new Uint8Array(2 * depth);
      grown.set(this.levels);
      this.levels = grown;
    }
    this.levels[depth] = close;
  }

  /** After a value: skips the ends of all objects and lists that end here, up to the next value. */
  private closeLevels(depth: number): number {
    while (depth > 0) {
      const close = this.levels[depth - 1]!;
      if (this.more(close)) {
        if (close === CLOSE_OBJECT) this.skipName();
        return depth;
      }
      depth--;
    }
    return 0;
  }

  private skipName(): void {
    if (this.next() !== QUOTE) throw this.unexpected();
    this.skipText();
    this.expect(COLON);
  }

  private skipScalar(byte: number): void {
    if (byte === QUOTE) this.skipText();
    else if (byte === MINUS || isDigit(byte)) this.skipNumber();
    else this.skipWord(byte);
  }

  /** Skips the string that starts here. */
  skipText(): void {
    const { bytes, view, end } = this;
    let p = this.position + 1;
    while (p <= end - 4 && !endsPlainText(view.getInt32(p, true))) p += 4;
    for (; p < end; p++) {
      const byte = bytes[p]!;
      if (ENDS_PLAIN_TEXT[byte] === 0) continue;
      if (byte === QUOTE) {
        this.position = p + 1;
        return;
      }
      this.position = p;
      if (byte !== BACKSLASH) throw this.unexpected();
      p += this.escapeLength(p) - 1;
    }
    this.position = end;
    throw this.unexpected();
  }

  /** The length of the escape at `p` in bytes. */
  escapeLength(p: number): number {
    const byte = this.bytes[p + 1];
    if (byte === undefined || p + 1 >= this.end) throw this.unexpectedAt(this.end);
    if (byte !== SMALL_U) {
      if (ESCAPED[byte] === 0) throw this.unexpectedAt(p + 1);
      return 2;
    }
    for (let i = p + 2; i < p + 6; i++)
      if (i >= this.end || HEX_DIGITS[this.bytes[i]!] === NO_HEX) throw this.unexpectedAt(i);
    return 6;
  }

  unexpectedAt(position: number): MalformedError {
    this.position = Math.min(position, this.end);
    return this.unexpected();
  }

  /** Skips the number that starts here. */
  skipNumber(): void {
    const { bytes } = this;
    let p = this.position;
    if (bytes[p] === MINUS) p++;
    p = bytes[p] === DIGIT_0 ? p + 1 : this.skipDigits(p);
    if (bytes[p] === DOT) p = this.skipDigits(p + 1);
    if (bytes[p] === SMALL_E || bytes[p] === CAPITAL_E) {
      const sign = bytes[p + 1];
      p = this.skipDigits(sign === PLUS || sign === MINUS ? p + 2 : p + 1);
    }
    this.position = p;
  }

  /** Returns the position after the digits at `p`; there must be at least one. */
  private skipDigits(p: number): number {
    const from = p;
    const { bytes, end } = this;
    while (p < end && isDigit(bytes[p]!)) p++;
    if (p === from) throw this.unexpectedAt(p);
    return p;
  }

  private skipWord(byte: number): void {
    const word = WORDS.get(byte);
    if (word === undefined) throw this.unexpected();
    for (let i = 0; i < word.length; i++)
      if (this.position + i >= this.end || this.bytes[this.position + i] !== word.charCodeAt(i))
        throw this.unexpectedAt(this.position + i);
    this.position += word.length;
  }

  /** Reads a scalar as JSON.parse does. Returns undefined without moving if it is an object or a list. */
  scalar(): JsonScalar | undefined {
    const byte = this.next();
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) return undefined;
    const from = this.position;
    this.skipScalar(byte);
    const text = Buffer.prototype.utf8Slice.call(this.bytes, from, this.position);
    return isLongInteger(this.bytes, from, this.position) ? text : (JSON.parse(text) as JsonScalar);
  }
}

const PLUS = 43;
const DOT = 46;
const DIGIT_0 = 48;
const CAPITAL_E = 69;
const SMALL_E = 101;
const SMALL_U = 117;

/** Integers with fewer digits are exact as numbers. */
const MAX_EXACT_DIGITS = 15;

/**
 * Whether this scalar is an integer that JSON.parse might round. A regular expression would run out of stack with
 * millions of digits.
 */
function isLongInteger(bytes: Uint8Array, from: number, to: number): boolean {
  let p = bytes[from] === MINUS ? from + 1 : from;
  if (to - p <= MAX_EXACT_DIGITS) return false;
  while (p < to && isDigit(bytes[p]!)) p++;
  return p === to;
}

const WORDS = new Map(["true", "false", "null"].map((word) => [word.charCodeAt(0), word]));

/** By byte: its meaning after a backslash, or 0 if it is not allowed there. */
export const ESCAPED = new Uint8Array(256);
for (const pair of ['""', "\\\\", "//", "b\b", "f\f", "n\n", "r\r", "t\t"])
  ESCAPED[pair.charCodeAt(0)] = pair.charCodeAt(1);

export const NO_HEX = 255;

/** By byte: the value of a hexadecimal digit. */
export const HEX_DIGITS = new Uint8Array(256).fill(NO_HEX);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  HEX_DIGITS[digit.charCodeAt(0)] = value;
  HEX_DIGITS[digit.toUpperCase().charCodeAt(0)] = value;
}

export function isDigit(byte: number): boolean {
  return byte >= DIGIT_0 && byte <= DIGIT_0 + 9;
}
