import { decodeText } from "./decode-text.js";
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

/** Where `findKeyAndValue` found the key and the value. */
export let keyStart = 0;
export let keyEnd = 0;
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
