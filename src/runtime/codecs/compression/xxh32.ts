const PRIME_1 = 0x9e3779b1;
const PRIME_2 = 0x85ebca77;
const PRIME_3 = 0xc2b2ae3d;
const PRIME_4 = 0x27d4eb2f;
const PRIME_5 = 0x165667b1;
const NOTHING = new Uint8Array(0);

/** XXH32 of `bytes[start, end)` with seed 0: the checksum of LZ4 frames. */
export function xxh32(bytes: Uint8Array, start: number, end: number): number {
  const hash = new Xxh32();
  hash.add(bytes, start, end);
  return hash.value;
}

/** The same for bytes in parts. The length of each part but the last must be a multiple of 16. */
export class Xxh32 {
  private a = (PRIME_1 + PRIME_2) | 0;
  private b = PRIME_2 | 0;
  private c = 0;
  private d = -PRIME_1 | 0;
  private length = 0;
  private tail: Uint8Array = NOTHING;

  add(bytes: Uint8Array, start: number, end: number): void {
    let { a, b, c, d } = this;
    let p = start;
    for (; p + 16 <= end; p += 16) {
      a = round(a, word(bytes, p));
      b = round(b, word(bytes, p + 4));
      c = round(c, word(bytes, p + 8));
      d = round(d, word(bytes, p + 12));
    }
    Object.assign(this, { a, b, c, d });
    this.length += end - start;
    this.tail = bytes.subarray(p, end);
  }

  get value(): number {
    const { a, b, c, d, length, tail } = this;
    let hash = length < 16 ? PRIME_5 : rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
    hash = (hash + length) | 0;
    let p = 0;
    for (; p + 4 <= tail.length; p += 4)
      hash = Math.imul(rotate(hash + Math.imul(word(tail, p), PRIME_3), 17), PRIME_4);
    for (; p < tail.length; p++) hash = Math.imul(rotate(hash + Math.imul(tail[p]!, PRIME_5), 11), PRIME_1);
    hash = Math.imul(hash ^ (hash >>> 15), PRIME_2);
    hash = Math.imul(hash ^ (hash >>> 13), PRIME_3);
    return (hash ^ (hash >>> 16)) >>> 0;
  }
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
