import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { crc32c } from "#codecs";
import type { EntryRef } from "../store.js";

/**
 * The ranges of keys. Each key starts with a letter, mostly followed by a ref in eight bytes, so that keys sort by ref.
 */
export const RANGES = {
  /** An entry with the beginning of its payload. It is pending unless the ref is also in `failed` or `moved`. */
  entry: "p",
  /** A further chunk of that payload (ref, number). */
  chunk: "c",
  /** Changes that attempts made to a pending entry. */
  update: "u",
  /** A dead letter: the entry as it failed. */
  failed: "f",
  /** The payload at this ref belongs to a replayed entry, whose ref is the value. */
  moved: "h",
  /** The ref of an id that does not contain it, for replayed and imported entries (key: the id). */
  id: "i",
  /** A note that a processor keeps next to the entries of its pipeline's journal (key: the number of the note). */
  note: "n",
  /** Counters and positions of the store (key: the letter alone). */
  meta: "m",
  /** Data that could not be read (key: ref, then the former key). */
  quarantine: "q",
} as const;

export type KeyRange = (typeof RANGES)[keyof typeof RANGES];

export const META_KEY = Buffer.from(RANGES.meta);

/** The range of a key. */
export function rangeOf(key: Uint8Array): KeyRange {
  return String.fromCharCode(key[0]!) as KeyRange;
}

export function refKey(range: KeyRange, ref: EntryRef): Buffer {
  const key = Buffer.allocUnsafe(9);
  writeRangeAndRef(key, range, ref);
  return key;
}

export function chunkKey(ref: EntryRef, number: number): Buffer {
  const key = Buffer.allocUnsafe(13);
  writeRangeAndRef(key, RANGES.chunk, ref);
  key.writeUInt32BE(number, 9);
  return key;
}

export function idKey(id: string): Buffer {
  return Buffer.from(`${RANGES.id}${id}`);
}

export function quarantineKey(ref: EntryRef, key: Uint8Array): Buffer {
  return Buffer.concat([refKey(RANGES.quarantine, ref), key]);
}

/** A key that sorts after every key of the range. */
export function endOfRange(range: KeyRange): Buffer {
  return Buffer.from([range.charCodeAt(0) + 1]);
}

export function refOf(key: Uint8Array): EntryRef {
  const view = new DataView(key.buffer, key.byteOffset);
  return view.getUint32(1) * 2 ** 32 + view.getUint32(5);
}

/** The number in the key of a chunk. */
export function chunkNumberOf(key: Uint8Array): number {
  return new DataView(key.buffer, key.byteOffset).getUint32(9);
}

function writeRangeAndRef(key: Buffer, range: KeyRange, ref: EntryRef): void {
  key[0] = range.charCodeAt(0);
  key.writeUInt32BE(Math.floor(ref / 2 ** 32), 1);
  key.writeUInt32BE(ref >>> 0, 5);
}

/**
 * The layout of every value: checksum (4 bytes, over all that follows), range letter, format, chunk number (2), ref
 * (8), length of the head (4), head (JSON, or nothing), body. Range, number and ref repeat the key, so that a value is
 * readable only in its own place.
 *
 * The checksum is CRC-32, which Node computes natively, several times faster than any JavaScript checksum. Values of
 * format 1, which are only read, have CRC-32C.
 */
export const FORMAT = 2;
const FORMAT_WITH_CRC32C = 1;
/**
 * A value that holds another one, encrypted; see `ValueCipher`. Its checksum and its place are stored like those of any
 * value.
 */
const ENCRYPTED_FORMAT = 3;
/** An encrypted value for one queue; it decrypts in no other. */
export const BOUND_FORMAT = 4;
/** Like `BOUND_FORMAT`, but the encrypted value has no checksum of its own: the tag of the encryption replaces it. */
export const BOUND_UNSEALED_FORMAT = 5;
/**
 * A value that is only in memory, before it is written or after it was decrypted. Instead of a checksum, which would
 * never be needed, it has a mark that is only known inside this process. So no value on disk can be mistaken for one.
 */
const UNSEALED_FORMAT = 255;
const UNSEALED_MARK = randomBytes(4).readUInt32LE();

/** The minimum length of a value. */
export const HEAD_OFFSET = 20;

interface ValueFrame {
  readonly head: unknown;
  /** Shares its memory with the value. */
  readonly body: Buffer;
}

