import { after, highHalf, lowHalf, varint, varintHalves } from "#otlp/bytes";
import { THRIFT, ThriftReader } from "./thrift-reader.js";

const PROTOCOL = 0x82;
const VERSION = 1;
const MAX_VARINT_BYTES = 10;

/** Types by their numbers in the compact protocol; 1 and 2 are the booleans true and false. */
const TYPES: readonly number[] = [
  THRIFT.stop,
  THRIFT.bool,
  THRIFT.bool,
  THRIFT.byte,
  THRIFT.i16,
  THRIFT.i32,
  THRIFT.i64,
  THRIFT.double,
  THRIFT.string,
  THRIFT.list,
  THRIFT.set,
  THRIFT.map,
  THRIFT.struct,
];

export class CompactProtocol extends ThriftReader {
  /** The value of a boolean field, which the compact protocol encodes in the field's type. */
  private fieldValue = false;

  override readMessageName(): string {
    if (this.readByte() !== PROTOCOL) throw this.malformed("this is not a message of the compact protocol");
    if ((this.readByte() & 0x1f) !== VERSION) throw this.malformed("the message has another version");
    this.skipInteger();
    return this.readText();
  }

  override readI32(): number {
    const value = this.readVarint();
    return (value >>> 1) ^ -(value & 1);
  }

  override readI64(): void {
    this.checkVarint();
    varintHalves(this.bytes, this.at);
    this.at = after;
    const sign = -(lowHalf & 1);
    this.low = (((lowHalf >>> 1) | (highHalf << 31)) ^ sign) >>> 0;
    this.high = ((highHalf >>> 1) ^ sign) >>> 0;
  }

  /** Unlike all other numbers, a double is written in little-endian order. */
  override readDouble(): number {
    const { at } = this;
    this.advance(8);
    return this.bytes.readDoubleLE(at);
  }

  override readBool(): boolean {
    return this.fieldValue;
  }

  override nextField(): number {
    const head = this.readByte();
    if (head === 0) return -1;
    this.fieldType = this.typeOf(head & 15);
    this.fieldValue = (head & 15) === 1;
    this.lastField = head >= 16 ? this.lastField + (head >> 4) : this.readI32();
    if (this.lastField < 0) throw this.malformed("the id of a field is negative");
    return this.lastField;
  }

  protected override readListHead(): void {
    const head = this.readByte();
    const size = head >> 4;
    this.elementType = this.typeOf(head & 15);
    this.size = size === 15 ? this.readLength() : size;
  }

  protected override readMapHead() {
    const size = this.readLength();
    if (size === 0) return { key: THRIFT.byte, value: THRIFT.byte, size };
    const types = this.readByte();
    return { key: this.typeOf(types >> 4), value: this.typeOf(types & 15), size };
  }

  protected override readLength(): number {
    return this.readVarint();
  }

  protected override skipInteger(): void {
    this.readVarint();
  }

  private typeOf(number: number): number {
    const type = TYPES[number];
    if (type === undefined || number === 0) throw this.malformed(`no type of thrift has the number ${number}`);
    return type;
  }

  /** Up to 32 bits. */
  private readVarint(): number {
    this.checkVarint();
    const value = varint(this.bytes, this.at);
    this.at = after;
    return value;
  }

  /** Checks that a varint is complete and at most 64 bits long, so it can be read without further checks. */
  private checkVarint(): void {
    const { bytes, at } = this;
    let end = at;
    while (end < bytes.length && bytes[end]! > 127) end++;
    if (end - at >= MAX_VARINT_BYTES) throw this.malformed("a number has more than ten bytes");
    if (end === bytes.length) throw this.malformed("the bytes end within a value");
  }
}
