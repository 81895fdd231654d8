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
