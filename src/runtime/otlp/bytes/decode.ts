import { type Field, isPackable, type Message, UNKNOWN_FIELDS } from "./messages.js";
import { decodeText } from "./texts.js";
import {
  after,
  double,
  fieldTag,
  fixed32,
  fixed64,
  highHalf,
  LENGTH_DELIMITED,
  lowHalf,
  skip,
  stepOver,
  valueAt,
  varint,
  varint64,
  varintHalves,
} from "./wire.js";

/**
 * Telemetry as plain objects, for code that needs all of it: printing, OTLP/JSON, tests.
 *
 * Field names are OTLP/JSON's (lowerCamelCase). 64-bit integers are bigint, ids and bytes are Uint8Array, enums are
 * numbers, an AnyValue is `{ stringValue: ... }` and so on. A field that is not in the bytes is not in the object.
 * Unknown fields stay with their message under the `UNKNOWN_FIELDS` symbol, so encoding a decoded message restores
 * everything.
 */
export type Tree = { [field: string]: TreeValue };
/** The value of a tree's field. */
export type TreeValue = string | number | bigint | boolean | Uint8Array | Tree | TreeValue[];

/** Decodes the message in [start, end) into plain objects. The bytes must have been checked. */
export function decodeMessage(message: Message, b: Uint8Array, start = 0, end = b.length): Tree {
  const tree: Tree & { [UNKNOWN_FIELDS]?: Uint8Array[] } = {};
  let p = start;
  while (p < end) {
    const next = stepOver(b, p);
    const tag = fieldTag;
    const at = valueAt;
    const field = message.byNumber[tag >>> 3];
    if (field === undefined) (tree[UNKNOWN_FIELDS] ??= []).push(copyBytes(b, p, next));
    else if (field.repeated) decodeRepeated((tree[field.name] ??= []) as TreeValue[], field, b, at, next, tag);
    else tree[field.name] = decodeValue(field, b, at, next);
    p = next;
  }
  return tree;
}

/** All values of a repeated field of the message [start, end), packed or not. */
export function decodeList(field: Field, b: Uint8Array, start: number, end: number): TreeValue[] {
  const list: TreeValue[] = [];
  for (let p = start; p < end; ) {
    p = stepOver(b, p);
    if (fieldTag >>> 3 === field.number) decodeRepeated(list, field, b, valueAt, p, fieldTag);
  }
  return list;
}

function decodeRepeated(list: TreeValue[], field: Field, b: Uint8Array, p: number, end: number, tag: number): void {
  const packed = (tag & 7) === LENGTH_DELIMITED && isPackable(field);
  if (!packed) {
    list.push(decodeValue(field, b, p, end));
    return;
  }
  varint(b, p);
  for (p = after; p < end; p = decodedEnd) list.push(decodeValue(field, b, p, end));
}

/** Position after the number that `decodeValue` read last. */
let decodedEnd = 0;

/** Decodes the value of a field that starts at `p`. It must have the field's own wire type. */
export function decodeField(field: Field, b: Uint8Array, p: number): TreeValue {
  return decodeValue(field, b, p, skip(b, p, field.tag));
}

/** Decodes one value of a field. Its bytes, or its length if it is length-delimited, start at `p`. */
function decodeValue(field: Field, b: Uint8Array, p: number, end: number): TreeValue {
  switch (field.type) {
    case "string":
      varint(b, p);
      return decodeText(b, after, end);
    case "bytes":
    case "id":
      varint(b, p);
      return copyBytes(b, after, end);
    case "message":
      varint(b, p);
      return decodeMessage(field.message!, b, after, end);
    case "double":
      decodedEnd = p + 8;
      return double(b, p);
    case "fixed64":
      decodedEnd = p + 8;
      return fixed64(b, p);
    case "sfixed64":
      decodedEnd = p + 8;
      return BigInt.asIntN(64, fixed64(b, p));
    case "fixed32":
      decodedEnd = p + 4;
      return fixed32(b, p);
    default:
      return decodeVarint(field, b, p);
  }
}

function decodeVarint(field: Field, b: Uint8Array, p: number): TreeValue {
  varintHalves(b, p);
  decodedEnd = after;
  switch (field.type) {
    case "uint64":
      return varint64(b, p);
    case "int64":
      return BigInt.asIntN(64, varint64(b, p));
    case "bool":
      return (lowHalf | highHalf) !== 0;
    case "sint32":
      return (lowHalf >>> 1) ^ -(lowHalf & 1);
    case "uint32":
      return lowHalf;
    default:
      return lowHalf | 0;
  }
}

/** Copies into a plain Uint8Array, even if the batch is a Buffer. */
function copyBytes(b: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(b.subarray(start, end));
}