/** Returns the value, unsealed. It is valid until the next call, so it must be copied or written before. */
export function frame(
  range: KeyRange,
  ref: EntryRef,
  number: number,
  head: unknown,
  body: readonly Uint8Array[],
): Uint8Array {
  const text = head === undefined ? "" : JSON.stringify(head);
  let length = HEAD_OFFSET + text.length * 3;
  for (const chunk of body) length += chunk.length;
  const value = scratchBuffer(length);
  const headLength = value.write(text, HEAD_OFFSET);
  value[4] = range.charCodeAt(0);
  value.writeUInt16LE(number, 6);
  value.writeUInt32LE(ref >>> 0, 8);
  value.writeUInt32LE(Math.floor(ref / 2 ** 32), 12);
  value.writeUInt32LE(headLength, 16);
  let at = HEAD_OFFSET + headLength;
  for (const part of body) {
    value.set(part, at);
    at += part.length;
  }
  return markUnsealed(value.subarray(0, at));
}

/** Adds the checksum, so that the value may be written to disk. Changes the given bytes. */
export function seal(value: Uint8Array): Uint8Array {
  if (!isUnsealed(value)) return value;
  value[5] = FORMAT;
  return writeChecksum(value);
}

/** Marks a value that is known to be intact. */
export function markUnsealed(value: Buffer): Buffer {
  value[5] = UNSEALED_FORMAT;
  value.writeUInt32LE(UNSEALED_MARK, 0);
  return value;
}

export function isUnsealed(value: Uint8Array): boolean {
  return value[5] === UNSEALED_FORMAT && bufferOf(value).readUInt32LE(0) === UNSEALED_MARK;
}

export function writeChecksum(value: Uint8Array): Uint8Array {
  bufferOf(value).writeUInt32LE(crc32(value.subarray(4)), 0);
  return value;
}

/** Returns the content of a value; undefined if it is damaged, belongs elsewhere, or could not be decrypted. */
export function unframe(range: KeyRange, ref: EntryRef, number: number, value: Uint8Array): ValueFrame | undefined {
  const read = unframeBytes(range, ref, number, value);
  return read && { head: read.head.length === 0 ? undefined : JSON.parse(read.head.toString()), body: read.body };
}

/** Like `unframe`, with the head not parsed. */
export function unframeBytes(
  range: KeyRange,
  ref: EntryRef,
  number: number,
  value: Uint8Array,
): { readonly head: Buffer; readonly body: Buffer } | undefined {
  const bytes = bufferOf(value);
  if (!isFrameIntact(bytes) || isEncrypted(bytes)) return undefined;
  if (bytes[4] !== range.charCodeAt(0) || bytes.readUInt16LE(6) !== number) return undefined;
  if (refOfValue(bytes) !== ref) return undefined;
  const bodyAt = HEAD_OFFSET + bytes.readUInt32LE(16);
  return { head: bytes.subarray(HEAD_OFFSET, bodyAt), body: bytes.subarray(bodyAt) };
}

/** Returns the key that a value names; undefined if it names none. The beginning of the value is enough. */
export function keyOfValue(value: Buffer): Buffer | undefined {
  if (value.length < HEAD_OFFSET || !isKnownFormat(value)) return undefined;
  const range = rangeOf(value.subarray(4));
  const ref = refOfValue(value);
  if (!Number.isSafeInteger(ref)) return undefined;
  if (range === RANGES.chunk) return chunkKey(ref, value.readUInt16LE(6));
  return RANGES_BY_REF.includes(range) ? refKey(range, ref) : undefined;
}

const RANGES_BY_REF: readonly KeyRange[] = [RANGES.entry, RANGES.update, RANGES.failed, RANGES.moved, RANGES.note];

export function isFrameIntact(value: Buffer): boolean {
  if (value.length < HEAD_OFFSET) return false;
  return value[5] === UNSEALED_FORMAT ? isUnsealed(value) : value.readUInt32LE(0) === checksumOf(value);
}

/** Whether the value holds another one, encrypted. */
export function isEncrypted(value: Uint8Array): boolean {
  return isBound(value) || value[5] === ENCRYPTED_FORMAT;
}

/** Whether the value is encrypted for one queue only. */
export function isBound(value: Uint8Array): boolean {
  return value[5] === BOUND_UNSEALED_FORMAT || value[5] === BOUND_FORMAT;
}

/** Returns a Buffer over the same memory. */
export function bufferOf(value: Uint8Array): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.length);
}

function isKnownFormat(value: Buffer): boolean {
  return value[5] === FORMAT || value[5] === FORMAT_WITH_CRC32C || isEncrypted(value);
}

function checksumOf(value: Buffer): number {
  const checked = value.subarray(4);
  return value[5] === FORMAT_WITH_CRC32C ? crc32c(checked) : crc32(checked);
}

function refOfValue(value: Buffer): EntryRef {
  return value.readUInt32LE(12) * 2 ** 32 + value.readUInt32LE(8);
}

let scratch = Buffer.allocUnsafeSlow(64 * 1024);

function scratchBuffer(length: number): Buffer {
  if (scratch.length < length) scratch = Buffer.allocUnsafeSlow(length * 2);
  return scratch;
}
