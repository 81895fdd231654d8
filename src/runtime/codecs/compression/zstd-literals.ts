import { BackwardBits } from "./zstd-bits.js";
import { readFseTable } from "./zstd-fse.js";
import { highBit } from "./zstd-tables.js";

/** A table of Huffman codes: for the next `maxBits` bits, the symbol and the number of bits it takes. */
export interface HuffmanTable {
  readonly maxBits: number;
  readonly symbols: Uint8Array;
  readonly bits: Uint8Array;
}

/** The literals of a block: `bytes[start, end)`. */
export interface Literals {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** Where the block continues after the literals. */
  readonly next: number;
  /** The table, which later blocks may use again. */
  readonly table: HuffmanTable | undefined;
}

const MAX_BLOCK_BYTES = 128 * 1024;
const MAX_CODE_BITS = 11;
const MAX_WEIGHT_ACCURACY_LOG = 6;
const scratch = Buffer.allocUnsafeSlow(MAX_BLOCK_BYTES);

/** Reads the literals of a block. The result is valid until the next block is read. */
export function readLiterals(input: Uint8Array, at: number, end: number, before: HuffmanTable | undefined): Literals {
  const type = input[at]! & 3;
  const format = (input[at]! >> 2) & 3;
  if (type > 1) return readCompressed(input, at, end, type === 2 ? undefined : before, format);
  const headBytes = format === 1 ? 2 : format === 3 ? 3 : 1;
  const start = at + headBytes;
  const size = integer(input, at, headBytes, end) >> (headBytes === 1 ? 3 : 4);
  const next = start + (type === 0 ? size : 1);
  if (next > end || size > MAX_BLOCK_BYTES) throw new RangeError("literals that are not there");
  if (type === 0) return { bytes: input, start, end: next, next, table: before };
  scratch.fill(input[start]!, 0, size);
  return { bytes: scratch, start: 0, end: size, next, table: before };
}

/** By format: the number of bits of both sizes together, and the bytes of the header. */
const SIZE_BITS = [10, 10, 14, 18];
const HEAD_BYTES = [3, 3, 4, 5];

function readCompressed(
  input: Uint8Array,
  at: number,
  end: number,
  before: HuffmanTable | undefined,
  format: number,
): Literals {
  const width = SIZE_BITS[format]!;
  const head = Math.floor(integer(input, at, HEAD_BYTES[format]!, end) / 16);
  const size = head % 2 ** width;
  let start = at + HEAD_BYTES[format]!;
  const next = start + Math.floor(head / 2 ** width);
  if (next > end || size > MAX_BLOCK_BYTES) throw new RangeError("literals that are not there");
  let table = before;
  const isTreeless = (input[at]! & 3) === 3;
  if (isTreeless && table === undefined) throw new RangeError("a Huffman table that never came");
  if (!isTreeless) ({ table, next: start } = readHuffmanTable(input, start, next));
  if (format === 0) decodeStream(input, start, next, table!, 0, size);
  else decodeFourStreams(input, start, next, table!, size);
  return { bytes: scratch, start: 0, end: size, next, table };
}

function decodeFourStreams(input: Uint8Array, at: number, end: number, table: HuffmanTable, size: number): void {
  const part = (size + 3) >> 2;
  let start = at + 6;
  for (let i = 0; i < 4; i++) {
    const next = i < 3 ? start + integer(input, at + 2 * i, 2, end) : end;
    if (next > end || part * 3 > size) throw new RangeError("a stream of literals that is cut off");
    decodeStream(input, start, next, table, part * i, i < 3 ? part * (i + 1) : size);
    start = next;
  }
}

/** The hot loop for most requests: it reads bits without function calls. */
function decodeStream(
  input: Uint8Array,
  start: number,
  end: number,
  table: HuffmanTable,
  from: number,
  to: number,
): void {
  const { maxBits, symbols, bits } = table;
  const mask = (1 << maxBits) - 1;
  const output = scratch;
  let left = new BackwardBits(input, start, end).left;
  for (let i = from; i < to; i++) {
    const low = left - maxBits;
    const p = start + (low >> 3);
    const code =
      low >= 0
        ? ((input[p]! | (input[p + 1]! << 8) | (input[p + 2]! << 16)) >> (low & 7)) & mask
        : ((input[start]! | (input[start + 1]! << 8)) << -low) & mask & ~((1 << -low) - 1);
    output[i] = symbols[code]!;
    left -= bits[code]!;
    if (left < 0) throw new RangeError("a stream of literals that is too short");
  }
  if (left !== 0) throw new RangeError("a stream of literals that is too long");
}

function readHuffmanTable(input: Uint8Array, at: number, end: number): { table: HuffmanTable; next: number } {
  if (at >= end) throw new RangeError("a Huffman table that is cut off");
  const head = input[at]!;
  const bytes = head < 128 ? head : (head - 126) >> 1;
  const next = at + 1 + bytes;
  if (next > end) throw new RangeError("a Huffman table that is cut off");
  const weights = head < 128 ? readFseWeights(input, at + 1, next) : readPlainWeights(input, at + 1, head - 127);
  return { table: huffmanTable(weights), next };
}

function readPlainWeights(input: Uint8Array, at: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => (input[at + (i >> 1)]! >> (i & 1 ? 0 : 4)) & 15);
}

/** Two states alternate until the bits are used up. */
function readFseWeights(input: Uint8Array, at: number, end: number): number[] {
  const { table, next } = readFseTable(input, at, end, MAX_WEIGHT_ACCURACY_LOG, MAX_CODE_BITS + 2);
  const bits = new BackwardBits(input, next, end);
  const states = [bits.take(table.accuracyLog), bits.take(table.accuracyLog)];
  const weights: number[] = [];
  for (let turn = 0; weights.length < 255; turn ^= 1) {
    const state = states[turn]!;
    weights.push(table.symbols[state]!);
    states[turn] = table.nextStates[state]! + bits.take(table.bits[state]!);
    if (bits.left >= 0) continue;
    weights.push(table.symbols[states[turn ^ 1]!]!);
    return weights;
  }
  throw new RangeError("a Huffman table of too many symbols");
}

/** The last weight is not stored: it is the remainder. */
function huffmanTable(weights: number[]): HuffmanTable {
  const sum = weights.reduce((total, weight) => total + (weight > 0 ? 2 ** (weight - 1) : 0), 0);
  const maxBits = highBit(sum) + 1;
  const missing = 2 ** maxBits - sum;
  const isValid = sum > 0 && maxBits <= MAX_CODE_BITS && (missing & (missing - 1)) === 0 && weights.length < 256;
  if (!isValid) throw new RangeError("a Huffman table whose parts do not add up");
  const all = [...weights, highBit(missing) + 1];
  const symbols = new Uint8Array(1 << maxBits);
  const bits = new Uint8Array(1 << maxBits);
  let at = 0;
  for (let weight = 1; weight <= maxBits; weight++) {
    for (const [symbol, own] of all.entries()) {
      if (own !== weight) continue;
      symbols.fill(symbol, at, at + 2 ** (weight - 1));
      bits.fill(maxBits + 1 - weight, at, at + 2 ** (weight - 1));
      at += 2 ** (weight - 1);
    }
  }
  return { maxBits, symbols, bits };
}

function integer(input: Uint8Array, at: number, bytes: number, end: number): number {
  if (at + bytes > end) throw new RangeError("a block that is cut off");
  let value = 0;
  for (let i = bytes - 1; i >= 0; i--) value = value * 256 + input[at + i]!;
  return value;
}
