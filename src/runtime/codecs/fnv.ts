/** FNV-1a, the hash the Collector's samplers use. `state` is what a former call gave: bytes may come in pieces. */

export const FNV32_START = 0x811c9dc5;

export function fnv32(state: number, b: Uint8Array, start: number, end: number): number {
  let hash = state;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ b[i]!, 0x01000193);
  return hash >>> 0;
}

/** The state of `fnv64` before the first byte. */
export const FNV64_START = 0xcbf29ce484222325n;

/** FNV-1a of 64 bits, going on from a state. */
export function fnv64(state: bigint, b: Uint8Array): bigint {
  let hash = state;
  for (const byte of b) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return hash;
}
