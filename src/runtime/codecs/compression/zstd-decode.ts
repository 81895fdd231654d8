import type { BoundedOutput } from "./bounded-output.js";
import { xxh64Low } from "./xxh64.js";
import { BackwardBits } from "./zstd-bits.js";
import { type FseTable, fseTable, readFseTable, rleTable } from "./zstd-fse.js";
import { type HuffmanTable, type Literals, readLiterals } from "./zstd-literals.js";
import { type CodeTable, LITERAL_LENGTHS, MATCH_LENGTHS, OFFSETS } from "./zstd-tables.js";

/**
 * Decodes untrusted Zstandard frames (RFC 8878), for Node.js versions without zstd. The output itself serves as the
 * window, so no window is allocated, whatever size a frame asks for. Throws a RangeError for damaged input.
 */

const MAGIC = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50;
const MAX_BLOCK_BYTES = 128 * 1024;

/** State that one block passes to the next. */
interface FrameState {
  /** Where the frame's output starts. */
  readonly start: number;
  huffman: HuffmanTable | undefined;
  literalLengths: FseTable | undefined;
  offsets: FseTable | undefined;
  matchLengths: FseTable | undefined;
  readonly repeats: [number, number, number];
}

/** Decodes consecutive frames. Yields between blocks. */
export function* decodeZstd(input: Buffer, output: BoundedOutput): Generator<void> {
  for (let p = 0; p < input.length; ) {
    const magic = integer(input, p, 4);
    if (magic === MAGIC) p = yield* decodeFrame(input, p + 4, output);
    else if (magic - (magic % 16) === SKIPPABLE) p += 8 + integer(input, p + 4, 4);
    else throw new RangeError("no frame");
    if (p > input.length) throw new RangeError("it is cut off");
  }
}

function* decodeFrame(input: Buffer, from: number, output: BoundedOutput): Generator<void, number> {
  const head = readFrameHead(input, from);
  const state: FrameState = {
    start: output.length,
    huffman: undefined,
    literalLengths: undefined,
    offsets: undefined,
    matchLengths: undefined,
    repeats: [1, 4, 8],
  };
  let p = head.next;
  for (let isLast = false; !isLast; ) {
    const block = integer(input, p, 3);
    isLast = (block & 1) === 1;
    p = decodeBlock(input, p + 3, (block >> 1) & 3, block >> 3, state, output);
    yield;
  }
  if (head.size !== undefined && head.size !== output.length - state.start)
    throw new RangeError("not the size it claims");
  if (!head.hasChecksum) return p;
  if (integer(input, p, 4) !== xxh64Low(output.bytes, state.start, output.length))
    throw new RangeError("a wrong checksum");
  return p + 4;
}

function readFrameHead(input: Buffer, from: number) {
  const flags = integer(input, from, 1);
  const isSingle = (flags & 32) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 3]!;
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6]!;
  if (flags & 8) throw new RangeError("a frame of a later version");
  let p = from + (isSingle ? 1 : 2);
  if (integer(input, p, dictionaryBytes) !== 0) throw new RangeError("a dictionary is needed that is not here");
  p += dictionaryBytes;
  const size = sizeBytes === 0 ? undefined : integer(input, p, sizeBytes) + (sizeBytes === 2 ? 256 : 0);
  return { next: p + sizeBytes, size, hasChecksum: (flags & 4) !== 0 };
}

function decodeBlock(input: Buffer, p: number, type: number, size: number, state: FrameState, output: BoundedOutput) {
  if (size > MAX_BLOCK_BYTES || type === 3) throw new RangeError("a block of no known kind or size");
  const end = p + (type === 1 ? 1 : size);
  if (end > input.length) throw new RangeError("a block that is cut off");
  if (type === 0) output.append(input, p, end);
  else if (type === 1) output.fill(input[p]!, size);
  else decodeCompressedBlock(input, p, end, state, output);
  return end;
}

function decodeCompressedBlock(input: Buffer, p: number, end: number, state: FrameState, output: BoundedOutput): void {
  if (p >= end) throw new RangeError("an empty block");
  const literals = readLiterals(input, p, end, state.huffman);
  state.huffman = literals.table;
  const limit = output.length + MAX_BLOCK_BYTES;
  const { count, next } = readSequenceCount(input, literals.next, end);
  const used = count === 0 ? 0 : decodeSequences(input, next, end, count, literals, state, output, limit);
  if (count === 0 && next !== end) throw new RangeError("a block with bytes to spare");
  if (output.length + literals.end - literals.start - used > limit) throw new RangeError("a block that is too long");
  output.append(literals.bytes, literals.start + used, literals.end);
}

function readSequenceCount(input: Buffer, p: number, end: number): { count: number; next: number } {
  const first = integer(input, p, 1, end);
  if (first < 128) return { count: first, next: p + 1 };
  if (first < 255) return { count: ((first - 128) << 8) + integer(input, p + 1, 1, end), next: p + 2 };
  return { count: integer(input, p + 1, 2, end) + 0x7f00, next: p + 3 };
}

