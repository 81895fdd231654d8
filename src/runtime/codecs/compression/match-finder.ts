const HASH_BITS = 14;
const SEARCH_BYTES = 128 * 1024;
const MIN_MATCH = 4;
/**
 * LZ4 requires the last five bytes to be literals and no match to start in the last twelve; following this costs the
 * other formats nothing.
 */
const LAST_LITERALS = 5;
const NO_MATCH_BYTES = 12;
/** After a number of bytes without a match the steps grow, so incompressible data costs little. */
const SKIP_TRIGGER = 6;

/**
 * Shared, because a search runs to its end before another can start. Positions are stored plus `base`, so the table
 * never needs clearing.
 */
const table = new Int32Array(1 << HASH_BITS);
const found = new Int32Array(3 * (Math.ceil(SEARCH_BYTES / MIN_MATCH) + 1));
let base = 1;

/**
 * Finds repeats in one input greedily, for the encoders of Snappy, LZ4 and zstd. `findNext` searches the next 128 KiB;
 * repeats may refer to data before them. One input must be searched completely before the next one.
 */
export class MatchFinder {
  /** How far the input was searched. Data after the last match up to here is literals. */
  position = 0;
  private readonly input: Uint8Array;
  private readonly maxOffset: number;
  private readonly base: number;

  constructor(input: Uint8Array, maxOffset: number) {
    if (base > 2 ** 30) {
      table.fill(0);
      base = 1;
    }
    this.input = input;
    this.maxOffset = maxOffset;
    this.base = base;
    base += input.length;
  }

  /** Searches up to `bytes` more bytes and returns the number of matches, which stay readable until the next call. */
  findNext(bytes = SEARCH_BYTES): number {
    const { input, maxOffset, base: first } = this;
    const end = Math.min(input.length, this.position + Math.min(bytes, SEARCH_BYTES));
    const lastStart = end - NO_MATCH_BYTES;
    const lastEnd = end - LAST_LITERALS;
    let count = 0;
    let anchor = this.position;
    let misses = 1 << SKIP_TRIGGER;
    for (let p = anchor; p <= lastStart; ) {
      const word = input[p]! | (input[p + 1]! << 8) | (input[p + 2]! << 16) | (input[p + 3]! << 24);
      const slot = Math.imul(word, 0x9e3779b1) >>> (32 - HASH_BITS);
      const candidate = table[slot]! - first;
      table[slot] = p + first;
      if (candidate < 0 || p - candidate > maxOffset || !startsWith(input, candidate, word)) {
        p += misses++ >> SKIP_TRIGGER;
        continue;
      }
      let length = MIN_MATCH;
      while (p + length < lastEnd && input[candidate + length] === input[p + length]) length++;
      found[count * 3] = p - anchor;
      found[count * 3 + 1] = p - candidate;
      found[count * 3 + 2] = length;
      count++;
      p += length;
      anchor = p;
      misses = 1 << SKIP_TRIGGER;
    }
    this.position = end;
    return count;
  }

  /** The number of literal bytes before match number `index`. */
  literals(index: number): number {
    return found[index * 3]!;
  }

  /** How many bytes back the match starts. */
  offset(index: number): number {
    return found[index * 3 + 1]!;
  }

  /** The length of the match in bytes. */
  matched(index: number): number {
    return found[index * 3 + 2]!;
  }
}

function startsWith(input: Uint8Array, at: number, word: number): boolean {
  return word === (input[at]! | (input[at + 1]! << 8) | (input[at + 2]! << 16) | (input[at + 3]! << 24));
}
