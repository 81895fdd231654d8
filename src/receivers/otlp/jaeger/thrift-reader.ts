import { MalformedError } from "#otlp/signals";

/** Thrift types, by their numbers in the binary protocol. */
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

/** Deeper nesting of structs and lists is rejected, because it could exhaust the stack. */
const MAX_DEPTH = 16;

/**
 * Reads untrusted thrift in place: every read stays within the bytes or throws a `MalformedError`. A list cannot claim
 * more elements than there are bytes left.
 */
export abstract class ThriftReader {
  readonly bytes: Buffer;
  protected at = 0;
  private depth = 0;
  /** The number of structs still allowed: the smallest takes one byte on the wire and many times that in memory. */
  private structsLeft: number;

  constructor(bytes: Buffer, maxStructs: number) {
    this.bytes = bytes;
    this.structsLeft = maxStructs;
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  /** Reads the head of a message and returns the name of its call. */
  abstract readMessageName(): string;
  abstract readI32(): number;
  /** Reads a 64-bit number and sets `low` and `high` to its unsigned halves. */
  abstract readI64(): void;
  low = 0;
  high = 0;
  abstract readDouble(): number;
  abstract readBool(): boolean;
  /**
   * Returns the id of the struct's next field, or -1 at its end, and sets `fieldType`. The field's value must then be
   * read or skipped.
   */
  abstract nextField(): number;
  fieldType = 0;
  /** The id of the previous field, which the compact protocol builds on. Nested structs have their own. */
  protected lastField = 0;
  /** Reads the type and number of a list's elements. */
  protected abstract readListHead(): void;
  protected elementType = 0;
  protected size = 0;
  protected abstract readMapHead(): { readonly key: number; readonly value: number; readonly size: number };
  protected abstract readLength(): number;

  get position(): number {
    return this.at;
  }

  /** Starts a struct; `nextField` then returns its fields. Pass the result to `endStruct`. */
  beginStruct(): number {
    this.enterLevel();
    this.structsLeft -= 1;
    if (this.structsLeft < 0) throw this.malformed("it holds too many spans and tags");
    const { lastField } = this;
    this.lastField = 0;
    return lastField;
  }

  endStruct(outer: number): void {
    this.lastField = outer;
    this.depth -= 1;
  }

  /** Starts a list of structs and returns their number. Throws if the elements are not structs. */
  beginStructs(): number {
    this.readListHead();
    const { size } = this;
    if (size > 0 && this.elementType !== THRIFT.struct) throw this.malformed("expected a list of structs");
    this.checkSize(size);
    return size;
  }

  /** Skips a text or binary value: returns where it starts; it ends at `position`. */
  readRange(): number {
    const size = this.readLength();
    const start = this.at;
    this.advance(size);
    return start;
  }

  /** Invalid UTF-8 is replaced. */
  readText(): string {
    const start = this.readRange();
    return this.bytes.toString("utf8", start, this.at);
  }

  /** Skips a value of this type. */
  skip(type: number): void {
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
        return this.skipStruct();
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

  private skipStruct(): void {
    const outer = this.beginStruct();
    while (this.nextField() >= 0) this.skip(this.fieldType);
    this.endStruct(outer);
  }

  private skipList(): void {
    this.readListHead();
    const { elementType: type, size } = this;
    this.checkSize(size);
    this.enterLevel();
    for (let i = 0; i < size; i++) this.skipElement(type);
    this.depth -= 1;
  }

  private skipMap(): void {
    const { key, value, size } = this.readMapHead();
    this.checkSize(size);
    this.enterLevel();
    for (let i = 0; i < size; i++) {
      this.skipElement(key);
      this.skipElement(value);
    }
    this.depth -= 1;
  }

  /** A boolean in a list takes one byte, even where a boolean field has none. */
  protected skipElement(type: number): void {
    if (type === THRIFT.bool) this.advance(1);
    else this.skip(type);
  }

  private enterLevel(): void {
    this.depth += 1;
    if (this.depth > MAX_DEPTH) throw this.malformed(`nested more than ${MAX_DEPTH} deep`);
  }

  /** Each element takes at least one byte, so a larger size cannot be true. */
  private checkSize(size: number): void {
    if (size < 0 || size > this.bytes.length - this.at)
      throw this.malformed(`a list of ${size} is longer than what is left`);
  }

  /** Skips bytes. All of them must exist. */
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
