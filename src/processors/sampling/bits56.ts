/**
 * The numbers of OpenTelemetry's consistent sampling: 56 bits of randomness, and thresholds they are compared with. A
 * record is kept when its randomness is at least the threshold, so 0 keeps all and 2^56 keeps none. They are kept as
 * two halves of 28 bits: a double holds only 53, and big integers are slow where every record is decided.
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
/** The randomness that every threshold but `NEVER` keeps. */
export const ALL_ONES: Bits56 = { high: HALF_RANGE - 1, low: HALF_RANGE - 1 };

/** The smallest probability there is. */
export const MIN_PROBABILITY = 2 ** -56;

function bits56(value: bigint): Bits56 {
  return { high: Number(value >> 28n), low: Number(value & 0xfffffffn) };
}

/** Does a threshold keep this randomness? */
export function keeps(threshold: Bits56, randomness: Bits56): boolean {
  return threshold.high < randomness.high || (threshold.high === randomness.high && threshold.low <= randomness.low);
}

export function isLess(a: Bits56, b: Bits56): boolean {
  return !keeps(b, a);
}

/** All fourteen hex digits. */
export function toHex({ high, low }: Bits56): string {
  return high.toString(16).padStart(7, "0") + low.toString(16).padStart(7, "0");
}

/** A threshold as it is written: without zeros at the end, "0" for `ALWAYS` and nothing for `NEVER`. */
export function thresholdText(threshold: Bits56): string {
  if (threshold.high === HALF_RANGE) return "";
  return toHex(threshold).replace(/0+$/, "") || "0";
}

/** Undefined when the text is no threshold: one to fourteen hex digits. */
export function parseThreshold(text: string): Bits56 | undefined {
  return /^[0-9a-fA-F]{1,14}$/.test(text) ? parseHex(text.padEnd(DIGITS, "0")) : undefined;
}

/** Undefined when the text is no randomness: exactly fourteen hex digits. */
export function parseRandomness(text: string): Bits56 | undefined {
  return /^[0-9a-fA-F]{14}$/.test(text) ? parseHex(text) : undefined;
}

function parseHex(text: string): Bits56 {
  return { high: Number.parseInt(text.slice(0, 7), 16), low: Number.parseInt(text.slice(7), 16) };
}

/** The share of all randomness that a threshold keeps. */
export function probabilityOf(threshold: Bits56): number {
  const rejected = (BigInt(threshold.high) << 28n) | BigInt(threshold.low);
  return Number(RANGE - rejected) / Number(RANGE);
}

/**
 * The threshold that keeps this share, rounded to so many significant hex digits: more of them where the share is near
 * 0 or 1, so that the relative error stays the same. Undefined when the share is out of [2^-56, 1].
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

/** How many hex digits 0 stand behind the point of a number in (0, 1]. */
function leadingDigits(value: number): number {
  scratch.setFloat64(0, value);
  const exponent = ((scratch.getUint16(0) >>> 4) & 0x7ff) - 1022;
  return Math.trunc(Math.max(0, -exponent) / 4);
}

const scratch = new DataView(new ArrayBuffer(8));
