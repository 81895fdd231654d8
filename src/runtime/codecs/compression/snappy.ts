import { crc32c, maskCrc } from "../crc32c.js";
import { appendBytes, type BoundedOutput } from "./bounded-output.js";
import { MatchFinder } from "./match-finder.js";

/**
 * Snappy in its two forms: a block preceded by its length (`snappy`), and framed blocks with checksums
 * (`x-snappy-framed`, which gRPC calls snappy). The decoders throw a RangeError for damaged input.
 */

const STREAM_IDENTIFIER = Buffer.from("ff060000734e61507059", "hex");
const CHUNK_BYTES = 65_536;
/** Copies from further back would take more bytes than most of them save. */
export const MAX_SNAPPY_OFFSET = 65_535;

/**
 * Senders that follow older Collectors also call the framed form snappy; the stream identifier tells the forms apart.
 */
export function isFramedSnappy(input: Buffer): boolean {
  return input.subarray(0, STREAM_IDENTIFIER.length).equals(STREAM_IDENTIFIER);
}

/** Decodes a block. Yields from time to time to let other work run. */
export function* decodeSnappyBlock(input: Buffer, output: BoundedOutput): Generator<void> {
  const { value: length, next } = readLength(input);
  const start = output.length;
  const end = start + length;
  let nextYield = start + YIELD_BYTES;
  for (let p = next; p < input.length; ) {
    const tag = input[p++]!;
    if ((tag & 3) === 0) {
      const extra = tag < 240 ? 0 : (tag >> 2) - 59;
      const count = (extra === 0 ? tag >> 2 : readLittleEndian(input, p, extra)) + 1;
      p += extra + count;
      if (p > input.length || output.length + count > end) throw new RangeError("literals that are not there");
      output.append(input, p - count, p);
    } else {
      const extra = COPY_EXTRA[tag & 3]!;
      const low = readLittleEndian(input, p, extra);
      p += extra;
      const count = (tag & 3) === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
      if (output.length + count > end) throw new RangeError("more than its length");
      output.repeat((tag & 3) === 1 ? ((tag & 0xe0) << 3) | low : low, count, start);
    }
    if (output.length >= nextYield) {
      nextYield = output.length + YIELD_BYTES;
      yield;
    }
  }
  if (output.length !== end) throw new RangeError("less than its length");
}

/** The number of bytes after the tag, by its last two bits. */
const COPY_EXTRA = [0, 1, 2, 4];
const YIELD_BYTES = 65_536;

/**
 * Decodes the framed form: chunks of at most 64 KiB, each with its checksum. Yields after each chunk, which may be without
 * content.
 */
export function* decodeSnappyFrames(input: Buffer, output: BoundedOutput): Generator<void> {
  if (!isFramedSnappy(input)) throw new RangeError("no stream identifier");
  for (let p = 0; p < input.length; ) {
    if (p + 4 > input.length) throw new RangeError("a chunk without its head");
    const type = input[p]!;
    const end = p + 4 + readLittleEndian(input, p + 1, 3);
    if (end > input.length) throw new RangeError("a chunk that is cut off");
    if (type <= 1) yield* decodeChunk(input, p + 4, end, type === 0, output);
    else if (type === 0xff && !isFramedSnappy(input.subarray(p, end))) throw new RangeError("a bad stream identifier");
    else if (type < 0x80) throw new RangeError("a chunk of a reserved kind");
    p = end;
    yield;
  }
}

function* decodeChunk(input: Buffer, at: number, end: number, isCompressed: boolean, output: BoundedOutput) {
  if (end - at < 4) throw new RangeError("a chunk without its checksum");
  const start = output.length;
  const checksum = input.readUInt32LE(at);
  if (isCompressed) {
    if (readLength(input.subarray(at + 4, end)).value > CHUNK_BYTES) throw new RangeError("a chunk that is too long");
    yield* decodeSnappyBlock(input.subarray(at + 4, end), output);
  } else {
    if (end - at - 4 > CHUNK_BYTES) throw new RangeError("a chunk that is too long");
    output.append(input, at + 4, end);
  }
  if (maskCrc(crc32c(output.bytes.subarray(start, output.length))) !== checksum)
    throw new RangeError("a wrong checksum");
}

/** Compresses into one block. */
export function encodeSnappyBlock(input: Uint8Array): Buffer {
  const output = Buffer.allocUnsafe(maxSnappyBytes(input.length));
  return output.subarray(0, writeBlock(input, output, 0));
}

/** Compresses into one block, and yields between parts of it. Repeats are found within a part. */
export function* encodeSnappyParts(input: Uint8Array): Generator<void, Buffer> {
  const output = Buffer.allocUnsafe(maxSnappyBytes(input.length));
  let at = appendLength(input.length, output, 0);
  for (let p = 0; p < input.length; p += PART_BYTES) {
    if (p > 0) yield;
    at = appendSnappy(input.subarray(p, p + PART_BYTES), output, at);
  }
  return output.subarray(0, at);
}

