import { crc32c, masked } from "./crc32c.js";
import { Varints } from "./varints.js";

/**
 * The blocks that LevelDB's tables are made of: entries in the order of their keys, each with the number of bytes its
 * key shares with the one before; then the places where keys are whole, and how many those are. Behind every block are
 * its kind (0: not compressed) and a checksum.
 */
export const TRAILER = 5;
/** What LevelDB adds to every key: whether it is a value or the mark of a deletion, and when it was written. */
export const KEY_SUFFIX = 8;

export interface Handle {
  readonly offset: number;
  readonly size: number;
}

/** Entries of a block of data for each key that is whole. */
export const INTERVAL = 16;

export type BlockEntry = readonly [key: Buffer, value: Buffer];

/** Of a block with its trailer. */
export function isBlockWhole(bytes: Buffer): boolean {
  const size = bytes.length - TRAILER;
  return size >= 8 && masked(crc32c(bytes.subarray(0, size + 1))) === bytes.readUInt32LE(size + 1);
}

/** The entries of a block that is whole, without its trailer. */
export function entriesOf(block: Buffer): BlockEntry[] {
  const restarts = block.readUInt32LE(block.length - 4);
  const numbers = new Varints(block.subarray(0, Math.max(0, block.length - 4 * (restarts + 1))));
  const entries: BlockEntry[] = [];
  while (!numbers.isAtEnd) entries.push(nextEntry(numbers, entries.at(-1)?.[0]));
  return entries;
}

/** Reads one entry; throws a RangeError when there is none. */
export function nextEntry(numbers: Varints, before: Buffer = Buffer.alloc(0)): BlockEntry {
  const [shared, fresh, length] = [numbers.next(), numbers.next(), numbers.next()];
  if (shared > before.length) throw new RangeError("no such key before");
  const key = Buffer.concat([before.subarray(0, shared), numbers.take(fresh)]);
  return [key, bufferOf(numbers.take(length))];
}

/** A block of these entries, with its trailer; every key is whole, or only every so many, which is shorter. */
export function makeBlock(entries: readonly BlockEntry[], interval = 1): Buffer {
  const parts: Buffer[] = [];
  const restarts: number[] = [];
  let at = 0;
  for (const [i, [key, value]] of entries.entries()) {
    const isWhole = i % interval === 0;
    if (isWhole) restarts.push(at);
    const shared = isWhole ? 0 : sharedBy(entries[i - 1]![0], key);
    const head = Buffer.from([...varint(shared), ...varint(key.length - shared), ...varint(value.length)]);
    parts.push(head, key.subarray(shared), value);
    at += head.length + key.length - shared + value.length;
  }
  if (restarts.length === 0) restarts.push(0);
  const tail = Buffer.alloc(4 * restarts.length + 4 + TRAILER);
  for (const [i, place] of restarts.entries()) tail.writeUInt32LE(place, 4 * i);
  tail.writeUInt32LE(restarts.length, 4 * restarts.length);
  const block = Buffer.concat([...parts, tail]);
  block.writeUInt32LE(masked(crc32c(block.subarray(0, -4))), block.length - 4);
  return block;
}

function sharedBy(one: Buffer, other: Buffer): number {
  let length = 0;
  while (length < one.length && length < other.length && one[length] === other[length]) length++;
  return length;
}

export function handleIn(numbers: Varints): Handle {
  return { offset: numbers.next(), size: numbers.next() };
}

export function handleBytes({ offset, size }: Handle): Buffer {
  return Buffer.from([...varint(offset), ...varint(size)]);
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}

/** The same bytes, with the methods of a buffer. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** In LevelDB's order: of the same key, what was written later comes first. */
export function isBehind(key: Buffer, before: Buffer): boolean {
  const order = key.subarray(0, -KEY_SUFFIX).compare(before.subarray(0, -KEY_SUFFIX));
  return order > 0 || (order === 0 && when(key) < when(before));
}

function when(key: Buffer): bigint {
  return key.readBigUInt64LE(key.length - KEY_SUFFIX);
}
