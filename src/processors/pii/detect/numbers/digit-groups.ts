import { BLANK, CLOSE_PAREN, COLON, DASH, DOT, OPEN_PAREN } from "../text/ascii.js";
import { CHARACTER_BITS, DIGIT, SEPARATOR, WORD } from "../text/characters.js";
import { followsWord, type LabelWords } from "../text/lookback.js";
import { endsMask } from "../text/matches.js";

/**
 * A number as people write it: groups of digits with blanks, dashes, dots, slashes or brackets between them. One for the
 * whole process; it holds the one read last.
 */
class DigitGroups {
  count = 0;
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  /** What is between a group and the next one: a byte, or how several of them open or close a bracket; 0 behind the last. */
  readonly separators: number[] = [];
  digits = 0;
  /** Where the last group begins, if it is the beginning of a word; else -1. */
  wordAt = -1;
  /** Where the text goes on. */
  resumeAt = 0;

  /** Reads the groups from the digit at `p` on. */
  read(b: Uint8Array, p: number, end: number): void {
    let count = 0;
    let digits = 0;
    for (;;) {
      const start = p;
      while (p < end && (CHARACTER_BITS[b[p]!]! & DIGIT) !== 0) p++;
      this.starts[count] = start;
      this.ends[count] = p;
      digits += p - start;
      const next = nextGroup(b, p, end);
      this.separators[count++] = next < 0 ? 0 : next === p + 1 ? b[p]! : separatorKind(b, p, next);
      if (next < 0 || count === MAX_GROUPS) break;
      p = next;
    }
    this.resumeAt = p;
    this.wordAt = -1;
    if (p < end && (CHARACTER_BITS[b[p]!]! & WORD) !== 0) {
      // The last group is the beginning of a word.
      digits -= p - this.starts[--count]!;
      this.wordAt = this.starts[count]!;
      if (count > 0) this.separators[count - 1] = ATTACHED;
    }
    this.count = count;
    this.digits = digits;
  }

  /** The one group [start, stop), and nothing tied to it. */
  set(start: number, stop: number): void {
    this.count = 1;
    this.starts[0] = start;
    this.ends[0] = stop;
    this.separators[0] = 0;
    this.digits = stop - start;
    this.wordAt = -1;
    this.resumeAt = stop;
  }

  size(i: number): number {
    return this.ends[i]! - this.starts[i]!;
  }

  /** Number of digits in the groups [from, to). */
  total(from: number, to: number): number {
    let sum = 0;
    for (let i = from; i < to; i++) sum += this.size(i);
    return sum;
  }

  /** Do the groups from `i` on have these sizes, and the same byte, one of `separators`, between them? */
  haveSizes(i: number, sizes: readonly number[], separators: string): boolean {
    if (i + sizes.length > this.count) return false;
    const between = this.separators[i]!;
    for (let k = 0; k < sizes.length; k++) {
      if (this.size(i + k) !== sizes[k]) return false;
      if (k < sizes.length - 1 && this.separators[i + k] !== between) return false;
    }
    return sizes.length === 1 || separators.includes(String.fromCharCode(between));
  }

  /** Group `i` is a word's, or follows another group with no blank between them. */
  isAttachedBefore(b: Uint8Array, i: number, floor: number): boolean {
    if (i > 0) return this.separators[i - 1] !== BLANK && this.separators[i - 1]! > OPENING;
    const start = this.starts[0]!;
    if (start === floor) return false;
    const c = b[start - 1]!;
    if ((CHARACTER_BITS[c]! & WORD) !== 0 || c === DOT || endsMask(b, start)) return true;
    return (c === DASH && isOneOf(b, start - 2, floor, WORD)) || (c === COLON && isOneOf(b, start - 2, floor, DIGIT));
  }

  /** Does a word like this stand shortly before group `i`? Nothing but separators is between groups. */
  followsWord(b: Uint8Array, i: number, words: LabelWords): boolean {
    return i === 0 && followsWord(b, this.starts[0]!, words);
  }

  /** The groups end before `i`, and what follows is not tied to them. */
  isDetachedAfter(i: number): boolean {
    if (i > this.count) return false;
    const between = this.separators[i - 1]!;
    return between === BLANK || (between <= OPENING && between !== ATTACHED);
  }
}

/** Position of the digit behind one to three separators at `p`, or -1. */
function nextGroup(b: Uint8Array, p: number, end: number): number {
  let q = p;
  while (q < end && q < p + 3 && (CHARACTER_BITS[b[q]!]! & SEPARATOR) !== 0) q++;
  return q > p && q < end && (CHARACTER_BITS[b[q]!]! & DIGIT) !== 0 ? q : -1;
}

function isOneOf(b: Uint8Array, p: number, floor: number, bits: number): boolean {
  return p >= floor && (CHARACTER_BITS[b[p]!]! & bits) !== 0;
}

function separatorKind(b: Uint8Array, p: number, end: number): number {
  if (b[p] === 0xc2 && end === p + 2) return BLANK;
  if (b[p] === 0xe2 && end === p + 3) return b[p + 2]! >= 0x90 && b[p + 2]! <= 0x93 ? DASH : BLANK;
  if (b[p] === CLOSE_PAREN) return CLOSING;
  for (; p < end; p++) if (b[p] === OPEN_PAREN) return OPENING;
  return MIXED;
}

const ATTACHED = 1;
export const MIXED = 2;
/** A `)` first: `(030) 123`. */
export const CLOSING = 3;
/** A `(` among them: `+44 (0)`. */
export const OPENING = 4;
const MAX_GROUPS = 24;

export const groups = new DigitGroups();

/** The value of a group of up to nine digits. */
export function groupValue(b: Uint8Array, i: number): number {
  let value = 0;
  for (let p = groups.starts[i]!; p < groups.ends[i]!; p++) value = value * 10 + b[p]! - 48;
  return value;
}
