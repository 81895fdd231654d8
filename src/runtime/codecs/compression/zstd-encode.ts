import { appendBytes } from "./bounded-output.js";
import { MatchFinder } from "./match-finder.js";
import { type CodeTable, highBit, LITERAL_LENGTHS, MATCH_LENGTHS, OFFSETS, spreadSymbols } from "./zstd-tables.js";

/**
 * A small Zstandard encoder for Node.js versions without one: it finds repeats and writes them with the predefined
 * tables; literals stay uncompressed. Its frames are larger than those of zstd itself and readable by any decoder.
 */

const MAX_BLOCK_BYTES = 128 * 1024;
const MAX_OFFSET = 8 * 1024 * 1024;
/** Magic number, single-segment flag, and a four-byte size. */
const HEAD = Buffer.from("28b52ffda0", "hex");

/** Compresses into one frame. */
export function encodeZstd(input: Uint8Array): Buffer {
  const blocks = Math.max(1, Math.ceil(input.length / MAX_BLOCK_BYTES));
  const output = Buffer.allocUnsafe(HEAD.length + 4 + input.length + blocks * BLOCK_SLACK);
  HEAD.copy(output);
  let at = output.writeUInt32LE(input.length, HEAD.length);
  const finder = new MatchFinder(input, MAX_OFFSET);
  for (let block = 1; block <= blocks; block++) at = writeBlock(input, finder, block === blocks, output, at);
  return output.subarray(0, at);
}

/**
 * A block that turns out larger than its input is replaced by the input itself, so it never exceeds it by more than
 * this.
 */
const BLOCK_SLACK = 32;

function writeBlock(input: Uint8Array, finder: MatchFinder, isLast: boolean, output: Buffer, from: number): number {
  const start = finder.position;
  const count = finder.findNext(MAX_BLOCK_BYTES);
  const size = finder.position - start;
  const packed = count === 0 ? undefined : packBlock(input, start, finder, count, size);
  const isPacked = packed !== undefined && packed.length < size;
  output.writeUIntLE(((isPacked ? packed.length : size) << 3) | (isPacked ? 4 : 0) | (isLast ? 1 : 0), from, 3);
  if (isPacked) output.set(packed, from + 3);
  else output.set(input.subarray(start, start + size), from + 3);
  return from + 3 + (isPacked ? packed.length : size);
}

/** A sequence takes at most 90 bits and stands for at least four bytes. */
const scratch = Buffer.allocUnsafeSlow(MAX_BLOCK_BYTES * 4);

function packBlock(input: Uint8Array, start: number, finder: MatchFinder, count: number, size: number): Buffer {
  let at = 3;
  let p = start;
  for (let i = 0; i < count; i++) {
    appendBytes(scratch, at, input, p, p + finder.literals(i));
    at += finder.literals(i);
    p += finder.literals(i) + finder.matched(i);
  }
  appendBytes(scratch, at, input, p, start + size);
  at += start + size - p;
  // Raw literals with a 20-bit length.
  scratch.writeUIntLE(((at - 3) << 4) | 12, 0, 3);
  at = writeCount(count, at);
  scratch[at++] = 0; // all three tables are the predefined ones
  return scratch.subarray(0, writeSequences(finder, count, at));
}

function writeCount(count: number, at: number): number {
  if (count < 128) scratch[at] = count;
  else if (count < 0x7f00) scratch.writeUInt16BE(count + 0x8000, at);
  else {
    scratch[at] = 255;
    scratch.writeUInt16LE(count - 0x7f00, at + 1);
  }
  return at + (count < 128 ? 1 : count < 0x7f00 ? 2 : 3);
}

