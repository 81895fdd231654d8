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

/** FNV-1a with 64 bits, continuing from a state. */
export function fnv64(state: bigint, b: Uint8Array): bigint {
  let hash = state;
  for (const byte of b) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return hash;
}
