import { decodeText, KeyCache } from "#otlp/bytes";
import { MalformedError } from "../../plugin.js";

const [VARINT, FIXED64, LENGTH_DELIMITED, FIXED32] = [0, 1, 2, 5];

/** A longer list of numbers takes more memory than any real one. */
const MAX_NUMBERS = 40_000;

const names = new KeyCache<string>(decodeText);

/** Reads the fields of a protobuf message from outside, one after the other. Throws a `MalformedError` if it is none. */
export class FieldReader {
  /** Field number and wire type of the current field. */
  field = 0;
  private wireType = 0;
  /** The value of the current field begins here; the next field, after its value. */
  private at: number;
  private next: number;
  private readonly bytes: Buffer;
  private readonly end: number;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = start;
    this.next = start;
    this.end = end;
  }

  /** Moves to the next field; false at the end. */
  step(): boolean {
    if (this.next >= this.end) return false;
    const tag = this.varint(this.next);
    this.field = Math.floor(tag / 8);
    this.wireType = tag % 8;
    this.at = this.position;
    this.next = this.valueEnd();
    if (this.next > this.end || this.field === 0) throw malformed(this.at);
    return true;
  }

  private position = 0;

  /** Reads an unsigned number; those beyond 2^53 are not exact. Leaves the position after it in `position`. */
  private varint(start: number): number {
    const first = this.bytes[start]!;
    if (first < 128 && start < this.end) {
      this.position = start + 1;
      return first;
    }
    let value = 0;
    let factor = 1;
    for (let at = start; at < this.end && at < start + 10; at++) {
      const byte = this.bytes[at]!;
      value += (byte & 127) * factor;
      factor *= 128;
      if (byte < 128) {
        this.position = at + 1;
        return value;
      }
    }
    throw malformed(start);
  }

  private valueEnd(): number {
    switch (this.wireType) {
      case VARINT:
        this.varint(this.at);
        return this.position;
      case FIXED64:
        return this.at + 8;
      case LENGTH_DELIMITED: {
        const length = this.varint(this.at);
        this.at = this.position;
        return this.at + length;
      }
      case FIXED32:
        return this.at + 4;
      default:
        throw malformed(this.at);
    }
  }

  private expect(wireType: number): void {
    if (this.wireType !== wireType) throw malformed(this.at);
  }

  uint(): number {
    this.expect(VARINT);
    return this.varint(this.at);
  }

  /** A signed number of 64 bits, which takes ten bytes if it is negative. */
  int(): number {
    this.expect(VARINT);
    if (this.next - this.at < 10) return this.varint(this.at);
    return Number(BigInt.asIntN(64, bigVarint(this.bytes, this.at)));
  }

  sint(): number {
    return zigzag(this.uint());
  }

  double(): number {
    this.expect(FIXED64);
    return this.bytes.readDoubleLE(this.at);
  }

  /** Where the eight bytes of the current field are. */
  fixed64At(): number {
    this.expect(FIXED64);
    return this.at;
  }

  text(): string {
    this.expect(LENGTH_DELIMITED);
    return decodeText(this.bytes, this.at, this.next);
  }

  /** The same for names, which repeat: known ones are not decoded again. */
  name(): string {
    this.expect(LENGTH_DELIMITED);
    return names.get(this.bytes, this.at, this.next);
  }

  /** A reader of the message in the current field. */
  message(): FieldReader {
    this.expect(LENGTH_DELIMITED);
    return new FieldReader(this.bytes, this.at, this.next);
  }

  /** Numbers in a row, packed or as a single field. */
  uints(into: number[]): void {
    if (this.wireType !== LENGTH_DELIMITED) {
      into.push(this.uint());
      return;
    }
    for (let at = this.at; at < this.next; at = this.position)
      if (into.push(this.varint(at)) > MAX_NUMBERS) throw malformed(at);
    if (this.position > this.next) throw malformed(this.at);
  }

  sints(into: number[]): void {
    const from = into.length;
    this.uints(into);
    for (let i = from; i < into.length; i++) into[i] = zigzag(into[i]!);
  }

  doubles(into: number[]): void {
    if (this.wireType !== LENGTH_DELIMITED) {
      into.push(this.double());
      return;
    }
    if ((this.next - this.at) % 8 !== 0) throw malformed(this.at);
    for (let at = this.at; at < this.next; at += 8) into.push(this.bytes.readDoubleLE(at));
  }
}

function zigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

function bigVarint(bytes: Buffer, start: number): bigint {
  let value = 0n;
  for (let i = 0; i < 10; i++) value |= BigInt(bytes[start + i]! & 127) << BigInt(7 * i);
  return value;
}

function malformed(at: number): MalformedError {
  return new MalformedError("expected a request of remote write", at);
}
