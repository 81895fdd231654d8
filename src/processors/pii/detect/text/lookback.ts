import { CLOSE_BRACKET, CLOSE_PAREN, STAR } from "./ascii.js";
import { latin1 } from "./characters.js";
import { matches } from "./matches.js";
import { TEXT_COST, work } from "./work.js";

const MAX_LOOKBACK = 36;

/** A set of words that can stand before a number and say what kind of number it is. */
export interface LabelWords {
  /** Matches UTF-8 read as Latin-1, in lower case. */
  readonly pattern: RegExp;
  /** The bit of this set in `TRIGRAMS`. */
  readonly bit: number;
}

/** Each byte as `toLowerCase` changes it in Latin-1. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, c) => String.fromCharCode(c).toLowerCase().charCodeAt(0));

/**
 * The sets that contain a word with these three bytes, as bits. Numbers are many and labels before them few, so the
 * bytes are checked before a text is made for the pattern.
 */
const TRIGRAMS = new Uint8Array(1 << 16);
let sets = 0;

function trigram(a: number, b: number, c: number): number {
  return ((a << 10) ^ (b << 5) ^ c) & 0xffff;
}

/**
 * Makes a set of patterns in any script for `followsWord`. Each pattern must contain two letters in a row, and should
 * contain three.
 */
export function labelWords(words: readonly string[]): LabelWords {
  const bit = 1 << sets++;
  const folded = words.map((word) => Buffer.from(word, "utf8").toString("latin1").toLowerCase());
  for (const word of folded) addTrigrams(longestLiteral(word), bit);
  return { pattern: new RegExp(folded.join("|")), bit };
}

function addTrigrams(literal: string, bit: number): void {
  if (literal.length < 2 || bit > 128) throw new Error(`no bytes to look for in ${JSON.stringify(literal)}`);
  const [a, b, c] = [...literal].map((one) => one.charCodeAt(0)) as [number, number, number | undefined];
  for (let third = 0; third < 256; third++)
    if (c === undefined || c === third) TRIGRAMS[trigram(a, b, FOLDED[third]!)]! |= bit;
}

/** Returns the longest part of a pattern that every match contains. */
function longestLiteral(pattern: string): string {
  const parts = pattern.replace(/\(.*|\\b/g, " ").split(/\.\?| /);
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest), "");
}

/** Whether one of the words stands shortly before the digit at `p`, without digits or masked values in between. */
export function followsWord(b: Uint8Array, p: number, { pattern, bit }: LabelWords): boolean {
  if (seenScan !== matches.scan || seenAt !== p) lookBack(b, p);
  if ((seenBits & bit) === 0) return false;
  work.spent += 2 * TEXT_COST;
  return pattern.test(latin1(b, seenStart, p).toLowerCase());
}

/** Whether a word of any set may stand shortly before the digit at `p`. */
export function followsLabel(b: Uint8Array, p: number): boolean {
  if (seenScan !== matches.scan || seenAt !== p) lookBack(b, p);
  return seenBits !== 0;
}

/** The text before the number that was asked about last. It is remembered because several sets are tried in turn. */
let seenScan = -1;
let seenAt = -1;
let seenStart = 0;
let seenBits = 0;

function lookBack(b: Uint8Array, p: number): void {
  const floor = Math.max(matches.floor, p - MAX_LOOKBACK);
  let start = p;
  let bits = 0;
  let next = p < b.length ? FOLDED[b[p]!]! : 0;
  let afterNext = 0;
  while (start > floor) {
    const c = b[start - 1]!;
    if ((c >= 48 && c <= 57) || c === STAR || c === CLOSE_PAREN || c === CLOSE_BRACKET) break;
    start--;
    const folded = FOLDED[c]!;
    bits |= TRIGRAMS[trigram(folded, next, afterNext)]!;
    afterNext = next;
    next = folded;
  }
  work.spent += p - start;
  seenScan = matches.scan;
  seenAt = p;
  seenStart = start;
  seenBits = bits;
}
