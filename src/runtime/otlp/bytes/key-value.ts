import { NameCache } from "../signals/name-cache.js";
import { decodeText } from "./decode-text.js";
import { KEY_TAG } from "./tags.generated.js";
import { after, bodyEnd, lengthAt, nextBody, skip, varint } from "./wire.js";

/** Attributes in encoded form: finds KeyValues by key and iterates over them. */

/**
 * Returns the position of the length of the KeyValue with this key among the fields with this tag in [p, end), or -1.
 * The common form of a KeyValue, key first, is compared in place.
 */
export function findAttribute(b: Uint8Array, p: number, end: number, attributesTag: number, key: Uint8Array): number {
  const keySize = key.length;
  while (p < end) {
    let tag = b[p++]!;
    if (tag > 127) {
      tag = varint(b, p - 1);
      p = after;
    }
    if (tag !== attributesTag) {
      p = skip(b, p, tag);
      continue;
    }
    const at = p;
    let size = b[p++]!;
    if (size > 127) {
      size = varint(b, p - 1);
      p = after;
    }
    const stop = p + size;
    if (size > 1 && b[p] === KEY_TAG && b[p + 1]! < 128) {
      if (b[p + 1] === keySize && sameBytes(b, p + 2, key)) return at;
    } else if (hasKey(b, p, stop, key)) return at;
    p = stop;
  }
  return -1;
}

function sameBytes(b: Uint8Array, p: number, key: Uint8Array): boolean {
  for (let i = key.length - 1; i >= 0; i--) if (b[p + i] !== key[i]) return false; // keys differ at their ends
  return true;
}

/** Whether this is the key of the KeyValue in [start, end). */
export function hasKey(b: Uint8Array, start: number, end: number, key: Uint8Array): boolean {
  if (end - start > 1 && b[start] === KEY_TAG && b[start + 1]! < 128) {
    return b[start + 1] === key.length && sameBytes(b, start + 2, key);
  }
  return hasUncommonKey(b, start, end, key);
}

/** The same for a key behind the value, or longer than 127 bytes. Apart, so that `hasKey` is small enough to be inlined. */
function hasUncommonKey(b: Uint8Array, start: number, end: number, key: Uint8Array): boolean {
  const from = nextBody(b, start, end, KEY_TAG);
  return from < 0 ? key.length === 0 : bodyEnd - from === key.length && sameBytes(b, from, key);
}

/** The key of the KeyValue in [start, end). */
export function readKey(b: Uint8Array, start: number, end: number): string {
  return decodeText(b, keyAt(b, start, end), keyEnd);
}

/** End of the key found by `keyAt`. */
export let keyEnd = 0;

/** Returns where the key of the KeyValue in [start, end) starts; it ends at `keyEnd` and is empty if there is none. */
export function keyAt(b: Uint8Array, start: number, end: number): number {
  if (end - start > 1 && b[start] === KEY_TAG && b[start + 1]! < 128) {
    keyEnd = start + 2 + b[start + 1]!;
    return start + 2;
  }
  const found = nextBody(b, start, end, KEY_TAG);
  keyEnd = found < 0 ? start : bodyEnd;
  return found < 0 ? start : found;
}

/**
 * Positions by key, as `findAttribute` would return them, for many lookups in one message. A key has one character per
 * byte, as `byteText` returns it, because keys are compared byte by byte.
 */
export function indexAttributes(b: Uint8Array, p: number, end: number, attributesTag: number): Map<string, number> {
  const positions = new Map<string, number>();
  while ((p = nextBody(b, p, end, attributesTag)) >= 0) {
    const at = lengthAt;
    const body = p;
    p = bodyEnd;
    const key = byteText(b, keyAt(b, body, p), keyEnd);
    if (!positions.has(key)) positions.set(key, at);
  }
  return positions;
}

/** The bytes in [start, end), one character for each: different bytes never give the same text, valid UTF-8 or not. */
export function byteText(b: Uint8Array, start: number, end: number): string {
  return Buffer.from(b.buffer, b.byteOffset + start, end - start).toString("latin1");
}

const encodedKeys = new NameCache<Uint8Array>((key) => Buffer.from(key, "utf8"));

/** The UTF-8 form of a key. */
export function encodedKey(key: string): Uint8Array {
  return encodedKeys.get(key);
}
