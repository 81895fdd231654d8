/*
 * 64-bit times without bigint: as two 32-bit halves, or as whole seconds and nanoseconds, which doubles hold exactly.
 */

const BILLION = 1_000_000_000;
const TWO_32 = 2 ** 32;

/** The results of `splitNanos`. */
export let seconds = 0;
export let nanos = 0;

/** Splits unsigned nanoseconds, given as two halves, into whole seconds and the rest. */
export function splitNanos(low: number, high: number): void {
  divide(low, high, BILLION);
  seconds = micros;
  nanos = remainder;
}

/** The same for microseconds, which may be negative: then both results are. */
export function splitMicros(low: number, high: number): void {
  const isNegative = high >= 0x80000000;
  if (isNegative) divide(-low >>> 0, (low === 0 ? -high : ~high) >>> 0, 1_000_000);
  else divide(low, high, 1_000_000);
  seconds = isNegative ? -micros : micros;
  nanos = (isNegative ? -remainder : remainder) * 1000;
}

/** The results of `toMicros`. */
export let micros = 0;
let remainder = 0;

/** Converts unsigned nanoseconds, given as two halves, to microseconds, rounded down or to the nearest. */
export function toMicros(low: number, high: number, isRounded: boolean): void {
  divide(low, high, 1000);
  if (isRounded && remainder >= 500) micros += 1;
}

/** Long division, 16 bits per step. */
function divide(low: number, high: number, divisor: number): void {
  micros = 0;
  remainder = 0;
  for (let i = 0; i < 4; i++) {
    const half = i < 2 ? high : low;
    const dividend = remainder * 65_536 + (i % 2 === 0 ? half >>> 16 : half & 0xffff);
    const step = Math.floor(dividend / divisor);
    remainder = dividend - step * divisor;
    micros = micros * 65_536 + step;
  }
}

/** The results of `joinNanos`. */
export let nanosLow = 0;
export let nanosHigh = 0;

/** The largest whole seconds, and the nanoseconds next to them, that 64 bits hold. */
const MAX_SECONDS = 18_446_744_073;
const MAX_NANOS = 709_551_615;

/** Converts a sum of any seconds and nanoseconds to nanoseconds as two halves, clamped to 64 bits. */
export function joinNanos(someSeconds: number, someNanos: number): void {
  const carried = Math.floor(someNanos / BILLION);
  const whole = someSeconds + carried;
  const rest = someNanos - carried * BILLION;
  const isTooMuch = whole > MAX_SECONDS || (whole === MAX_SECONDS && rest > MAX_NANOS);
  nanosLow = nanosHigh = isTooMuch ? 0xffffffff : 0;
  if (whole < 0 || isTooMuch) return;
  // Computes whole * 10^9 + rest with 16 bits of the first factor at a time.
  const upper = Math.floor(whole / 65_536);
  const product = upper * BILLION;
  const shifted = Math.floor(product / 65_536);
  const lows = (whole - upper * 65_536) * BILLION + rest + (product - shifted * 65_536) * 65_536;
  const overflow = Math.floor(lows / TWO_32);
  nanosLow = lows - overflow * TWO_32;
  nanosHigh = shifted + overflow;
}
