import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT, varint64, WireWriter } from "#otlp/bytes";

/**
 * Protobuf for the small messages around telemetry: statuses, responses, retry hints.
 *
 * The input comes from a peer, so the readers never throw. `readFields` stops at the first invalid byte and returns the
 * fields before it, for messages that are only informative. `readWholeFields` returns all or nothing, for messages that
 * matter.
 */

/** A field's value: a varint as a bigint, a length-delimited one as bytes. Other wire types are skipped. */
interface ProtoField {
  readonly number: number;
  readonly value: bigint | Uint8Array;
}

const MAX_FIELDS = 64;
const MAX_VARINT_BYTES = 10;

export function readFields(bytes: Uint8Array): ProtoField[] {
  const fields: ProtoField[] = [];
  scanFields(bytes, fields);
  return fields;
}

/** Undefined when the bytes are not a complete, valid message. */
export function readWholeFields(bytes: Uint8Array): ProtoField[] | undefined {
  const fields: ProtoField[] = [];
  return scanFields(bytes, fields) === bytes.length ? fields : undefined;
}

/** Returns where it stopped: at the end, or at the beginning of a field that cannot be read. */
function scanFields(bytes: Uint8Array, fields: ProtoField[]): number {
  let p = 0;
  while (p < bytes.length && fields.length < MAX_FIELDS) {
    const tag = decodeVarint(bytes, p);
    if (tag === undefined || tag.value < 8n) break;
    const value = decodeVarint(bytes, tag.next);
    const wire = Number(tag.value & 7n);
    if (wire === FIXED64 || wire === FIXED32) {
      const end = tag.next + (wire === FIXED64 ? 8 : 4);
      if (end > bytes.length) break;
      p = end;
      continue;
    }
    if (value === undefined || (wire !== VARINT && wire !== LENGTH_DELIMITED)) break;
    const number = Number(tag.value >> 3n);
    if (wire === VARINT) {
      fields.push({ number, value: value.value });
      p = value.next;
      continue;
    }
    if (value.value > BigInt(bytes.length - value.next)) break;
    p = value.next + Number(value.value);
    fields.push({ number, value: bytes.subarray(value.next, p) });
  }
  return p;
}

/** The last field with this number if it is bytes; empty otherwise. */
export function bytesField(fields: readonly ProtoField[], number: number): Uint8Array {
  const value = fields.findLast((field) => field.number === number)?.value;
  return value instanceof Uint8Array ? value : EMPTY;
}

export function textField(fields: readonly ProtoField[], number: number): string {
  return Buffer.from(bytesField(fields, number)).toString("utf8");
}

/** The last field with this number as a signed 64-bit integer; 0 if there is none. */
export function intField(fields: readonly ProtoField[], number: number): number {
  const value = fields.findLast((field) => field.number === number)?.value;
  return typeof value === "bigint" ? Number(BigInt.asIntN(64, value)) : 0;
}

/** Writes fields in order. Zero and empty values are left out, as in proto3. */
export function writeFields(
  ...fields: readonly (readonly [number: number, value: number | string | Uint8Array])[]
): Buffer {
  const writer = new WireWriter();
  for (const [number, value] of fields) {
    if (value === 0 || value === "" || (value instanceof Uint8Array && value.length === 0)) continue;
    writer.varint((number << 3) | (typeof value === "number" ? VARINT : LENGTH_DELIMITED));
    if (typeof value === "number") writer.varint64(BigInt(Math.trunc(value)));
    else if (typeof value === "string") writer.text(value);
    else writer.lengthDelimited(value);
  }
  return writer.bytes.subarray(0, writer.length);
}

const EMPTY = new Uint8Array(0);

function decodeVarint(bytes: Uint8Array, from: number): { value: bigint; next: number } | undefined {
  const end = Math.min(from + MAX_VARINT_BYTES, bytes.length);
  let last = from;
  while (last < end && bytes[last]! > 127) last++;
  return last < end ? { value: varint64(bytes, from), next: last + 1 } : undefined;
}
