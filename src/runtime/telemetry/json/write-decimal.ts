/** Writes an integer from 0 to 2^31 - 1 in decimal; gives the position behind it. */
export function putDecimal(to: DataView, at: number, value: number): number {
  let size = 1;
  for (let rest = value; rest >= 10; rest = (rest / 10) | 0) size++;
  putPadded(to, at, value, size);
  return at + size;
}

/** The same of an unsigned one of 64 bits, given as two halves of 32. */
export function putDecimal64(to: DataView, at: number, low: number, high: number): number {
  if (high === 0 && low <= 0x7fffffff) return putDecimal(to, at, low);
  // Long division, 16 bits a step, in numbers that doubles hold exactly.
  let quotient = 0;
  let rest = 0;
  for (let i = 0; i < 4; i++) {
    const half = i < 2 ? high : low;
    const dividend = rest * 65_536 + (i % 2 === 0 ? half >>> 16 : half & 0xffff);
    const step = Math.floor(dividend / BILLION);
    rest = dividend - step * BILLION;
    quotient = quotient * 65_536 + step;
  }
  if (quotient < BILLION) at = putDecimal(to, at, quotient);
  else {
    const billions = Math.floor(quotient / BILLION);
    at = putDecimal(to, at, billions);
    putPadded(to, at, quotient - billions * BILLION, 9);
    at += 9;
  }
  putPadded(to, at, rest, 9);
  return at + 9;
}

const BILLION = 1_000_000_000;

/** With zeros in front, so that it has this size. */
function putPadded(to: DataView, at: number, value: number, size: number): void {
  for (let p = at + size - 1; p >= at; p--) {
    const tenth = (value / 10) | 0;
    to.setUint8(p, 48 + value - 10 * tenth);
    value = tenth;
  }
}
