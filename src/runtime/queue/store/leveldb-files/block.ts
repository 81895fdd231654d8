import { crc32c, maskCrc } from "#codecs";
import { BoundedOutput, decodeSnappyBlock } from "#codecs/compression";
import { WireWriter } from "#otlp/bytes";
import { VarintReader } from "./varint-reader.js";

/**
 * The blocks of LevelDB's tables. A block has entries in key order, each with the number of bytes its key shares with
 * the previous one; then the positions of the complete keys and their number. After every block come its compression
 * type (0: none, 1: Snappy, used by other programs) and a checksum.
 */
export const TRAILER_BYTES = 5;
const NOT_COMPRESSED = 0;
export const MAX_BLOCK_BYTES = 64 * 1024 * 1024;
/** The suffix that LevelDB adds to every key: whether it is a value or a deletion mark, and its sequence number. */
export const KEY_SUFFIX_BYTES = 8;
/** The first byte of the suffix for a value. A deletion mark has a smaller one. */
export const VALUE_TYPE = 1;

export interface BlockHandle {
  readonly offset: number;
  readonly size: number;
}

/** LevelDB writes every 16th key of a data block in full; those between share a prefix with the key before. */
export const RESTART_INTERVAL = 16;

export type BlockEntry = readonly [key: Buffer, value: Buffer];

/** Whether a block, given with its trailer, matches its checksum. */
export function isBlockIntact(bytes: Buffer): boolean {
  const size = bytes.length - TRAILER_BYTES;
  return size >= 8 && maskCrc(crc32c(bytes.subarray(0, size + 1))) === bytes.readUInt32LE(size + 1);
}

/** Returns the entries of an intact block, given with its trailer. Throws a RangeError if they cannot be read. */
export function decodeBlock(bytes: Buffer): BlockEntry[] {
  const block = contentOf(bytes);
  const restarts = block.readUInt32LE(block.length - 4);
  const reader = new VarintReader(block.subarray(0, Math.max(0, block.length - 4 * (restarts + 1))));
  const entries: BlockEntry[] = [];
  while (!reader.isAtEnd) entries.push(readBlockEntry(reader, entries.at(-1)?.[0]));
  return entries;
}

function contentOf(bytes: Buffer): Buffer {
  const size = bytes.length - TRAILER_BYTES;
  if (bytes[size] === NOT_COMPRESSED) return bytes.subarray(0, size);
  const output = new BoundedOutput({ limit: MAX_BLOCK_BYTES, reserve: () => true });
  try {
    Array.from(decodeSnappyBlock(bytes.subarray(0, size), output));
  } catch (cause) {
    throw new RangeError("not compressed by Snappy", { cause });
  }
  return output.bytes.subarray(0, output.length);
}

/** Reads one entry. Throws a RangeError if there is none. */
export function readBlockEntry(reader: VarintReader, previousKey: Buffer = Buffer.alloc(0)): BlockEntry {
  const [shared, unshared, length] = [reader.next(), reader.next(), reader.next()];
  if (shared > previousKey.length) throw new RangeError("no such key before");
  const own = asBuffer(reader.take(unshared));
  // The keys of an index share nothing, so they are not copied.
  const key = shared === 0 ? own : Buffer.concat([previousKey.subarray(0, shared), own]);
  return [key, asBuffer(reader.take(length))];
}

/** Returns a block with these entries and its trailer. Every `restartInterval`th key is written in full. */
export function makeBlock(entries: readonly BlockEntry[], restartInterval = 1): Buffer {
  const writer = new WireWriter();
  const restarts: number[] = [];
  for (const [i, [key, value]] of entries.entries()) {
    const isRestart = i % restartInterval === 0;
    if (isRestart) restarts.push(writer.length);
    const shared = isRestart ? 0 : sharedPrefixLength(entries[i - 1]![0], key);
    writer.varint(shared);
    writer.varint(key.length - shared);
    writer.varint(value.length);
    writer.copy(key, shared, key.length);
    writer.copy(value, 0, value.length);
  }
  if (restarts.length === 0) restarts.push(0);
  for (const offset of restarts) writer.fixed32(offset);
  writer.fixed32(restarts.length);
  writer.byte(NOT_COMPRESSED);
  writer.fixed32(maskCrc(crc32c(writer.written())));
  return writer.bytes.subarray(0, writer.length);
}

function sharedPrefixLength(one: Buffer, other: Buffer): number {
  let length = 0;
  while (length < one.length && length < other.length && one[length] === other[length]) length++;
  return length;
}

export function readHandle(reader: VarintReader): BlockHandle {
  return { offset: reader.next(), size: reader.next() };
}

export function encodeHandle({ offset, size }: BlockHandle): Buffer {
  const writer = new WireWriter();
  writer.varint64(BigInt(offset));
  writer.varint64(BigInt(size));
  return writer.bytes.subarray(0, writer.length);
}

/** Returns a Buffer over the same memory. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Whether a key follows another in LevelDB's order. Of equal keys, the later written one comes first. */
export function isKeyAfter(key: Buffer, previousKey: Buffer): boolean {
  const order = key.subarray(0, -KEY_SUFFIX_BYTES).compare(previousKey.subarray(0, -KEY_SUFFIX_BYTES));
  return order > 0 || (order === 0 && packedSuffix(key) < packedSuffix(previousKey));
}

function packedSuffix(key: Buffer): bigint {
  return key.readBigUInt64LE(key.length - KEY_SUFFIX_BYTES);
}
