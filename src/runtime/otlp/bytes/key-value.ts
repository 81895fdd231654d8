import { NameCache } from "../signals/name-cache.js";
import {
  ARRAY_VALUE_TAG,
  BOOL_VALUE_TAG,
  BYTES_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  ELEMENT_TAG,
  INT_VALUE_TAG,
  KEY_TAG,
  KVLIST_VALUE_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "./tags.generated.js";
import { decodeText } from "./texts.js";
import {
  after,
  bodyEnd,
  double,
  fieldTag,
  lengthAt,
  nextBody,
  skip,
  stepOver,
  valueAt,
  varint,
  varint64,
} from "./wire.js";

/** Attributes in encoded form: finds KeyValues by key, iterates over them, and reads their values. */

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

/** End of the key that `keyAt` or `findKeyAndValue` found last. */
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

/** How a reader represents integers and maps; everything else is the same for all readers. */
export interface ValueBuilder<V, M> {
  /** The varint in [at, end). */
  integer(b: Uint8Array, at: number, end: number): V;
  newMap(): M;
  has(map: M, key: string): boolean;
  put(map: M, key: string, value: V): void;
}

type CommonValue = string | boolean | number | null | Uint8Array;

/** Reads the AnyValue in [start, end); null if it has no value. */
export function readAnyValue<V, M>(
  builder: ValueBuilder<V, M>,
  b: Uint8Array,
  start: number,
  end: number,
): V | M | CommonValue {
  let value: V | M | CommonValue = null;
  for (let p = start; p < end; ) {
    p = stepOver(b, p);
    value = readMember(builder, b, fieldTag, valueAt, p) ?? value; // of several values the last one counts
  }
  return value;
}

function readMember<V, M>(
  builder: ValueBuilder<V, M>,
  b: Uint8Array,
  tag: number,
  at: number,
  end: number,
): V | M | CommonValue {
  switch (tag) {
    case STRING_VALUE_TAG:
      varint(b, at);
      return decodeText(b, after, end);
    case BOOL_VALUE_TAG:
      return varint64(b, at) !== 0n;
    case INT_VALUE_TAG:
      return builder.integer(b, at, end);
    case DOUBLE_VALUE_TAG:
      return double(b, at);
    case ARRAY_VALUE_TAG:
      varint(b, at);
      return readElements(builder, b, after, end) as V;
    case KVLIST_VALUE_TAG:
      varint(b, at);
      return readKeyValues(builder, b, after, end, ELEMENT_TAG, builder.newMap());
    case BYTES_VALUE_TAG:
      varint(b, at);
      return new Uint8Array(b.subarray(after, end));
    default:
      return null;
  }
}

function readElements<V, M>(
  builder: ValueBuilder<V, M>,
  b: Uint8Array,
  start: number,
  end: number,
): (V | M | CommonValue)[] {
  const list: (V | M | CommonValue)[] = [];
  for (let p = start; (p = nextBody(b, p, end, ELEMENT_TAG)) >= 0; ) {
    const body = p;
    p = bodyEnd;
    list.push(readAnyValue(builder, b, body, p));
  }
  return list;
}

/** Reads all KeyValues with this tag in the message [start, end); of several with the same key the first counts. */
export function readKeyValues<V, M>(
  builder: ValueBuilder<V, M>,
  b: Uint8Array,
  start: number,
  end: number,
  attributesTag: number,
  map: M,
): M {
  for (let p = start; (p = nextBody(b, p, end, attributesTag)) >= 0; ) {
    const at = lengthAt;
    p = bodyEnd;
    readKeyValue(builder, b, at, p, map);
  }
  return map;
}

function readKeyValue<V, M>(builder: ValueBuilder<V, M>, b: Uint8Array, lengthAt: number, end: number, map: M): void {
  findKeyAndValue(b, lengthAt, end);
  const from = valueStart;
  const to = valueEnd;
  const key = decodeText(b, keyStart, keyEnd);
  if (!builder.has(map, key)) builder.put(map, key, readAnyValue(builder, b, from, to) as V);
}

/** End of the AnyValue found by `anyValueAt`. */
export let anyValueEnd = 0;

/** Returns where the AnyValue starts in the KeyValue whose length is at `lengthAt`, or -1; it ends at `anyValueEnd`. */
export function anyValueAt(b: Uint8Array, lengthAt: number): number {
  const size = varint(b, lengthAt);
  const start = nextBody(b, after, after + size, VALUE_TAG);
  if (start >= 0) anyValueEnd = bodyEnd;
  return start;
}

/** Where `findKeyAndValue` found the key, up to `keyEnd`, and the value. */
export let keyStart = 0;
export let valueStart = 0;
export let valueEnd = 0;

/**
 * Finds key and AnyValue of the KeyValue whose length is at `lengthAt` and which ends at `end`; missing parts are
 * empty.
 */
export function findKeyAndValue(b: Uint8Array, lengthAt: number, end: number): void {
  let p = lengthAt + 1;
  if (b[lengthAt]! > 127) {
    varint(b, lengthAt);
    p = after;
  }
  keyStart = keyEnd = valueStart = valueEnd = end;
  while (p < end) {
    let tag = b[p++]!;
    if (tag > 127) {
      tag = varint(b, p - 1);
      p = after;
    }
    const at = p;
    p = skip(b, at, tag);
    if (tag !== KEY_TAG && tag !== VALUE_TAG) continue;
    let from = at + 1;
    if (b[at]! > 127) {
      varint(b, at);
      from = after;
    }
    if (tag === KEY_TAG) {
      keyStart = from;
      keyEnd = p;
    } else {
      valueStart = from;
      valueEnd = p;
    }
  }
}
