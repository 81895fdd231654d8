const BILLION = 1_000_000_000;

/** What `splitNanos` found. */
export let seconds = 0;
export let nanos = 0;

/** Splits nanoseconds, unsigned in 64 bits and given as two halves of 32, into whole seconds and the rest. */
export function splitNanos(low: number, high: number): void {
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
  seconds = quotient;
  nanos = rest;
}