/** Returns the number of literals that the sequences have used. */
function decodeSequences(
  input: Buffer,
  at: number,
  end: number,
  count: number,
  literals: Literals,
  state: FrameState,
  output: BoundedOutput,
  limit: number,
): number {
  const bits = new BackwardBits(input, readTables(input, at, end, state), end);
  const lengthTable = state.literalLengths!;
  const offsetTable = state.offsets!;
  const matchTable = state.matchLengths!;
  let lengthState = bits.take(lengthTable.accuracyLog);
  let offsetState = bits.take(offsetTable.accuracyLog);
  let matchState = bits.take(matchTable.accuracyLog);
  let literal = literals.start;
  for (let i = count; i > 0; i--) {
    const offsetValue = takeOffset(bits, offsetTable.symbols[offsetState]!);
    const matched = takeValue(bits, MATCH_LENGTHS, matchTable.symbols[matchState]!);
    const length = takeValue(bits, LITERAL_LENGTHS, lengthTable.symbols[lengthState]!);
    if (i > 1) {
      lengthState = lengthTable.nextStates[lengthState]! + bits.take(lengthTable.bits[lengthState]!);
      matchState = matchTable.nextStates[matchState]! + bits.take(matchTable.bits[matchState]!);
      offsetState = offsetTable.nextStates[offsetState]! + bits.take(offsetTable.bits[offsetState]!);
    }
    const fits = bits.left >= 0 && literal + length <= literals.end && output.length + length + matched <= limit;
    if (!fits) throw new RangeError("a sequence that is cut off");
    output.append(literals.bytes, literal, literal + length);
    literal += length;
    output.repeat(nextOffset(offsetValue, length, state.repeats), matched, state.start);
  }
  if (bits.left !== 0) throw new RangeError("sequences with bits to spare");
  return literal - literals.start;
}

function readTables(input: Buffer, at: number, end: number, state: FrameState): number {
  const modes = integer(input, at, 1, end);
  if (modes & 3) throw new RangeError("sequences of a later version");
  let p = at + 1;
  const read = (codes: CodeTable, mode: number, before: FseTable | undefined): FseTable => {
    if (mode === 0) return predefined(codes);
    if (mode === 3 && before !== undefined) return before;
    if (mode === 1) return rleTable(checkedSymbol(codes, integer(input, p++, 1, end)));
    if (mode === 3) throw new RangeError("a table that never came");
    const { table, next } = readFseTable(input, p, end, codes.maxAccuracyLog, codes.baselines.length);
    p = next;
    return table;
  };
  state.literalLengths = read(LITERAL_LENGTHS, modes >> 6, state.literalLengths);
  state.offsets = read(OFFSETS, (modes >> 4) & 3, state.offsets);
  state.matchLengths = read(MATCH_LENGTHS, (modes >> 2) & 3, state.matchLengths);
  return p;
}

const predefinedTables = new Map<CodeTable, FseTable>();

function predefined(codes: CodeTable): FseTable {
  let table = predefinedTables.get(codes);
  if (table === undefined) {
    table = fseTable(codes.distribution, codes.accuracyLog);
    predefinedTables.set(codes, table);
  }
  return table;
}

function checkedSymbol(codes: CodeTable, symbol: number): number {
  if (symbol >= codes.baselines.length) throw new RangeError("a code of no known meaning");
  return symbol;
}

function takeValue(bits: BackwardBits, { baselines, extraBits }: CodeTable, code: number): number {
  return baselines[code]! + bits.take(extraBits[code]!);
}

function takeOffset(bits: BackwardBits, code: number): number {
  if (code <= 24) return (1 << code) + bits.take(code);
  return (1 << code) + bits.take(code - 24) * 2 ** 24 + bits.take(24);
}

/** Values 1 to 3 refer to recently used offsets; which ones depends on whether literals come before. */
function nextOffset(value: number, literals: number, repeats: [number, number, number]): number {
  const first = repeats[0];
  const second = repeats[1];
  if (value > 3) {
    repeats[2] = second;
    repeats[1] = first;
    repeats[0] = value - 3;
    return value - 3;
  }
  const index = literals === 0 ? value : value - 1;
  if (index === 0) return first;
  const offset = index === 1 ? second : index === 2 ? repeats[2] : first - 1;
  if (index > 1) repeats[2] = second;
  repeats[1] = first;
  repeats[0] = offset;
  return offset;
}

function integer(input: Buffer, at: number, bytes: number, end = input.length): number {
  if (at + bytes > end) throw new RangeError("it is cut off");
  let value = 0;
  for (let i = bytes - 1; i >= 0; i--) value = value * 256 + input[at + i]!;
  return value;
}
