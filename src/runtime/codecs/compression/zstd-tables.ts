/**
 * Constants of zstd's format for sequences: codes with their baselines and extra bits, and the predefined
 * distributions.
 */

/** Codes of one kind of number: a value is its code's baseline plus the value of the extra bits. */
export interface CodeTable {
  readonly baselines: Int32Array;
  readonly extraBits: Uint8Array;
  /** The default frequency of each code, in units of `1 << accuracyLog`; -1 means less than one. */
  readonly distribution: readonly number[];
  readonly accuracyLog: number;
  /** The format does not allow a higher accuracy. */
  readonly maxAccuracyLog: number;
}

export const LITERAL_LENGTHS = codeTable(
  0,
  [...zeros(16), 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
  [4, 3, ...times(11, 2), 1, 1, 1, ...times(9, 2), 3, 2, ...times(5, 1), ...times(4, -1)],
  6,
  9,
);

export const MATCH_LENGTHS = codeTable(
  3,
  [...zeros(32), 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
  [1, 4, 3, ...times(6, 2), ...times(37, 1), ...times(7, -1)],
  6,
  9,
);

/** The code of an offset is the number of its extra bits. */
export const OFFSETS: CodeTable = {
  ...codeTable(0, [], [...times(6, 1), 2, 2, 2, ...times(15, 1), ...times(5, -1)], 5, 8),
  baselines: Int32Array.from({ length: 31 }, (_, code) => 1 << code),
  extraBits: Uint8Array.from({ length: 31 }, (_, code) => code),
};

function codeTable(
  first: number,
  extraBits: readonly number[],
  distribution: readonly number[],
  accuracyLog: number,
  maxAccuracyLog: number,
): CodeTable {
  const baselines = new Int32Array(extraBits.length);
  let baseline = first;
  for (const [code, bits] of extraBits.entries()) {
    baselines[code] = baseline;
    baseline += 2 ** bits;
  }
  return { baselines, extraBits: Uint8Array.from(extraBits), distribution, accuracyLog, maxAccuracyLog };
}

function zeros(count: number): number[] {
  return times(count, 0);
}

function times(count: number, value: number): number[] {
  return new Array<number>(count).fill(value);
}

/** Lays out the codes of a distribution in the table of states; encoder and decoder must agree on the layout. */
export function spreadSymbols(distribution: readonly number[], accuracyLog: number): Uint8Array {
  const size = 1 << accuracyLog;
  const symbols = new Uint8Array(size);
  let high = size;
  for (const [symbol, count] of distribution.entries()) if (count === -1) symbols[--high] = symbol;
  const step = (size >> 1) + (size >> 3) + 3;
  let position = 0;
  for (const [symbol, count] of distribution.entries()) {
    for (let i = 0; i < count; i++) {
      symbols[position] = symbol;
      do position = (position + step) & (size - 1);
      while (position >= high);
    }
  }
  return symbols;
}

/** The position of the highest bit; -1 for 0. */
export function highBit(value: number): number {
  return 31 - Math.clz32(value);
}
