import { appendBytes, type BoundedOutput } from "./bounded-output.js";
import { MatchFinder } from "./match-finder.js";
import { Xxh32, xxh32 } from "./xxh32.js";

/**
 * LZ4's frame format: a header, then blocks, with optional checksums. The decoder throws a RangeError for damaged
 * input.
 */

const MAGIC = 0x184d2204;
const SKIPPABLE = 0x184d2a50;
const UNCOMPRESSED_FLAG = 0x80000000;
const MAX_OFFSET = 65_535;
/** Size id 5 in the format: blocks of at most 256 KiB. */
const BLOCK_SIZE_ID = 5;
const MIN_MATCH = 4;

/** Decodes consecutive frames. Yields after each block and frame, which may be without content. */
export function* decodeLz4(input: Buffer, output: BoundedOutput): Generator<void> {
  for (let p = 0; p < input.length; ) {
    const magic = word(input, p);
    if (magic === MAGIC) p = yield* decodeFrame(input, p, output);
    else if ((magic & ~15) >>> 0 === SKIPPABLE) p += 8 + word(input, p + 4);
    else throw new RangeError("no frame");
    if (p > input.length) throw new RangeError("it is cut off");
    yield;
  }
}

function* decodeFrame(input: Buffer, from: number, output: BoundedOutput): Generator<void, number> {
  const { next, flags, maxBlock } = readHead(input, from);
  const start = output.length;
  const hasChecksum = (flags & 4) !== 0;
  const checksum = new Xxh32();
  let hashed = start;
  let p = next;
  for (let size = word(input, p); size !== 0; size = word(input, p)) {
    p = decodeBlock(input, p, flags, maxBlock, start, output);
    const whole = output.length - ((output.length - start) & 15);
    if (hasChecksum) checksum.add(output.bytes, hashed, whole);
    hashed = whole;
    yield;
  }
  p += 4;
  if (!hasChecksum) return p;
  checksum.add(output.bytes, hashed, output.length);
  if (word(input, p) !== checksum.value) throw new RangeError("a wrong checksum");
  return p + 4;
}

function readHead(input: Buffer, from: number) {
  const flags = input[from + 4] ?? 0;
  const sizeId = ((input[from + 5] ?? 0) >> 4) & 7;
  if (flags >> 6 !== 1 || sizeId < 4) throw new RangeError("a head of another version");
  if (flags & 1) throw new RangeError("a dictionary is needed that is not here");
  const end = from + 6 + (flags & 8 ? 8 : 0);
  if (end >= input.length) throw new RangeError("it is cut off");
  if (((xxh32(input, from + 4, end) >>> 8) & 255) !== input[end]) throw new RangeError("a wrong checksum of the head");
  return { next: end + 1, flags, maxBlock: 1 << (2 * sizeId + 8) };
}

function decodeBlock(input: Buffer, at: number, flags: number, maxBlock: number, frame: number, output: BoundedOutput) {
  const size = word(input, at);
  const bytes = size & ~UNCOMPRESSED_FLAG;
  const begin = at + 4;
  const end = begin + bytes;
  if (bytes > maxBlock || end > input.length) throw new RangeError("a block that is cut off or too long");
  if (flags & 16 && word(input, end) !== xxh32(input, begin, end)) throw new RangeError("a wrong checksum of a block");
  // Dependent blocks may copy from the output of earlier blocks of their frame.
  const floor = flags & 32 ? output.length : frame;
  if (size & UNCOMPRESSED_FLAG) output.append(input, begin, end);
  else decodeSequences(input, begin, end, maxBlock, floor, output);
  return end + (flags & 16 ? 4 : 0);
}

function decodeSequences(
  input: Buffer,
  begin: number,
  end: number,
  maxBlock: number,
  floor: number,
  output: BoundedOutput,
): void {
  const limit = output.length + maxBlock;
  for (let p = begin; ; ) {
    if (p >= end) throw new RangeError("a block without its end");
    const token = input[p++]!;
    let literals = token >> 4;
    if (literals === 15) {
      let more = 255;
      while (more === 255 && p < end) literals += more = input[p++]!;
    }
    if (p + literals > end || output.length + literals > limit) throw new RangeError("literals that are not there");
    output.append(input, p, p + literals);
    p += literals;
    if (p === end) return;
    if (p + 2 > end) throw new RangeError("a block that is cut off");
    const offset = input[p]! | (input[p + 1]! << 8);
    p += 2;
    let length = (token & 15) + MIN_MATCH;
    if ((token & 15) === 15) {
      let more = 255;
      while (more === 255 && p < end) length += more = input[p++]!;
    }
    if (output.length + length > limit) throw new RangeError("a block that is too long");
    output.repeat(offset, length, floor);
  }
}

/**
 * Compresses into one frame of independent 128 KiB blocks, with a checksum of the whole content. A block that would not
 * shrink is stored uncompressed. Yields between blocks.
 */
export function* encodeLz4(input: Uint8Array): Generator<void, Buffer> {
  const output = Buffer.allocUnsafe(64 + input.length + Math.ceil(input.length / 128));
  output.writeUInt32LE(MAGIC, 0);
  output[4] = 0x64; // version 1, independent blocks, checksum of the content
  output[5] = BLOCK_SIZE_ID << 4;
  output[6] = (xxh32(output, 4, 6) >>> 8) & 255;
  const checksum = new Xxh32();
  let at = 7;
  for (let p = 0; p < input.length; p += BLOCK_BYTES) {
    if (p > 0) yield;
    const block = input.subarray(p, p + BLOCK_BYTES);
    at = writeBlock(block, output, at);
    checksum.add(block, 0, block.length);
  }
  output.writeUInt32LE(0, at);
  output.writeUInt32LE(checksum.value, at + 4);
  return output.subarray(0, at + 8);
}

/** The number of bytes searched for repeats at a time. */
const BLOCK_BYTES = 128 * 1024;

function writeBlock(block: Uint8Array, output: Buffer, from: number): number {
  const finder = new MatchFinder(block, MAX_OFFSET);
  const count = finder.findNext();
  let at = from + 4;
  let p = 0;
  for (let i = 0; i < count; i++) {
    const literals = finder.literals(i);
    const length = finder.matched(i);
    at = writeSequence(block, p, p + literals, length - MIN_MATCH, output, at);
    output[at++] = finder.offset(i) & 255;
    output[at++] = finder.offset(i) >> 8;
    if (length - MIN_MATCH >= 15) at = writeRest(length - MIN_MATCH - 15, output, at);
    p += literals + length;
  }
  at = writeSequence(block, p, block.length, 0, output, at);
  const isSmaller = at - from - 4 < block.length;
  output.writeUInt32LE(isSmaller ? at - from - 4 : (block.length | UNCOMPRESSED_FLAG) >>> 0, from);
  if (isSmaller) return at;
  output.set(block, from + 4);
  return from + 4 + block.length;
}

/** Writes a token and its literals. */
function writeSequence(block: Uint8Array, start: number, end: number, match: number, output: Buffer, from: number) {
  const literals = end - start;
  output[from] = (Math.min(literals, 15) << 4) | Math.min(match, 15);
  const at = literals >= 15 ? writeRest(literals - 15, output, from + 1) : from + 1;
  appendBytes(output, at, block, start, end);
  return at + literals;
}

function writeRest(length: number, output: Buffer, from: number): number {
  let at = from;
  let left = length;
  for (; left >= 255; left -= 255) output[at++] = 255;
  output[at++] = left;
  return at;
}

function word(input: Buffer, at: number): number {
  if (at + 4 > input.length) throw new RangeError("it is cut off");
  return input.readUInt32LE(at);
}
