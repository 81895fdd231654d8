import type { EntryRef } from "../../store.js";

/**
 * The ranges of keys, one letter each, mostly followed by a ref in eight bytes so that they sort by it:
 *
 * p  an entry with the beginning of its payload: pending, unless there is an f or h for the same ref
 * c  a further chunk of that payload (ref, number)
 * u  what attempts changed in a pending entry
 * f  a dead letter: the entry as it failed
 * h  the payload at this ref belongs to a replayed entry, whose ref is the value
 * i  the ref of an id that does not tell it: replayed and imported entries (text)
 * m  counters and positions of the whole store (nothing)
 * q  remains of what could not be read (ref, then the key they were under)
 */
export type KeyRange = "p" | "c" | "u" | "f" | "h" | "i" | "m" | "q";

export const META_KEY = Buffer.from("m");

export function refKey(range: KeyRange, ref: EntryRef): Buffer {
  const key = Buffer.allocUnsafe(9);
  writeRangeAndRef(key, range, ref);
  return key;
}

export function chunkKey(ref: EntryRef, number: number): Buffer {
  const key = Buffer.allocUnsafe(13);
  writeRangeAndRef(key, "c", ref);
  key.writeUInt32BE(number, 9);
  return key;
}

export function idKey(id: string): Buffer {
  return Buffer.from(`i${id}`);
}

export function quarantineKey(ref: EntryRef, key: Uint8Array): Buffer {
  return Buffer.concat([refKey("q", ref), key]);
}

/** A key that sorts after every key of the range. */
export function endOfRange(range: KeyRange): Buffer {
  return Buffer.from([range.charCodeAt(0) + 1]);
}

export function refOf(key: Uint8Array): EntryRef {
  const view = new DataView(key.buffer, key.byteOffset);
  return view.getUint32(1) * 2 ** 32 + view.getUint32(5);
}

/** The chunk number in a c key. */
export function chunkNumberOf(key: Uint8Array): number {
  return new DataView(key.buffer, key.byteOffset).getUint32(9);
}

function writeRangeAndRef(key: Buffer, range: KeyRange, ref: EntryRef): void {
  key[0] = range.charCodeAt(0);
  key.writeUInt32BE(Math.floor(ref / 2 ** 32), 1);
  key.writeUInt32BE(ref >>> 0, 5);
}
