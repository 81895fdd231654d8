/**
 * A bit stream that is read from its end: the last byte's highest set bit only marks the start. Reading before the
 * first byte gives zeros; `left` is then negative.
 */
export class BackwardBits {
  /** The number of bits not read yet. */
  left = 0;
  private readonly bytes: Uint8Array;
  private readonly start: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    const last = end > start ? bytes[end - 1]! : 0;
    if (last === 0) throw new RangeError("a stream without its mark");
    this.bytes = bytes;
    this.start = start;
    this.left = (end - start) * 8 - 1 - Math.clz32(last) + 24;
  }

  /** Reads the next bits, at most 24. */
  take(count: number): number {
    this.left -= count;
    return this.at(this.left, count);
  }

  /** Returns the next bits without consuming them. */
  peek(count: number): number {
    return this.at(this.left - count, count);
  }

  private at(position: number, count: number): number {
    if (position < 0) {
      const there = count + position;
      return there <= 0 ? 0 : this.at(0, there) << -position;
    }
    const { bytes } = this;
    const p = this.start + (position >> 3);
    const word = bytes[p]! | (bytes[p + 1]! << 8) | (bytes[p + 2]! << 16) | (bytes[p + 3]! << 24);
    return (word >>> (position & 7)) & ((1 << count) - 1);
  }
}
