import { isDigit, MINUS } from "./json-cursor.js";

/** The results of `readDecimal`: the magnitude as two 32-bit halves, and whether it is negative. */
export let low = 0;
export let high = 0;
export let isNegative = false;

/** The result of `readDouble`. */
export let double = 0;

/** Returned by both if the digits need the general path. */
export const NOT_PLAIN = -1;

/** Numbers with up to this many digits are exact. */
const EXACT_DIGITS = 15;
const MAX_DIGITS = 20;
const DIGIT_0 = 48;
const TWO_32 = 2 ** 32;

/** Reads an integer of up to 20 plain digits and returns the position after it. Does not look at what follows. */
export function readDecimal(b: Uint8Array, p: number, end: number): number {
  isNegative = b[p] === MINUS;
  if (isNegative) p++;
  const from = p;
  let head = 0;
  const exactEnd = Math.min(end, from + EXACT_DIGITS);
  while (p < exactEnd && isDigit(b[p]!)) head = head * 10 + b[p++]! - DIGIT_0;
  if (p === from || (b[from] === DIGIT_0 && p > from + 1)) return NOT_PLAIN;
  let tail = 0;
  const limit = Math.min(end, from + MAX_DIGITS + 1);
  const tailFrom = p;
  if (p === exactEnd) while (p < limit && isDigit(b[p]!)) tail = tail * 10 + b[p++]! - DIGIT_0;
  if (p - from > MAX_DIGITS) return NOT_PLAIN;
  combine(head, POWERS[p - tailFrom]!, tail);
  return high < TWO_32 ? p : NOT_PLAIN;
}

/** Computes the halves of head * factor + tail, which may exceed what a double holds exactly. */
function combine(head: number, factor: number, tail: number): void {
  // The remainder of a double would need a call; dividing by a power of two is exact.
  const headHigh = Math.floor(head / TWO_32);
  const lows = (head - headHigh * TWO_32) * factor + tail;
  const carried = Math.floor(lows / TWO_32);
  low = lows - carried * TWO_32;
  high = headHigh * factor + carried;
}

/**
 * Reads a number with few digits, with or without a fraction, and returns the position after it. The digits without the
 * dot and the power of ten are both exact, so their quotient is the nearest double.
 */
export function readDouble(b: Uint8Array, p: number, end: number): number {
  const isMinus = b[p] === MINUS;
  if (isMinus) p++;
  const from = p;
  let digits = 0;
  while (p < end && isDigit(b[p]!)) digits = digits * 10 + b[p++]! - DIGIT_0;
  if (p === from || p - from > EXACT_DIGITS || (b[from] === DIGIT_0 && p > from + 1)) return NOT_PLAIN;
  let fraction = 0;
  if (p < end && b[p] === DOT) {
    const fractionFrom = ++p;
    while (p < end && isDigit(b[p]!)) digits = digits * 10 + b[p++]! - DIGIT_0;
    fraction = p - fractionFrom;
    if (fraction === 0 || p - from > EXACT_DIGITS + 1) return NOT_PLAIN;
  }
  const value = digits / POWERS[fraction]!;
  double = isMinus ? -value : value;
  return p;
}

const DOT = 46;
const POWERS = Array.from({ length: EXACT_DIGITS + 1 }, (_, exponent) => 10 ** exponent);