const PART_BYTES = 1024 * 1024;

/**
 * Compresses into a framed stream. A chunk that would not shrink is stored uncompressed. Yields between chunks, which are
 * compressed by themselves.
 */
export function* encodeSnappyFrames(input: Uint8Array): Generator<void, Buffer> {
  const chunks = Math.ceil(input.length / CHUNK_BYTES);
  const output = Buffer.allocUnsafe(STREAM_IDENTIFIER.length + chunks * (8 + maxSnappyBytes(CHUNK_BYTES)));
  let at = STREAM_IDENTIFIER.copy(output);
  for (let p = 0; p < input.length; p += CHUNK_BYTES) {
    if (p > 0) yield;
    const chunk = input.subarray(p, p + CHUNK_BYTES);
    let end = writeBlock(chunk, output, at + 8);
    const isSmaller = end - at - 8 < chunk.length;
    if (!isSmaller) {
      output.set(chunk, at + 8);
      end = at + 8 + chunk.length;
    }
    output[at] = isSmaller ? 0 : 1;
    output.writeUIntLE(end - at - 4, at + 1, 3);
    output.writeUInt32LE(maskCrc(crc32c(chunk)), at + 4);
    at = end;
  }
  return output.subarray(0, at);
}

function writeBlock(input: Uint8Array, output: Buffer, from: number): number {
  return appendSnappy(input, output, appendLength(input.length, output, from));
}

/**
 * Writes the content of a block, without its length, and returns where it ends. `output` must have room for
 * `maxSnappyBytes`.
 */
export function appendSnappy(input: Uint8Array, output: Buffer, from: number): number {
  let at = from;
  const finder = new MatchFinder(input, MAX_SNAPPY_OFFSET);
  let p = 0;
  while (p < input.length) {
    const count = finder.findNext();
    for (let i = 0; i < count; i++) {
      const literals = finder.literals(i);
      if (literals > 0) at = writeLiterals(input, p, p + literals, output, at);
      p += literals;
      at = writeCopies(finder.offset(i), finder.matched(i), output, at);
      p += finder.matched(i);
    }
    if (p < finder.position) at = writeLiterals(input, p, finder.position, output, at);
    p = finder.position;
  }
  return at;
}

export function writeLiterals(input: Uint8Array, start: number, end: number, output: Buffer, from: number): number {
  const n = end - start - 1;
  let at = from;
  if (n < 60) output[at++] = n << 2;
  else {
    const extra = n < 0x100 ? 1 : n < 0x10000 ? 2 : n < 0x1000000 ? 3 : 4;
    output[at++] = (59 + extra) << 2;
    at = output.writeUIntLE(n, at, extra);
  }
  appendBytes(output, at, input, start, end);
  return at + end - start;
}

/** A copy has at most 64 bytes; only short copies from nearby fit into two bytes. */
export function writeCopies(offset: number, length: number, output: Buffer, from: number): number {
  let at = from;
  let left = length;
  for (; left >= 68; left -= 64) at = writeCopy(offset, 64, output, at);
  if (left > 64) {
    at = writeCopy(offset, 60, output, at);
    left -= 60;
  }
  if (left > 11 || offset > 2047) return writeCopy(offset, left, output, at);
  output[at] = ((offset >> 8) << 5) | ((left - 4) << 2) | 1;
  output[at + 1] = offset & 255;
  return at + 2;
}

function writeCopy(offset: number, length: number, output: Buffer, at: number): number {
  output[at] = ((length - 1) << 2) | 2;
  output[at + 1] = offset & 255;
  output[at + 2] = offset >> 8;
  return at + 3;
}

/** The size of a block of incompressible bytes, plus a small reserve. */
export function maxSnappyBytes(length: number): number {
  return 32 + length + Math.ceil(length / 6);
}

function readLength(input: Buffer): { value: number; next: number } {
  let value = 0;
  for (let i = 0; i < 5; i++) {
    const byte = input[i];
    if (byte === undefined) break;
    value += (byte & 127) * 2 ** (7 * i);
    if (byte < 128 && value < 2 ** 32) return { value, next: i + 1 };
  }
  throw new RangeError("no length");
}

export function appendLength(length: number, output: Buffer, from: number): number {
  let at = from;
  let left = length;
  for (; left > 127; left = Math.floor(left / 128)) output[at++] = (left & 127) | 128;
  output[at++] = left;
  return at;
}

function readLittleEndian(input: Buffer, at: number, bytes: number): number {
  if (at + bytes > input.length) throw new RangeError("it is cut off");
  let value = 0;
  for (let i = bytes - 1; i >= 0; i--) value = value * 256 + input[at + i]!;
  return value;
}
