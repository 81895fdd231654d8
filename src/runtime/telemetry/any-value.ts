import { decodeText } from "./decode.js";
import { after, double, skip, varint, varint64 } from "./wire.js";

/** Tags of OTLP's AnyValue, KeyValue and the lists of both. */
export const STRING = 10;
export const BOOL = 16;
export const INT = 24;
export const DOUBLE = 33;
export const ARRAY = 42;
export const MAP = 50;
export const BYTES = 58;
export const ELEMENT = 10;
export const KEY = 10;
export const VALUE = 18;

/** How a reader wants integers and maps; everything else is the same to all. */
export interface ValueForm<V, M> {
  /** The varint in [at, end). */
  integer(b: Uint8Array, at: number, end: number): V;
  newMap(): M;
  has(map: M, key: string): boolean;
  put(map: M, key: string, value: V): void;
}

type Shared = string | boolean | number | null | Uint8Array;

/** The AnyValue in [start, end); null when none is set. */
export function readAny<V, M>(form: ValueForm<V, M>, b: Uint8Array, start: number, end: number): V | M | Shared {
  let value: V | M | Shared = null;
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    value = readMember(form, b, tag, at, p) ?? value; // of several the last counts
  }
  return value;
}

function readMember<V, M>(form: ValueForm<V, M>, b: Uint8Array, tag: number, at: number, end: number): V | M | Shared {
  switch (tag) {
    case STRING:
      varint(b, at);
      return decodeText(b, after, end);
    case BOOL:
      return varint64(b, at) !== 0n;
    case INT:
      return form.integer(b, at, end);
    case DOUBLE:
      return double(b, at);
    case ARRAY:
      varint(b, at);
      return readElements(form, b, after, end) as V;
    case MAP:
      varint(b, at);
      return readKeyValues(form, b, after, end, ELEMENT, form.newMap());
    case BYTES:
      varint(b, at);
      return new Uint8Array(b.subarray(after, end));
    default:
      return null;
  }
}

function readElements<V, M>(form: ValueForm<V, M>, b: Uint8Array, start: number, end: number): (V | M | Shared)[] {
  const list: (V | M | Shared)[] = [];
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== ELEMENT) continue;
    varint(b, at);
    list.push(readAny(form, b, after, p));
  }
  return list;
}

/** All KeyValues with this tag in the message [start, end); of several with one key the first counts. */
export function readKeyValues<V, M>(
  form: ValueForm<V, M>,
  b: Uint8Array,
  start: number,
  end: number,
  wanted: number,
  map: M,
): M {
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== wanted) continue;
    varint(b, at);
    readKeyValue(form, b, after, p, map);
  }
  return map;
}

function readKeyValue<V, M>(form: ValueForm<V, M>, b: Uint8Array, start: number, end: number, map: M): void {
  let key = "";
  let valueAt = -1;
  let valueEnd = -1;
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== KEY && tag !== VALUE) continue;
    varint(b, at);
    if (tag === KEY) key = decodeText(b, after, p);
    else {
      valueAt = after;
      valueEnd = p;
    }
  }
  if (!form.has(map, key)) form.put(map, key, (valueAt < 0 ? null : readAny(form, b, valueAt, valueEnd)) as V);
}

/** End of the AnyValue that `anyValueAt` found. */
export let anyEnd = 0;

/** Where the AnyValue of the KeyValue whose length is at `lengthAt` begins, or -1; it ends at `anyEnd`. */
export function anyValueAt(b: Uint8Array, lengthAt: number): number {
  const size = varint(b, lengthAt);
  const end = after + size;
  for (let p = after; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== VALUE) continue;
    varint(b, at);
    anyEnd = p;
    return after;
  }
  return -1;
}
