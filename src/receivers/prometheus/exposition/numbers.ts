/** Reads numbers of the text formats directly from the bytes. */

/** Where the last number that was read ends. */
export let numberEnd = 0;

const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
const MAX_EXACT = Number.MAX_SAFE_INTEGER;

/**
 * Reads the number at `p` up to the first byte that cannot be part of one, and sets `numberEnd` after it. Returns
 * undefined if there is none. A line feed must follow somewhere. Up to 15 digits with a small power of ten are exact
 * with one division or multiplication of doubles; all other numbers go through JavaScript's parser.
 */
export function readNumber(b: Uint8Array, p: number): number | undefined {
  const start = p;
  let c = b[p]!;
  const isNegative = c === MINUS;
  if (isNegative || c === PLUS) c = b[++p]!;
  if (c > NINE) return readWord(b, p, isNegative);
  const digitsStart = p;
  let mantissa = 0;
  for (; c >= ZERO && c <= NINE; c = b[++p]!) mantissa = mantissa * 10 + (c - ZERO);
  let digits = p - digitsStart;
  let scale = 0;
  if (c === DOT) {
    const fractionStart = p + 1;
    for (c = b[++p]!; c >= ZERO && c <= NINE; c = b[++p]!) mantissa = mantissa * 10 + (c - ZERO);
    scale = fractionStart - p;
    digits -= scale;
  }
  if (digits === 0) return undefined;
  if (c === LOWER_E || c === UPPER_E) {
    c = b[++p]!;
    const isSmall = c === MINUS;
    if (isSmall || c === PLUS) c = b[++p]!;
    if (c < ZERO || c > NINE) return undefined;
    let exponent = 0;
    for (; c >= ZERO && c <= NINE; c = b[++p]!) if (exponent < 10_000) exponent = exponent * 10 + (c - ZERO);
    scale += isSmall ? -exponent : exponent;
  }
  numberEnd = p;
  if (mantissa > MAX_EXACT || scale > 22 || scale < -22) return Number(latin1(b, start, p));
  const value =
    scale < 0 ? mantissa / POWERS_OF_TEN[-scale]! : scale === 0 ? mantissa : mantissa * POWERS_OF_TEN[scale]!;
  return isNegative ? -value : value;
}

/** `NaN`, `Inf` and `Infinity` in any case, as in Go. */
function readWord(b: Uint8Array, p: number, isNegative: boolean): number | undefined {
  let end = p;
  while ((b[end]! | 0x20) >= LOWER_A && (b[end]! | 0x20) <= LOWER_Z) end++;
  const word = latin1(b, p, end).toLowerCase();
  numberEnd = end;
  if (word === "nan") return Number.NaN;
  if (word !== "inf" && word !== "infinity") return undefined;
  return isNegative ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

function latin1(b: Uint8Array, start: number, end: number): string {
  return Buffer.from(b.buffer, b.byteOffset + start, end - start).toString("latin1");
}

const ZERO = 48;
const NINE = 57;
const PLUS = 43;
const MINUS = 45;
const DOT = 46;
const LOWER_A = 97;
const LOWER_E = 101;
const UPPER_E = 69;
const LOWER_Z = 122;
