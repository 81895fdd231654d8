import { BLANK, CLOSE_PAREN, COLON, DASH, DOT, OPEN_PAREN } from "../text/ascii.js";
import { CHARACTER_BITS, DIGIT, SEPARATOR, WORD } from "../text/characters.js";
import { followsWord, type LabelWords } from "../text/lookback.js";
import { endsMask } from "../text/matches.js";

/**
 * A number as people write it: groups of digits separated by spaces, dashes, dots, slashes or brackets. The process has
 * one instance, which holds the number that was read last.
 */
class DigitGroups {
  count = 0;
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  /**
   * The separator after each group: a byte, or `CLOSING` or `OPENING` if several bytes include a bracket; 0 after the
   * last group.
   */
  readonly separators: number[] = [];
  digits = 0;
  /** Start of the last group if it is the beginning of a word, otherwise -1. */
  wordAt = -1;
  /** Position where the scan continues. */
  resumeAt = 0;

  /** Reads the groups that start with the digit at `p`. */
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
      // The last group is the beginning of a word, so it does not count.
      digits -= p - this.starts[--count]!;
      this.wordAt = this.starts[count]!;
      // A single number with a word such as 3D behind it is whole; groups of a number may continue in the word.
      if (count > 1 || (count > 0 && this.separators[0] !== BLANK)) this.separators[count - 1] = ATTACHED;
    }
    this.count = count;
    this.digits = digits;
  }

  /** Holds the single group [start, stop), with nothing attached to it. */
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

  /** Whether the groups from `i` on have these sizes, with the same separator, one of `separators`, between them. */
  haveSizes(i: number, sizes: readonly number[], separators: string): boolean {
    if (i + sizes.length > this.count) return false;
    const between = this.separators[i]!;
    for (let k = 0; k < sizes.length; k++) {
      if (this.size(i + k) !== sizes[k]) return false;
      if (k < sizes.length - 1 && this.separators[i + k] !== between) return false;
    }
    return sizes.length === 1 || separators.includes(String.fromCharCode(between));
  }

  /** Whether group `i` is part of a word, or follows another group without a space between them. */
  isAttachedBefore(b: Uint8Array, i: number, floor: number): boolean {
    if (i > 0) return this.separators[i - 1] !== BLANK && this.separators[i - 1]! > OPENING;
    const start = this.starts[0]!;
    if (start === floor) return false;
    const c = b[start - 1]!;
    if ((CHARACTER_BITS[c]! & WORD) !== 0 || c === DOT || endsMask(b, start)) return true;
    return (c === DASH && isOneOf(b, start - 2, floor, WORD)) || (c === COLON && isOneOf(b, start - 2, floor, DIGIT));
  }

  /** Whether one of the words stands shortly before group `i`. Only the first group can have a word before it. */
  followsWord(b: Uint8Array, i: number, words: LabelWords): boolean {
    return i === 0 && followsWord(b, this.starts[0]!, words);
  }

  /** Whether the groups end before `i` and nothing after them is attached. */
  isDetachedAfter(i: number): boolean {
    if (i > this.count) return false;
    const between = this.separators[i - 1]!;
    return between === BLANK || (between <= OPENING && between !== ATTACHED);
  }
}

/** Returns the position of the digit after one to three separators at `p`, or -1. */
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
/** The separators begin with `)`, as in `(030) 123`. */
export const CLOSING = 3;
/** The separators contain `(`, as in `+44 (0)`. */
export const OPENING = 4;
const MAX_GROUPS = 24;

export const groups = new DigitGroups();

/** Returns the value of a group of up to nine digits. */
export function groupValue(b: Uint8Array, i: number): number {
  let value = 0;
  for (let p = groups.starts[i]!; p < groups.ends[i]!; p++) value = value * 10 + b[p]! - 48;
  return value;
}
