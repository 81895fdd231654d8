/**
 * Protobuf for the small messages around telemetry: statuses, responses, retry hints.
 *
 * What is read here comes from a peer and is only a courtesy: the reader never throws. It stops at the first byte that
 * makes no sense and gives what it read so far.
 */

/** A field's value: a varint as a bigint, anything length-delimited as bytes. Other wire types are skipped. */
interface ProtoField {
  readonly number: number;
  readonly value: bigint | Uint8Array;
}

const MAX_FIELDS = 64;

export function readFields(bytes: Uint8Array): ProtoField[] {
  const fields: ProtoField[] = [];
  let p = 0;
  while (p < bytes.length && fields.length < MAX_FIELDS) {
    const tag = decodeVarint(bytes, p);
    if (tag === undefined) break;
    const value = decodeVarint(bytes, tag.next);
    const wire = Number(tag.value & 7n);
    if (wire === 1 || wire === 5) {
      p = tag.next + (wire === 1 ? 8 : 4);
      continue;
    }
    if (value === undefined || (wire !== 0 && wire !== 2)) break;
    const number = Number(tag.value >> 3n);
    p = value.next;
    if (wire === 0) {
      fields.push({ number, value: value.value });
      continue;
    }
    if (value.value > BigInt(bytes.length - p)) break;
    const end = p + Number(value.value);
    fields.push({ number, value: bytes.subarray(p, end) });
    p = end;
  }
  return fields;
}

/** The last field of this number if it is bytes; empty otherwise. */
export function bytesField(fields: readonly ProtoField[], number: number): Uint8Array {
  const value = fields.findLast((field) => field.number === number)?.value;
  return value instanceof Uint8Array ? value : EMPTY;
}

export function textField(fields: readonly ProtoField[], number: number): string {
  return Buffer.from(bytesField(fields, number)).toString("utf8");
}

/** The last field of this number as a signed 64-bit integer; 0 if there is none. */
export function intField(fields: readonly ProtoField[], number: number): number {
  const value = fields.findLast((field) => field.number === number)?.value;
  return typeof value === "bigint" ? Number(BigInt.asIntN(64, value)) : 0;
}

/** Writes fields in order. A zero or empty value is left out, as proto3 does. */
export function writeFields(...fields: readonly (readonly [number: number, value: number | string | Uint8Array])[]) {
  const parts: Uint8Array[] = [];
  for (const [number, value] of fields) {
    if (typeof value === "number") {
      if (value !== 0) parts.push(encodeVarint(number << 3), encodeVarint(value));
      continue;
    }
    const bytes = typeof value === "string" ? Buffer.from(value, "utf8") : value;
    if (bytes.length > 0) parts.push(encodeVarint((number << 3) | 2), encodeVarint(bytes.length), bytes);
  }
  return Buffer.concat(parts);
}

const EMPTY = new Uint8Array(0);

function encodeVarint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(Math.trunc(value)));
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

function decodeVarint(bytes: Uint8Array, from: number): { value: bigint; next: number } | undefined {
  let value = 0n;
  for (let i = 0; i < 10 && from + i < bytes.length; i++) {
    const x = bytes[from + i]!;
    value |= BigInt(x & 127) << BigInt(7 * i);
    if (x < 128) return { value, next: from + i + 1 };
  }
  return undefined;
}
