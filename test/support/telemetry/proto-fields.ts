import { after, double, skip, varint, varint64 } from "../../../src/runtime/otlp/bytes/wire.js";

interface ProtoField {
  readonly number: number;
  /** Of a number. */
  readonly value: number;
  /** Of a message, text or packed list. */
  readonly bytes: Uint8Array;
}

function fields(b: Uint8Array): ProtoField[] {
  const found: ProtoField[] = [];
  for (let p = 0; p < b.length; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    const value = (tag & 7) === 1 ? double(b, at) : (tag & 7) === 0 ? Number(varint64(b, at)) : 0;
    if ((tag & 7) === 2) varint(b, at);
    found.push({ number: tag >>> 3, value, bytes: (tag & 7) === 2 ? b.subarray(after, p) : new Uint8Array() });
  }
  return found;
}

/** The fields of this number, in their order. */
export const all = (b: Uint8Array, number: number) => fields(b).filter((field) => field.number === number);
export const numberOf = (b: Uint8Array, number: number) => all(b, number)[0]?.value ?? 0;
export const textOf = (b: Uint8Array, number: number) => Buffer.from(all(b, number)[0]?.bytes ?? []).toString();
