import { AMPERSAND, APOSTROPHE, BACKSLASH, BLANK, DOT, EQUALS, QUOTE, TAB } from "../text/ascii.js";
import {
  BASE64URL,
  BRACKET,
  CHARACTER_BITS,
  closingMarkAt,
  DIGIT,
  hasTextAt,
  IN_APOSTROPHES,
  IN_QUOTES,
  isAt,
  NAME,
  openingMarkSize,
  SECRET,
  TAG_START,
  UPPER,
  WORD,
} from "../text/characters.js";
import { matches } from "../text/matches.js";
import { nextOf, runs } from "../text/runs.js";
import { work } from "../text/work.js";

/**
 * The place of a value after the `=` or `:` that assigns it. The process has one instance, which holds the value that
 * was read last.
 */
class AssignedValue {
  start = 0;
  stop = 0;
  isQuoted = false;

  /**
   * Reads the value after the sign that ends before `p`. The sign may continue, as in `=>` and `:=`. Spaces may follow,
   * and the value may be in quotes, in escaped quotes, or in a list of one.
   */
  read(b: Uint8Array, p: number): void {
    const { end } = matches;
    if (p < end && (b[p] === EQUALS || b[p] === 62)) p++;
    const limit = Math.min(end, p + MAX_BLANKS);
    while (p < limit && (b[p] === BLANK || b[p] === TAB)) p++;
    if (b[p] === 78 && b[p + 1] === APOSTROPHE) p++; // SQL's N'text'
    if (b[p] === 115 && hasTextAt(b, p, end, "string(")) p = afterStringSize(b, p);
    else if (isAt(b, p, end, UPPER)) p = afterWrapper(b, p);
    if (b[p]! > 127 && this.readMarked(b, p)) return;
    let backslashes = 0;
    while (p < end && b[p] === BACKSLASH && backslashes < 8) {
      p++;
      backslashes++;
    }
    this.isQuoted = p < end && (b[p] === QUOTE || b[p] === APOSTROPHE);
    if (this.isQuoted) {
      this.start = p + 1;
      this.stop = quotedEnd(b, p + 1, b[p]!, backslashes);
    } else this.readPlain(b, p - backslashes);
  }

  /** Reads a value between marks such as « and » at `p`, without the spaces inside. Returns whether there is one. */
  private readMarked(b: Uint8Array, p: number): boolean {
    const { end } = matches;
    const start = p + (b[p]! < 0xe0 ? 2 : 3);
    const close = openingMarkSize(b, start, p) === start - p ? closingMarkAt(b, start, end) : -1;
    if (close < 0) return false;
    work.spent += close - start;
    this.isQuoted = true;
    this.start = start;
    this.stop = close;
    while (this.start < this.stop && isSpace(b, this.start)) this.start += b[this.start] === BLANK ? 1 : 2;
    while (this.stop > this.start && (b[this.stop - 1] === BLANK || b[this.stop - 1] === 0xa0))
      this.stop -= b[this.stop - 1] === BLANK ? 1 : 2;
    return true;
  }

  /** Reads a value without quotes from `p` on; `[abc]` counts as a list of one. */
  readPlain(b: Uint8Array, p: number): void {
    this.start = p;
    this.stop = plainEnd(b, p);
    if (b[p] !== 91 || this.stop - p < 3) return;
    const close = b.subarray(p, this.stop).indexOf(93);
    if (close < 2) return;
    this.start = p + 1;
    this.stop = p + close;
  }

  /** Ends a value without quotes where a tag begins or, with `isStrict`, at any bracket. */
  cut(b: Uint8Array, isStrict: boolean): void {
    if (this.isQuoted) return;
    let p = nextOf(b, this.start, isStrict ? BRACKET : TAG_START);
    while (!isStrict && p < this.stop && b[p + 1] !== 47) p = nextOf(b, p + 1, TAG_START);
    this.stop = Math.min(p, this.stop);
    if (isStrict && b[this.stop] === 124 && this.stop - this.start <= MAX_TOKEN_ID) {
      const end = runs.end(b, this.stop + 1, BASE64URL);
      if (end - this.stop > MIN_TOKEN) this.stop = end;
    }
  }

