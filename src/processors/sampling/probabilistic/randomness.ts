import { FNV32_START, fnv32 } from "#codecs";
import { type Bits56, NEVER } from "../bits56.js";

/** A randomness that is overwritten for every record. */
export interface MutableBits56 extends Bits56 {
  high: number;
  low: number;
}

/** Number of buckets of the mode `hash_seed`. */
export const HASH_BUCKETS = 0x4000;

/** Computes in single precision and truncates, as the Collector does: other rounding would keep other traces. */
export function hashThreshold(percentage: number): Bits56 {
  const kept = Math.trunc(Math.fround(percentage * Math.fround(HASH_BUCKETS / 100)));
  return kept === 0 ? NEVER : { high: (HASH_BUCKETS - kept) << 14, low: 0 };
}

/** Returns the initial hash for everything that is hashed with this seed. */
export function hashSeed(seed: number): number {
  return fnv32(FNV32_START, Uint8Array.of(seed, seed >>> 8, seed >>> 16, seed >>> 24), 0, 4);
}

/**
 * Computes the randomness of bytes in the mode `hash_seed`. Its first fourteen bits are the bucket, counted from the
 * end, so that comparing with a threshold decides as comparing buckets does. The rest is filled with the other bits of
 * the hash.
 */
export function hashRandomnessInto(
  into: MutableBits56,
  state: number,
  b: Uint8Array,
  start: number,
  end: number,
): void {
  const hash = fnv32(state, b, start, end);
  const bucket = hash & (HASH_BUCKETS - 1);
  const rest = hash >>> 18;
  const mixed = rest ^ (rest << 10);
  into.high = ((HASH_BUCKETS - 1 - bucket) << 14) | (mixed >>> 14);
  into.low = ((mixed & 0x3fff) << 14) | bucket;
}

/** Computes the randomness of a trace id: its last 56 bits, as W3C Trace Context defines it. */
export function traceIdRandomnessInto(into: MutableBits56, b: Uint8Array, at: number): void {
  const middle = b[at + 12]!;
  into.high = (b[at + 9]! << 20) | (b[at + 10]! << 12) | (b[at + 11]! << 4) | (middle >>> 4);
  into.low = ((middle & 15) << 24) | (b[at + 13]! << 16) | (b[at + 14]! << 8) | b[at + 15]!;
}
