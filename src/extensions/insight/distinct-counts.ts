/**
 * HyperLogLog (Flajolet et al.) for the rows of a table: the number of distinct hashes in fixed memory. Each row has two
 * generations of registers. The older one is dropped every hour, so that a count covers the last one to two hours.
 */
export class DistinctCounts {
  readonly size: number;
  private readonly bits: number;
  private current: Uint8Array;
  private previous: Uint8Array;

  constructor(rows: number, bits: number) {
    this.bits = bits;
    this.size = 2 ** bits;
    this.current = new Uint8Array(rows * this.size);
    this.previous = new Uint8Array(rows * this.size);
  }

  add(row: number, low: number, high: number): void {
    const at = row * this.size + (low >>> (32 - this.bits));
    const rank = Math.clz32(high) + 1;
    if (rank > this.current[at]!) this.current[at] = rank;
  }

  clear(row: number): void {
    this.current.fill(0, row * this.size, (row + 1) * this.size);
    this.previous.fill(0, row * this.size, (row + 1) * this.size);
  }

  mergeInto(target: number, row: number): void {
    for (const registers of [this.current, this.previous])
      for (let i = 0; i < this.size; i++)
        registers[target * this.size + i] = Math.max(
          registers[target * this.size + i]!,
          registers[row * this.size + i]!,
        );
  }

  beginGeneration(): void {
    [this.current, this.previous] = [this.previous, this.current];
    this.current.fill(0);
  }

  /** The registers of both generations together. */
  registers(row: number): Uint8Array {
    const merged = this.current.slice(row * this.size, (row + 1) * this.size);
    for (let i = 0; i < this.size; i++) merged[i] = Math.max(merged[i]!, this.previous[row * this.size + i]!);
    return merged;
  }

  get byteLength(): number {
    return this.current.length * 2;
  }
}
