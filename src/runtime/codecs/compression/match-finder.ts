const HASH_BITS = 14;
const SEARCH_BYTES = 128 * 1024;
const MIN_MATCH = 4;
/** LZ4 wants the last five bytes as they are, and no match that begins in the last twelve; the others lose nothing by it. */
const LAST_LITERALS = 5;
const NO_MATCH_BYTES = 12;
/** After so many bytes in vain the steps grow, so that bytes without repeats cost little. */
const SKIP_TRIGGER = 6;

/** Shared: a search runs to its end before anyone else can begin one. A position is stored plus `base`, so that nothing has to be cleared. */
const table = new Int32Array(1 << HASH_BITS);
const found = new Int32Array(3 * (Math.ceil(SEARCH_BYTES / MIN_MATCH) + 1));
let base = 1;

/**
 * Finds repeats in one input, greedily: what the encoders of Snappy, LZ4 and zstd have in common. `findNext` searches the next
 * 128 KiB; repeats may lie before them. All of one input must be searched before the next one is.
 */
export class MatchFinder {
  /** How far the input was searched: what lies behind the last match, up to here, is literals. */
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

  /** Searches up to `bytes` more bytes; the number of matches, which can be asked for until the next call. */
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

  /** Bytes as they are before match number `index`. */
  literals(index: number): number {
    return found[index * 3]!;
  }

  /** How far back the match lies. */
  offset(index: number): number {
    return found[index * 3 + 1]!;
  }

  /** Bytes of the match. */
  matched(index: number): number {
    return found[index * 3 + 2]!;
  }
}

function startsWith(input: Uint8Array, at: number, word: number): boolean {
  return word === (input[at]! | (input[at + 1]! << 8) | (input[at + 2]! << 16) | (input[at + 3]! << 24));
}
