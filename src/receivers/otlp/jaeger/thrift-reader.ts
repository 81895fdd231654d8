import { MalformedError } from "../../../plugin.js";
import { KeyCache } from "../../../runtime/kit.js";

/** Types of thrift, by the numbers of its binary protocol. */
export const THRIFT = {
  stop: 0,
  bool: 2,
  byte: 3,
  double: 4,
  i16: 6,
  i32: 8,
  i64: 10,
  string: 11,
  struct: 12,
  map: 13,
  set: 14,
  list: 15,
} as const;

/** Nobody nests structs and lists deeper than this; what does could exhaust the stack. */
const MAX_DEPTH = 16;

const KEYS = new KeyCache((b, start, end) => Buffer.prototype.utf8Slice.call(b, start, end));

/**
 * Reads thrift where it lies, from bytes of which nothing is known: every read is within them, or throws a `MalformedError`. Lists
 * cannot claim more elements than there are bytes left.
 */
export abstract class ThriftReader {
  protected readonly bytes: Buffer;
  protected at = 0;
  private depth = 0;
  /** Structs that may still come: the smallest has one byte, and what is made of it takes many times that. */
  private structsLeft: number;

  constructor(bytes: Buffer, maxStructs: number) {
    this.bytes = bytes;
    this.structsLeft = maxStructs;
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  /** The name of the call that a message is. */
  abstract readMessageName(): string;
  abstract readI32(): number;
  abstract readI64(): bigint;
  abstract readDouble(): number;
  abstract readBool(): boolean;
  /** The id of the next field of a struct, or -1 at its end; `fieldType` is then its type. */
  protected abstract readField(): number;
  /** The type and number of a list's elements. */
  protected abstract readListHead(): { readonly type: number; readonly size: number };
  protected abstract readMapHead(): { readonly key: number; readonly value: number; readonly size: number };
  protected abstract readLength(): number;
  protected fieldType = 0;
  /** The field before is known to the compact protocol, and is another one in a nested struct. */
  protected lastField = 0;

  /** Reads a struct: `read` gets each field and says whether it took its value, which is skipped if not. */
  readStruct(read: (id: number, type: number) => boolean): void {
    this.deepen();
    this.structsLeft -= 1;
    if (this.structsLeft < 0) throw this.malformed("it holds too many spans and tags");
    const { lastField } = this;
    this.lastField = 0;
    for (let id = this.readField(); id >= 0; id = this.readField()) {
      const type = this.fieldType;
      if (!read(id, type)) this.skip(type);
    }
    this.lastField = lastField;
    this.depth -= 1;
  }

  /** Reads a list of structs; of anything else it throws. */
  readStructs(read: () => void): void {
    const { type, size } = this.readListHead();
    if (size > 0 && type !== THRIFT.struct) throw this.malformed("expected a list of structs");
    this.checkSize(size);
    for (let i = 0; i < size; i++) read();
  }

  /** It shares memory with the input. */
  readBinary(): Buffer {
    const size = this.readLength();
    const start = this.at;
    this.advance(size);
    return this.bytes.subarray(start, this.at);
  }

  /** What is no UTF-8 is replaced. */
  readText(): string {
    const size = this.readLength();
    const start = this.at;
    this.advance(size);
    return this.bytes.toString("utf8", start, this.at);
  }

  /** The same of a text that comes again and again, such as the key of a tag. */
  readKey(): string {
    const size = this.readLength();
    const start = this.at;
    this.advance(size);
    return KEYS.get(this.bytes, start, this.at);
  }

  protected skip(type: number): void {
    switch (type) {
      case THRIFT.bool:
        this.readBool();
        return;
      case THRIFT.byte:
        return this.advance(1);
      case THRIFT.double:
        return this.advance(8);
      case THRIFT.i16:
      case THRIFT.i32:
        this.skipInteger(type);
        return;
      case THRIFT.i64:
        this.readI64();
        return;
      case THRIFT.string:
        return this.advance(this.readLength());
      case THRIFT.struct:
        return this.readStruct(() => false);
      case THRIFT.map:
        return this.skipMap();
      case THRIFT.set:
      case THRIFT.list:
        return this.skipList();
      default:
        throw this.malformed(`no type of thrift has the number ${type}`);
    }
  }

  protected abstract skipInteger(type: number): void;

  private skipList(): void {
    const { type, size } = this.readListHead();
    this.checkSize(size);
    this.deepen();
    for (let i = 0; i < size; i++) this.skipElement(type);
    this.depth -= 1;
  }

  private skipMap(): void {
    const { key, value, size } = this.readMapHead();
    this.checkSize(size);
    this.deepen();
    for (let i = 0; i < size; i++) {
      this.skipElement(key);
      this.skipElement(value);
    }
    this.depth -= 1;
  }

  /** A boolean in a list is a byte, also where one that is a field has none. */
  protected skipElement(type: number): void {
    if (type === THRIFT.bool) this.advance(1);
    else this.skip(type);
  }

  private deepen(): void {
    this.depth += 1;
    if (this.depth > MAX_DEPTH) throw this.malformed(`nested more than ${MAX_DEPTH} deep`);
  }

  /** No element takes less than a byte. */
  private checkSize(size: number): void {
    if (size < 0 || size > this.bytes.length - this.at)
      throw this.malformed(`a list of ${size} is longer than what is left`);
  }

  /** Passes over bytes, all of which must be there. */
  protected advance(size: number): void {
    if (size < 0 || size > this.bytes.length - this.at) throw this.malformed("the bytes end within a value");
    this.at += size;
  }

  protected readByte(): number {
    const { at } = this;
    this.advance(1);
    return this.bytes[at]!;
  }

  protected malformed(message: string): MalformedError {
    return new MalformedError(`no thrift of Jaeger: ${message}`, this.at);
  }
}
