import { isUtf8 } from "node:buffer";
import { double, FIXED32, FIXED64, LENGTH_DELIMITED, VARINT, varint64 } from "#otlp/bytes";
import { ExpositionError } from "./series-text.js";

/**
 * Iterates over the fields of an untrusted message: `next` moves to the next field and throws an `ExpositionError` if
 * bytes are missing. Reading a field as another wire type gives the empty value, as if the field were absent.
 */
export class ProtoFields {
  /** The number of the field. */
  field = 0;
  /** Where the value starts; for bytes, after their length. */
  start = 0;
  end = 0;
  readonly bytes: Uint8Array;
  private wire = 0;
  private at: number;
  private readonly limit: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes;
    this.at = start;
    this.limit = end;
  }

  next(): boolean {
    if (this.at >= this.limit) return false;
    const tag = this.varint32();
    this.field = tag >>> 3;
    this.wire = tag & 7;
    if (this.field === 0) throw new ExpositionError("a field has the number 0");
    const size = this.size();
    this.start = this.at;
    this.end = this.at + size;
    if (this.end > this.limit) throw broken();
    this.at = this.end;
    return true;
  }

  /** The message in this field. */
  message(): ProtoFields {
    return new ProtoFields(this.bytes, this.start, this.wire === LENGTH_DELIMITED ? this.end : this.start);
  }

  text(): string {
    if (this.wire !== LENGTH_DELIMITED) return "";
    const bytes = Buffer.from(this.bytes.buffer, this.bytes.byteOffset + this.start, this.end - this.start);
    if (!isUtf8(bytes)) throw new ExpositionError("a text is not valid UTF-8");
    return bytes.toString("utf8");
  }

  double(): number {
    return this.wire === FIXED64 ? double(this.bytes, this.start) : 0;
  }

  unsigned(): number {
    return this.wire === VARINT ? Number(varint64(this.bytes, this.start)) : 0;
  }

  signed(): number {
    return this.wire === VARINT ? Number(BigInt.asIntN(64, varint64(this.bytes, this.start))) : 0;
  }

  /** A sint32 or sint64. */
  zigzag(): number {
    return this.wire === VARINT ? undoZigzag(varint64(this.bytes, this.start)) : 0;
  }

  /** Appends one number or a packed list of numbers. */
  addZigzags(to: number[]): void {
    if (this.wire !== LENGTH_DELIMITED) to.push(this.zigzag());
    else for (const value of this.packedVarints()) to.push(undoZigzag(value));
  }

  addDoubles(to: number[]): void {
    if (this.wire === FIXED64) to.push(this.double());
    if (this.wire !== LENGTH_DELIMITED) return;
    if ((this.end - this.start) % 8 !== 0) throw broken();
    for (let p = this.start; p < this.end; p += 8) to.push(double(this.bytes, p));
  }

  private *packedVarints(): Generator<bigint> {
    for (let p = this.start; p < this.end; ) {
      const end = varintEnd(this.bytes, p, this.end);
      yield varint64(this.bytes, p);
      p = end;
    }
  }

  /** Reads the length and moves to the start of the value. */
  private size(): number {
    switch (this.wire) {
      case VARINT:
        return varintEnd(this.bytes, this.at, this.limit) - this.at;
      case FIXED64:
        return 8;
      case LENGTH_DELIMITED:
        return this.varint32();
      case FIXED32:
        return 4;
      default:
        throw new ExpositionError("a field has a wire type that protobuf no longer supports");
    }
  }

  private varint32(): number {
    const end = varintEnd(this.bytes, this.at, this.limit);
    const value = varint64(this.bytes, this.at);
    this.at = end;
    if (value > 0xffffffffn) throw broken();
    return Number(value);
  }
}

/** Returns where the varint at `p` ends; throws if it does not end before `limit`. */
export function varintEnd(b: Uint8Array, p: number, limit: number): number {
  for (let end = p; end < limit && end < p + 10; end++) if (b[end]! < 128) return end + 1;
  throw broken();
}

function undoZigzag(value: bigint): number {
  return Number((value >> 1n) ^ -(value & 1n));
}

function broken(): ExpositionError {
  return new ExpositionError("the protobuf is cut off or damaged");
}
