import { THRIFT, ThriftReader } from "./thrift-reader.js";

const VERSION_MASK = 0xffff0000;
const VERSION_1 = 0x80010000;

/** Thrift's binary protocol. */
export class BinaryProtocol extends ThriftReader {
  override readMessageName(): string {
    const head = this.readI32() >>> 0;
    if ((head & VERSION_MASK) >>> 0 !== VERSION_1) {
      if (head >= 0x80000000) throw this.malformed("the message has another version");
      // The older form has no version and starts with the length of the name.
      this.at -= 4;
      const name = this.readText();
      this.advance(1 + 4);
      return name;
    }
    const name = this.readText();
    this.advance(4);
    return name;
  }

  override readI32(): number {
    const { at } = this;
    this.advance(4);
    return this.bytes.readInt32BE(at);
  }

  override readI64(): void {
    const { at } = this;
    this.advance(8);
    this.high = this.bytes.readUInt32BE(at);
    this.low = this.bytes.readUInt32BE(at + 4);
  }

  override readDouble(): number {
    const { at } = this;
    this.advance(8);
    return this.bytes.readDoubleBE(at);
  }

  override readBool(): boolean {
    return this.readByte() !== 0;
  }

  override nextField(): number {
    this.fieldType = this.readByte();
    if (this.fieldType === THRIFT.stop) return -1;
    const { at } = this;
    this.advance(2);
    return this.bytes.readUInt16BE(at);
  }

  protected override readListHead(): void {
    this.elementType = this.readByte();
    this.size = this.readI32();
  }

  protected override readMapHead() {
    return { key: this.readByte(), value: this.readByte(), size: this.readI32() };
  }

  protected override readLength(): number {
    return this.readI32();
  }

  protected override skipInteger(type: number): void {
    this.advance(type === THRIFT.i16 ? 2 : 4);
  }
}
