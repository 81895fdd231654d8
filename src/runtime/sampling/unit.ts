/**
 * A number in [0, 1) made of a trace id, the same wherever it is asked for with the same seed. All bits of the id are
 * mixed, so that it is uniform also for ids that are not random, and independent of samplers that look at the id's
 * last bits, such as those of SDKs: the rates of samplers one behind the other multiply.
 */
export function traceIdFraction(seed: number, b: Uint8Array, at: number): number {
  const low = murmur3(seed ^ 0x9e3779b9, b, at);
  const high = murmur3(seed ^ 0x7f4a7c15, b, at);
  return ((high >>> 6) * 0x8000000 + (low >>> 5)) / 2 ** 53;
}

/** Murmur3 of the sixteen bytes at `at`. */
function murmur3(seed: number, b: Uint8Array, at: number): number {
  let hash = seed | 0;
  for (let i = at; i < at + 16; i += 4) {
    let word = b[i]! | (b[i + 1]! << 8) | (b[i + 2]! << 16) | (b[i + 3]! << 24);
    word = Math.imul(word, 0xcc9e2d51);
    word = Math.imul((word << 15) | (word >>> 17), 0x1b873593);
    hash ^= word;
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  hash ^= 16;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
