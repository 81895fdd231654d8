/**
 * A hash of 64 bits in two halves, for names in the bytes of a batch. Not cryptographic: names that collide are counted
 * as one, which does no harm. Results are in variables until the next call, so nothing is allocated.
 */

export let hashLow = 0;
export let hashHigh = 0;

const PRIME_LOW = 0x9e3779b1;
const PRIME_HIGH = 0x85ebca77;

/** Hashes the bytes in [start, end), beginning with a seed that tells apart what is hashed. */
export function hashBytes(b: Uint8Array, start: number, end: number, seed: number): void {
  let low = seed ^ 0x2545f491;
  let high = Math.imul(seed, PRIME_HIGH) ^ (end - start);
  let p = start;
  for (const last = end - 3; p < last; p += 4) {
    const word = b[p]! | (b[p + 1]! << 8) | (b[p + 2]! << 16) | (b[p + 3]! << 24);
    low = Math.imul(low ^ word, PRIME_LOW);
    low ^= low >>> 15;
    high = Math.imul(high ^ word, PRIME_HIGH);
    high ^= high >>> 13;
  }
  for (; p < end; p++) {
    low = Math.imul(low ^ b[p]!, PRIME_LOW);
    high = Math.imul(high ^ b[p]!, PRIME_HIGH);
    high ^= high >>> 13;
  }
  finish(low, high);
}

/** Hashes two numbers. */
export function hashPair(first: number, second: number, seed: number): void {
  const low = Math.imul(Math.imul(seed ^ 0x2545f491 ^ first, PRIME_LOW) ^ second, PRIME_LOW);
  const high = Math.imul(Math.imul(seed ^ second, PRIME_HIGH) ^ first, PRIME_HIGH);
  finish(low, high ^ (high >>> 13));
}

function finish(low: number, high: number): void {
  low ^= low >>> 16;
  low = Math.imul(low, 0x85ebca6b);
  low ^= low >>> 13;
  low = Math.imul(low, 0xc2b2ae35);
  hashLow = (low ^ (low >>> 16)) >>> 0;
  high ^= high >>> 16;
  high = Math.imul(high, 0x27d4eb2f);
  high ^= high >>> 15;
  high = Math.imul(high, 0x165667b1);
  hashHigh = (high ^ (high >>> 16)) >>> 0;
}
