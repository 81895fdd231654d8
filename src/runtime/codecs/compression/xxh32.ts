const PRIME_1 = 0x9e3779b1;
const PRIME_2 = 0x85ebca77;
const PRIME_3 = 0xc2b2ae3d;
const PRIME_4 = 0x27d4eb2f;
const PRIME_5 = 0x165667b1;

/** XXH32 of `bytes[start, end)` with seed 0: the checksum of LZ4 frames. */
export function xxh32(bytes: Uint8Array, start: number, end: number): number {
  let p = start;
  let hash = PRIME_5;
  if (end - start >= 16) {
    let a = (PRIME_1 + PRIME_2) | 0;
    let b = PRIME_2 | 0;
    let c = 0;
    let d = -PRIME_1 | 0;
    for (; p + 16 <= end; p += 16) {
      a = round(a, word(bytes, p));
      b = round(b, word(bytes, p + 4));
      c = round(c, word(bytes, p + 8));
      d = round(d, word(bytes, p + 12));
    }
    hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
  }
  hash = (hash + (end - start)) | 0;
  for (; p + 4 <= end; p += 4) hash = Math.imul(rotate(hash + Math.imul(word(bytes, p), PRIME_3), 17), PRIME_4);
  for (; p < end; p++) hash = Math.imul(rotate(hash + Math.imul(bytes[p]!, PRIME_5), 11), PRIME_1);
  hash = Math.imul(hash ^ (hash >>> 15), PRIME_2);
  hash = Math.imul(hash ^ (hash >>> 13), PRIME_3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function round(lane: number, value: number): number {
  return Math.imul(rotate(lane + Math.imul(value, PRIME_2), 13), PRIME_1);
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
