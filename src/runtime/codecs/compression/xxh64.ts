/**
 * The low half of XXH64 with seed 0: the checksum of zstd frames. The main loop works on 32-bit halves, because BigInt
 * would take longer than decompressing; the remainder at the end is short.
 */
export function xxh64Low(bytes: Uint8Array, start: number, end: number): number {
  const { hash, next } = end - start >= 32 ? hashStripes(bytes, start, end) : { hash: PRIME_5, next: start };
  let h = wrap(hash + BigInt(end - start));
  let p = next;
  for (; p + 8 <= end; p += 8) h = wrap(rotate(h ^ round(0n, long(bytes, p)), 27n) * PRIME_1 + PRIME_4);
  for (; p + 4 <= end; p += 4) h = wrap(rotate(h ^ wrap(BigInt(word(bytes, p)) * PRIME_1), 23n) * PRIME_2 + PRIME_3);
  for (; p < end; p++) h = wrap(rotate(h ^ wrap(BigInt(bytes[p]!) * PRIME_5), 11n) * PRIME_1);
  h = wrap((h ^ (h >> 33n)) * PRIME_2);
  h = wrap((h ^ (h >> 29n)) * PRIME_3);
  return Number((h ^ (h >> 32n)) & 0xffffffffn);
}

const PRIME_1 = 0x9e3779b185ebca87n;
const PRIME_2 = 0xc2b2ae3d27d4eb4fn;
const PRIME_3 = 0x165667b19e3779f9n;
const PRIME_4 = 0x85ebca77c2b2ae63n;
const PRIME_5 = 0x27d4eb2f165667c5n;

/** High and low halves of four lanes. */
const lanes = new Uint32Array(8);

function hashStripes(bytes: Uint8Array, start: number, end: number): { hash: bigint; next: number } {
  for (const [i, lane] of [PRIME_1 + PRIME_2, PRIME_2, 0n, -PRIME_1].entries()) setLane(i, wrap(lane));
  let p = start;
  for (; p + 32 <= end; p += 32)
    for (let i = 0; i < 4; i++) roundLane(i << 1, word(bytes, p + 8 * i + 4), word(bytes, p + 8 * i));
  const [a, b, c, d] = [lane(0), lane(1), lane(2), lane(3)];
  let hash = wrap(rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n));
  for (const value of [a, b, c, d]) hash = wrap((hash ^ round(0n, value)) * PRIME_1 + PRIME_4);
  return { hash, next: p };
}

const P1_HIGH = 0x9e3779b1;
const P1_LOW = 0x85ebca87;
const P2_HIGH = 0xc2b2ae3d;
const P2_LOW = 0x27d4eb4f;

/** lane = rotate(lane + value * PRIME_2, 31) * PRIME_1 */
function roundLane(at: number, high: number, low: number): void {
  const productLow = Math.imul(low, P2_LOW) >>> 0;
  const productHigh = highOf(low, P2_LOW) + Math.imul(low, P2_HIGH) + Math.imul(high, P2_LOW);
  const sumLow = lanes[at + 1]! + productLow;
  const sumHigh = lanes[at]! + productHigh + (sumLow > 0xffffffff ? 1 : 0);
  const rotatedHigh = (sumHigh << 31) | ((sumLow | 0) >>> 1);
  const rotatedLow = ((sumLow << 31) | ((sumHigh | 0) >>> 1)) >>> 0;
  lanes[at + 1] = Math.imul(rotatedLow, P1_LOW);
  lanes[at] = highOf(rotatedLow, P1_LOW) + Math.imul(rotatedLow, P1_HIGH) + Math.imul(rotatedHigh, P1_LOW);
}

/** The high half of the product of two 32-bit numbers. */
function highOf(a: number, b: number): number {
  const a0 = a & 0xffff;
  const a1 = a >>> 16;
  const b0 = b & 0xffff;
  const b1 = b >>> 16;
  const low = a0 * b0;
  const middle = a1 * b0 + (low >>> 16);
  const other = a0 * b1 + (middle % 65536);
  return a1 * b1 + Math.floor(middle / 65536) + Math.floor(other / 65536);
}

function setLane(index: number, value: bigint): void {
  lanes[2 * index] = Number(value >> 32n);
  lanes[2 * index + 1] = Number(value & 0xffffffffn);
}

function lane(index: number): bigint {
  return (BigInt(lanes[2 * index]!) << 32n) | BigInt(lanes[2 * index + 1]!);
}

function round(accumulator: bigint, value: bigint): bigint {
  return wrap(rotate(wrap(accumulator + value * PRIME_2), 31n) * PRIME_1);
}

function rotate(value: bigint, by: bigint): bigint {
  return wrap((value << by) | (value >> (64n - by)));
}

function wrap(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}

function word(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

function long(bytes: Uint8Array, at: number): bigint {
  return (BigInt(word(bytes, at + 4)) << 32n) | BigInt(word(bytes, at));
}
