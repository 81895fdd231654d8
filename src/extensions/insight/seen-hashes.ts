/**
 * Remembers the hashes of recent records in fixed memory. A hash that comes to the place of another replaces it, so a
 * repetition may go unnoticed, but what counts as one is one.
 */
export class SeenHashes {
  private readonly lows: Uint32Array;
  private readonly highs: Uint32Array;
  private readonly mask: number;

  constructor(entries: number) {
    const size = 2 ** Math.floor(Math.log2(entries));
    this.lows = new Uint32Array(size);
    this.highs = new Uint32Array(size);
    this.mask = size - 1;
  }

  /** Whether this hash was seen before. It is from now on. */
  see(low: number, high: number): boolean {
    const at = low & this.mask;
    if (this.lows[at] === low && this.highs[at] === high) return true;
    this.lows[at] = low;
    this.highs[at] = high;
    return false;
  }

  get byteLength(): number {
    return this.lows.byteLength * 2;
  }
}
