import { highBit, spreadSymbols } from "./zstd-tables.js";

/** A decoding table for finite state entropy: for each state its symbol and the way to the next state. */
export interface FseTable {
  readonly accuracyLog: number;
  readonly symbols: Uint8Array;
  readonly bits: Uint8Array;
  readonly nextStates: Uint16Array;
}

/** Builds the table of a distribution. */
export function fseTable(distribution: readonly number[], accuracyLog: number): FseTable {
  const size = 1 << accuracyLog;
  const symbols = spreadSymbols(distribution, accuracyLog);
  const next = distribution.map((count) => Math.abs(count));
  const bits = new Uint8Array(size);
  const nextStates = new Uint16Array(size);
  for (let state = 0; state < size; state++) {
    const count = next[symbols[state]!]!++;
    bits[state] = accuracyLog - highBit(count);
    nextStates[state] = (count << bits[state]!) - size;
  }
  return { accuracyLog, symbols, bits, nextStates };
}

/** A table in which every state has the same symbol. */
export function rleTable(symbol: number): FseTable {
  return { accuracyLog: 0, symbols: Uint8Array.of(symbol), bits: new Uint8Array(1), nextStates: new Uint16Array(1) };
}

/** Reads a table's description at `at`; it may use bytes up to `end`. */
export function readFseTable(
  bytes: Uint8Array,
  at: number,
  end: number,
  maxAccuracyLog: number,
  maxSymbols: number,
): { table: FseTable; next: number } {
  const bits = new ForwardBits(bytes, at, end);
  const accuracyLog = bits.take(4) + 5;
  if (accuracyLog > maxAccuracyLog) throw new RangeError("a table that is too exact");
  const distribution: number[] = [];
  for (let left = 1 << accuracyLog; left > 0; ) {
    const count = readCount(bits, left);
    left -= Math.abs(count);
    distribution.push(count);
    for (let zeros = count === 0 ? 3 : 0; zeros === 3 && distribution.length <= maxSymbols; ) {
      zeros = bits.take(2);
      for (let i = 0; i < zeros; i++) distribution.push(0);
    }
    if (left < 0 || distribution.length > maxSymbols) throw new RangeError("a table whose parts do not add up");
  }
  return { table: fseTable(distribution, accuracyLog), next: bits.nextByte() };
}

/** Reads a count of at most `left`. There are `left + 2` possible values, so the smallest ones take one bit less. */
function readCount(bits: ForwardBits, left: number): number {
  const width = highBit(left + 1) + 1;
  const shorter = (1 << width) - 2 - left;
  const low = bits.take(width - 1);
  if (low < shorter) return low - 1;
  const value = low | (bits.take(1) << (width - 1));
  return (value >= 1 << (width - 1) ? value - shorter : value) - 1;
}

/** Reads bits from the first byte on, lowest first. */
class ForwardBits {
  private readonly bytes: Uint8Array;
  private readonly start: number;
  private readonly end: number;
  private position = 0;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }

  take(count: number): number {
    let value = 0;
    for (let i = 0; i < count; i++, this.position++) {
      const at = this.start + (this.position >> 3);
      if (at >= this.end) throw new RangeError("a table that is cut off");
      value |= ((this.bytes[at]! >> (this.position & 7)) & 1) << i;
    }
    return value;
  }

  nextByte(): number {
    return this.start + ((this.position + 7) >> 3);
  }
}
