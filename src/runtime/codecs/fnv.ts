/**
 * FNV-1a, the hash of the Collector's samplers. `state` is the result of an earlier call, so bytes may come in pieces.
 */

export const FNV32_START = 0x811c9dc5;

export function fnv32(state: number, b: Uint8Array, start: number, end: number): number {
  let hash = state;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ b[i]!, 0x01000193);
  return hash >>> 0;
}

/** The initial state for `fnv64`. */
export const FNV64_START = 0xcbf29ce484222325n;

/** FNV-1a with 64 bits, continuing from a state. It computes in halves, because a bigint is made for every result. */
export function fnv64(state: bigint, b: Uint8Array): bigint {
  let high = Number(state >> 32n);
  let low = Number(state & 0xffffffffn);
  for (let i = 0; i < b.length; i++) {
    low = (low ^ b[i]!) >>> 0;
    const product = low * 0x1b3; // the prime is 2^40 + 0x1b3
    high = (Math.imul(high, 0x1b3) + (low << 8) + Math.floor(product / 2 ** 32)) >>> 0;
    low = product >>> 0;
  }
  return (BigInt(high) << 32n) | BigInt(low);
}
