/** Longer keys are not cached, because they would take too much memory. */
const MAX_KEY_LENGTH = 256;

/**
 * Caches facts about keys by their bytes, so no strings are created for known keys. Each slot holds two keys, and a new
 * key evicts the older one, so the cache never grows.
 */
export class KeyCache<Known> {
  private readonly make: (b: Uint8Array, start: number, end: number) => Known;
  private readonly mask: number;
  private readonly keys: (Uint8Array | undefined)[];
  private readonly known: Known[];

  /** `make` computes the facts about a key. The number of slots must be a power of two. */
  constructor(make: (b: Uint8Array, start: number, end: number) => Known, slots = 1024) {
    this.make = make;
    this.mask = slots - 1;
    this.keys = new Array(slots * 2).fill(undefined);
    this.known = new Array(slots * 2);
  }

  /** Returns the facts about the key [start, end) of `b`. */
  get(b: Uint8Array, start: number, end: number): Known {
    const at = (hashOf(b, start, end) & this.mask) * 2;
    if (isSame(this.keys[at], b, start, end)) return this.known[at]!;
    if (isSame(this.keys[at + 1], b, start, end)) return this.known[at + 1]!;
    const known = this.make(b, start, end);
    if (end - start > MAX_KEY_LENGTH) return known;
    this.keys[at + 1] = this.keys[at];
    this.known[at + 1] = this.known[at]!;
    this.keys[at] = Uint8Array.from(b.subarray(start, end));
    this.known[at] = known;
    return known;
  }
}

/** The length and a few bytes distinguish the keys of a program well enough. */
function hashOf(b: Uint8Array, start: number, end: number): number {
  const size = end - start;
  if (size === 0) return 0;
  const middle = b[start + (size >> 1)]!;
  return size * 31 + b[start]! * 7 + middle * 131 + b[end - 1]! * 517 + b[end - 1 - (size >> 2)]! * 61;
}

function isSame(key: Uint8Array | undefined, b: Uint8Array, start: number, end: number): boolean {
  if (key === undefined || key.length !== end - start) return false;
  for (let i = key.length - 1; i >= 0; i--) if (key[i] !== b[start + i]) return false;
  return true;
}