/** Written in reverse order, because decoders read from the end. */
function writeSequences(finder: MatchFinder, count: number, from: number): number {
  const bits = new BitWriter(scratch, from);
  const lengths = new FseEncoder(LITERAL_LENGTHS, bits);
  const offsets = new FseEncoder(OFFSETS, bits);
  const matches = new FseEncoder(MATCH_LENGTHS, bits);
  for (let i = count - 1; i >= 0; i--) {
    const length = finder.literals(i);
    const matched = finder.matched(i);
    const offset = finder.offset(i) + 3;
    const lengthCode = lengthCodes[length] ?? highBit(length) + 19;
    const matchCode = matchCodes[matched - 3] ?? highBit(matched - 3) + 36;
    const offsetCode = highBit(offset);
    offsets.encode(offsetCode);
    matches.encode(matchCode);
    lengths.encode(lengthCode);
    bits.add(length - LITERAL_LENGTHS.baselines[lengthCode]!, LITERAL_LENGTHS.extraBits[lengthCode]!);
    bits.add(matched - MATCH_LENGTHS.baselines[matchCode]!, MATCH_LENGTHS.extraBits[matchCode]!);
    bits.add(offset - (1 << offsetCode), offsetCode);
  }
  matches.finish();
  offsets.finish();
  lengths.finish();
  return bits.end();
}

/** Codes of short lengths, which cannot be derived from their highest bit. */
const lengthCodes = codesBelow(LITERAL_LENGTHS, 64, 0);
const matchCodes = codesBelow(MATCH_LENGTHS, 128, 3);

function codesBelow({ baselines }: CodeTable, end: number, first: number): readonly number[] {
  return Array.from({ length: end }, (_, value) => baselines.findLastIndex((baseline) => baseline <= value + first));
}

/** Writes bits, lowest first. */
class BitWriter {
  private readonly bytes: Buffer;
  private at: number;
  private word = 0;
  private count = 0;

  constructor(bytes: Buffer, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  /** At most 24 bits. */
  add(value: number, count: number): void {
    this.word |= value << this.count;
    this.count += count;
    for (; this.count >= 8; this.count -= 8) {
      this.bytes[this.at++] = this.word & 255;
      this.word >>>= 8;
    }
  }

  /** Writes the end marker and returns the position after it. */
  end(): number {
    this.add(1, 1);
    if (this.count > 0) this.bytes[this.at++] = this.word & 255;
    return this.at;
  }
}

/** By symbol: how many bits to write for the state, and where the next state is. */
interface FseEncoding {
  readonly accuracyLog: number;
  readonly states: Uint16Array;
  readonly bitDeltas: Int32Array;
  readonly stateDeltas: Int32Array;
}

const encodings = new Map<CodeTable, FseEncoding>();

/** One of the three states for writing a block's sequences. */
class FseEncoder {
  private readonly encoding: FseEncoding;
  private readonly bits: BitWriter;
  private state = -1;

  constructor(codes: CodeTable, bits: BitWriter) {
    let encoding = encodings.get(codes);
    if (encoding === undefined) {
      encoding = encodingOf(codes);
      encodings.set(codes, encoding);
    }
    this.encoding = encoding;
    this.bits = bits;
  }

  encode(symbol: number): void {
    const { states, bitDeltas, stateDeltas } = this.encoding;
    const delta = bitDeltas[symbol]!;
    if (this.state === -1) {
      // The first state can be chosen freely: this one takes few bits.
      const count = (delta + (1 << 15)) >> 16;
      this.state = states[(((count << 16) - delta) >> count) + stateDeltas[symbol]!]!;
      return;
    }
    const count = (this.state + delta) >> 16;
    this.bits.add(this.state & ((1 << count) - 1), count);
    this.state = states[(this.state >> count) + stateDeltas[symbol]!]!;
  }

  finish(): void {
    const { accuracyLog } = this.encoding;
    this.bits.add(this.state & ((1 << accuracyLog) - 1), accuracyLog);
  }
}

function encodingOf({ distribution, accuracyLog }: CodeTable): FseEncoding {
  const size = 1 << accuracyLog;
  const symbols = spreadSymbols(distribution, accuracyLog);
  const states = new Uint16Array(size);
  const bitDeltas = new Int32Array(distribution.length);
  const stateDeltas = new Int32Array(distribution.length);
  const firsts: number[] = [];
  let total = 0;
  for (const [symbol, parts] of distribution.entries()) {
    const count = Math.abs(parts);
    const bits = accuracyLog - highBit(Math.max(1, count - 1));
    bitDeltas[symbol] = count === 1 ? (accuracyLog << 16) - size : (bits << 16) - (count << bits);
    stateDeltas[symbol] = total - count;
    firsts.push(total);
    total += count;
  }
  for (let position = 0; position < size; position++) states[firsts[symbols[position]!]!++] = size + position;
  return { accuracyLog, states, bitDeltas, stateDeltas };
}