  /** Extends the value to the end of the line or of the quotes. */
  extendToLineEnd(b: Uint8Array): void {
    if (this.isQuoted) return;
    const { end } = matches;
    let p = this.stop;
    while (p < end && b[p] !== 10 && b[p] !== 13 && b[p] !== QUOTE && b[p] !== APOSTROPHE && b[p] !== 93) {
      if (b[p] === BACKSLASH) break;
      p++;
    }
    work.spent += p - this.stop;
    this.stop = p;
  }
}

const MAX_BLANKS = 8;
/** Some tokens begin with an id or a kind: `42|pT9x...`, `Atzr|IwEB...`. */
const MAX_TOKEN_ID = 10;
const MIN_TOKEN = 20;

const MAX_WRAPPER = 16;

/** Skips the name and bracket of a wrapper around a text in quotes: `Some("x")`. */
function afterWrapper(b: Uint8Array, p: number): number {
  let q = p;
  while (q < p + MAX_WRAPPER && isAt(b, q, matches.end, WORD)) q++;
  return b[q] === 40 && (b[q + 1] === QUOTE || b[q + 1] === APOSTROPHE) ? q + 1 : p;
}

/** Whether a space or a non-breaking space is at `p`. */
function isSpace(b: Uint8Array, p: number): boolean {
  return b[p] === BLANK || (b[p] === 0xc2 && b[p + 1] === 0xa0);
}

/** Skips PHP's `string(9) `, which var_dump writes in front of a text. */
function afterStringSize(b: Uint8Array, p: number): number {
  let q = p + "string(".length;
  while (isAt(b, q, matches.end, DIGIT)) q++;
  return b[q] === 41 && b[q + 1] === BLANK ? q + 2 : p;
}

export const assigned = new AssignedValue();

/**
 * Returns the end of a quoted text whose closing quote has this many backslashes before it. A quote with more
 * backslashes belongs to the text.
 */
function quotedEnd(b: Uint8Array, start: number, quote: number, backslashes: number): number {
  const { end } = matches;
  const bits = quote === QUOTE ? IN_QUOTES : IN_APOSTROPHES;
  for (let p = start; ; p++) {
    p = runs.end(b, p, bits);
    if (p >= end) return end;
    let n = 0;
    while (p < end && b[p] === BACKSLASH) {
      p++;
      n++;
    }
    work.spent += n;
    if (p >= end) return end;
    if (b[p] === quote && (n <= backslashes || (backslashes === 0 && n % 2 === 0))) return p - n;
    if (b[p] !== quote) p--;
  }
}

/**
 * Returns the end of a value without quotes. An `&` ends it only if another name follows, an escape only if it stands
 * for a space or a quote.
 */
function plainEnd(b: Uint8Array, start: number): number {
  const { end } = matches;
  let p = start;
  for (;;) {
    p = runs.end(b, p, SECRET);
    if (p >= end || !continuesValue(b, p)) break;
    p++;
  }
  while (p > start && (b[p - 1] === DOT || isUnmatchedBracket(b, start, p - 1))) p--;
  return p;
}

function continuesValue(b: Uint8Array, p: number): boolean {
  const { end } = matches;
  const next = b[p + 1]!;
  if (p + 1 >= end || (CHARACTER_BITS[next]! & SECRET) === 0) return false;
  if (b[p] === BACKSLASH) return next !== 110 && next !== 114 && next !== 116 && next !== 117;
  if (b[p] !== AMPERSAND) return false;
  let q = p + 1;
  while (q < p + 40 && isAt(b, q, end, NAME)) q++;
  work.spent += q - p;
  return !(q < end && b[q] === EQUALS);
}

/** Whether the closing bracket at `p` has no opening bracket since `start`. */
function isUnmatchedBracket(b: Uint8Array, start: number, p: number): boolean {
  const open = b[p] === 41 ? 40 : b[p] === 93 ? 91 : b[p] === 125 ? 123 : b[p] === 62 ? 60 : 0;
  if (open === 0) return false;
  work.spent += p - start;
  for (let q = Math.max(start, p - 256); q < p; q++) if (b[q] === open) return false;
  return true;
}
