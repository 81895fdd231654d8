import { nanos, seconds, splitNanos } from "../signals/nanoseconds.js";

/** Writes an integer from 0 to 2^31 - 1 in decimal and returns the position after it. */
export function putDecimal(to: DataView, at: number, value: number): number {
  // Times are kept as doubles, whose division takes several times as long.
  value |= 0;
  let size = 1;
  for (let rest = value; rest >= 10; rest = (rest / 10) | 0) size++;
  putPadded(to, at, value, size);
  return at + size;
}

/** The same for an unsigned 64-bit integer, given as two 32-bit halves. */
export function putDecimal64(to: DataView, at: number, low: number, high: number): number {
  if (high === 0 && low <= 0x7fffffff) return putDecimal(to, at, low);
  splitNanos(low, high);
  const quotient = seconds;
  if (quotient < BILLION) at = putDecimal(to, at, quotient);
  else {
    const billions = Math.floor(quotient / BILLION);
    at = putDecimal(to, at, billions);
    putPadded(to, at, quotient - billions * BILLION, 9);
    at += 9;
  }
  putPadded(to, at, nanos, 9);
  return at + 9;
}

const BILLION = 1_000_000_000;

/** The same with leading zeros, in exactly `size` digits. */
export function putPadded(to: DataView, at: number, value: number, size: number): void {
  value |= 0;
  for (let p = at + size - 1; p >= at; p--) {
    const tenth = (value / 10) | 0;
    to.setUint8(p, 48 + value - 10 * tenth);
    value = tenth;
  }
}
