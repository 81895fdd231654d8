/**
 * The numbers of OpenTelemetry's consistent sampling: 56 bits of randomness, and the thresholds they are compared with.
 * A record is kept if its randomness is at least the threshold, so 0 keeps all records and 2^56 keeps none. A number is
 * stored as two halves of 28 bits: a double holds only 53 bits, and big integers are too slow for a decision per
 * record.
 */
export interface Bits56 {
  readonly high: number;
  readonly low: number;
}

const HALF_RANGE = 2 ** 28;
const RANGE = 1n << 56n;
const DIGITS = 14;

/** Keeps everything. */
export const ALWAYS: Bits56 = { high: 0, low: 0 };
/** Keeps nothing. */
export const NEVER: Bits56 = { high: HALF_RANGE, low: 0 };
/** The randomness that every threshold except `NEVER` keeps. */
export const ALL_ONES: Bits56 = { high: HALF_RANGE - 1, low: HALF_RANGE - 1 };

/** The smallest possible probability. */
export const MIN_PROBABILITY = 2 ** -56;

function bits56(value: bigint): Bits56 {
  return { high: Number(value >> 28n), low: Number(value & 0xfffffffn) };
}

/** Whether a threshold keeps this randomness. */
export function keeps(threshold: Bits56, randomness: Bits56): boolean {
  return threshold.high < randomness.high || (threshold.high === randomness.high && threshold.low <= randomness.low);
}

export function isLess(a: Bits56, b: Bits56): boolean {
  return !keeps(b, a);
}

/** Returns all fourteen hex digits. */
export function toHex({ high, low }: Bits56): string {
  return high.toString(16).padStart(7, "0") + low.toString(16).padStart(7, "0");
}

/** Returns a threshold as it is written: without trailing zeros, "0" for `ALWAYS`, and "" for `NEVER`. */
export function thresholdText(threshold: Bits56): string {
  if (threshold.high === HALF_RANGE) return "";
  // At most 14 characters.
  return toHex(threshold).replace(/0+$/, "") || "0";
}

/** Returns undefined unless the text is a threshold: one to fourteen hex digits. */
export function parseThreshold(text: string): Bits56 | undefined {
  return /^[0-9a-fA-F]{1,14}$/.test(text) ? parseHex(text.padEnd(DIGITS, "0")) : undefined;
}

/** Returns undefined unless the text is a randomness: exactly fourteen hex digits. */
export function parseRandomness(text: string): Bits56 | undefined {
  return /^[0-9a-fA-F]{14}$/.test(text) ? parseHex(text) : undefined;
}

function parseHex(text: string): Bits56 {
  return { high: Number.parseInt(text.slice(0, 7), 16), low: Number.parseInt(text.slice(7), 16) };
}

/** Returns the share of all randomness that a threshold keeps. */
export function probabilityOf(threshold: Bits56): number {
  const rejected = (BigInt(threshold.high) << 28n) | BigInt(threshold.low);
  return Number(RANGE - rejected) / Number(RANGE);
}

/**
 * Returns the threshold that keeps this share, rounded to `precision` significant hex digits. Shares near 0 or 1 get
 * more digits, so that the relative error stays the same. Returns undefined if the share is outside [2^-56, 1].
 */
export function thresholdFor(probability: number, precision: number = DIGITS): Bits56 | undefined {
  if (!(probability >= MIN_PROBABILITY && probability <= 1)) return undefined;
  if (probability === 1) return ALWAYS;
  const extra = Math.max(leadingDigits(probability), leadingDigits(1 - probability));
  const shift = BigInt(4 * (DIGITS - Math.min(DIGITS, precision + extra)));
  let threshold = RANGE - BigInt(Math.round(probability * Number(RANGE)));
  if (shift > 0n) threshold = ((threshold + (1n << (shift - 1n))) >> shift) << shift;
  return bits56(threshold);
}

/** Returns the number of zero hex digits after the point of a number in (0, 1]. */
function leadingDigits(value: number): number {
  scratch.setFloat64(0, value);
  const exponent = ((scratch.getUint16(0) >>> 4) & 0x7ff) - 1022;
  return Math.trunc(Math.max(0, -exponent) / 4);
}

const scratch = new DataView(new ArrayBuffer(8));
