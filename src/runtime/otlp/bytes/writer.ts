import { copyView, putVarint, varintSize, viewOf } from "./wire.js";

/**
 * A growing buffer of wire bytes.
 *
 * A sub-message is written forwards: `begin` leaves room for its length, `end` fills it in, and moves the body only
 * when the length takes more or fewer bytes than were left free. Callers that know the likely size pass it as a hint,
 * so that the body moves almost never.
 */
export class WireWriter {
  bytes: Buffer;
  length = 0;
  /** How many bytes of the source, which lie at the end of the buffer, are still to be taken or skipped. */
  sourceRemaining = 0;
  private source: Uint8Array | undefined;
  private dataView: DataView | undefined;
  private replacedUpTo = 0;
  private readonly openMessages: number[] = [];

  constructor(capacity = 1024) {
    this.bytes = Buffer.allocUnsafeSlow(Math.max(capacity, 64));
  }

  /**
   * A writer for a changed form of `source`, which lies in the same buffer behind `room` free bytes. So `takeSource` moves
   * bytes within one buffer, at a third of what it costs to copy as many from another one.
   */
  static rewriting(source: Uint8Array, room: number): WireWriter {
    const writer = new WireWriter(source.length + room);
    writer.bytes.set(source, writer.bytes.length - source.length);
    writer.source = source;
    writer.sourceRemaining = source.length;
    return writer;
  }

  /** Forgets all that was written, also what was begun and never ended, and keeps the buffer. */
  clear(): void {
    this.length = 0;
    if (this.openMessages.length > 0) this.openMessages.length = 0;
  }

  /** What is written next stands in the place of the source up to this position: `copy` may take from it. */
  replaceUpTo(position: number): void {
    this.replacedUpTo = position;
  }

  /** Makes sure that `size` more bytes fit. */
  reserve(size: number): void {
    if (this.length + size > this.bytes.length - this.sourceRemaining) this.grow(size);
  }

  private grow(size: number): void {
    const { bytes, length, sourceRemaining } = this;
    const grown = Buffer.allocUnsafeSlow(Math.max(length + size + sourceRemaining, bytes.length * 2));
    grown.set(bytes.subarray(0, length));
    if (sourceRemaining > 0) grown.set(bytes.subarray(bytes.length - sourceRemaining), grown.length - sourceRemaining);
    this.bytes = grown;
    this.dataView = undefined;
  }

  /** The same memory as `bytes`, for who writes several at a time; another one after `reserve`. */
  get view(): DataView {
    this.dataView ??= viewOf(this.bytes);
    return this.dataView;
  }

  /** The next `size` bytes of the source, as they are. */
  takeSource(size: number): void {
    const { bytes, length } = this;
    const from = bytes.length - this.sourceRemaining;
    if (size < SHORT_MOVE) for (let i = 0; i < size; i++) bytes[length + i] = bytes[from + i]!;
    else bytes.copyWithin(length, from, from + size);
    this.length = length + size;
    this.sourceRemaining -= size;
  }

  /**
   * The source up to the last of `count` ranges of it, which are in order, with these bytes in the place of each. Most
   * that is between them is short.
   */
  takeSourceReplacing(starts: readonly number[], ends: readonly number[], count: number, insert: Uint8Array): void {
    this.reserve(insert.length * count);
    const { bytes } = this;
    const sourceAt = bytes.length - this.source!.length;
    let from = bytes.length - this.sourceRemaining;
    let at = this.length;
    for (let i = 0; i < count; i++) {
      const to = sourceAt + starts[i]!;
      if (to - from < SHORT_MOVE) while (from < to) bytes[at++] = bytes[from++]!;
      else {
        bytes.copyWithin(at, from, to);
        at += to - from;
      }
      for (let k = 0; k < insert.length; k++) bytes[at++] = insert[k]!;
      from = sourceAt + ends[i]!;
    }
    this.length = at;
    this.sourceRemaining = bytes.length - from;
  }

  /** Leaves the next `size` bytes of the source out. */
  skipSource(size: number): void {
    this.sourceRemaining -= size;
  }

  /** What was written, sharing memory with the writer: use it before writing on, or never write on. */
  written(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  /** An unsigned integer of up to 32 bits. */
  varint(value: number): void {
    this.reserve(5);
    this.length = putVarint(this.bytes, this.length, value >>> 0);
  }

  /** Any integer of up to 64 bits; a negative one as protobuf does it, in ten bytes. */
  varint64(value: bigint): void {
    if (value >= 0n && value < 0x80000000n) return this.varint(Number(value));
    this.varintOfHalves(Number(BigInt.asUintN(32, value)), Number(BigInt.asUintN(32, value >> 32n)));
  }

  /** An integer given as two halves of 32 bits. */
  varintOfHalves(low: number, high: number): void {
    this.reserve(10);
    const { bytes } = this;
    let at = this.length;
    while (high !== 0) {
      bytes[at++] = (low & 127) | 128;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    this.length = putVarint(bytes, at, low);
  }

  /** A whole number that a double holds; a negative one in ten bytes. */
  varintOfNumber(value: number): void {
    this.varintOfHalves(value >>> 0, Math.floor(value / TWO_TO_32) >>> 0);
  }

  /** A signed integer of up to 32 bits, as protobuf's sint32. */
  zigzag(value: number): void {
    this.varint((value << 1) ^ (value >> 31));
  }

  fixed32(value: number): void {
    this.reserve(4);
    for (let i = 0; i < 4; i++) this.bytes[this.length++] = (value >>> (8 * i)) & 255;
  }

  /** The same in eight bytes. */
  fixed64OfHalves(low: number, high: number): void {
    this.fixed32(low);
    this.fixed32(high);
  }

  /** A whole number that a double holds, in eight bytes. */
  fixed64OfNumber(value: number): void {
    this.fixed64OfHalves(value >>> 0, Math.floor(value / TWO_TO_32) >>> 0);
  }

  fixed64(value: bigint): void {
    this.fixed32(Number(BigInt.asUintN(32, value)));
    this.fixed32(Number(BigInt.asUintN(32, value >> 32n)));
  }

  double(value: number): void {
    this.reserve(8);
    scratch.setFloat64(0, value, true);
    for (let i = 0; i < 8; i++) this.bytes[this.length++] = scratch.getUint8(i);
  }

  /** [from, to) of other bytes, as they are. */
  copy(source: Uint8Array, from: number, to: number): void {
    const size = to - from;
    if (source === this.source && to <= this.replacedUpTo) {
      const ahead = from - source.length + this.sourceRemaining;
      if (ahead >= 0) {
        this.skipSource(ahead);
        this.takeSource(size);
        return;
      }
    }
    this.reserve(size);
    if (size < SHORT_COPY) {
      const { bytes } = this;
      let at = this.length;
      for (let i = from; i < to; i++) bytes[at++] = source[i]!;
    } else {
      this.bytes.set(size === source.length ? source : source.subarray(from, to), this.length);
    }
    this.length += size;
  }

  /** `size` bytes from `from` on of other memory, as they are: for short ones, which are quicker through views. */
  copyView(source: DataView, from: number, size: number): void {
    this.reserve(size);
    copyView(source, from, this.view, this.length, size);
    this.length += size;
  }

  /** A length and then these bytes. */
  lengthDelimited(value: Uint8Array): void {
    this.varint(value.length);
    this.copy(value, 0, value.length);
  }

  /** A length and then this text in UTF-8. */
  text(value: string): void {
    const { length } = value;
    if (length < SHORT_COPY && this.writeShortAscii(value)) return;
    if (length > LONG_TEXT) return this.longText(value);
    const room = varintSize(length); // most texts are ASCII
    this.reserve(length * MAX_CHARACTER_SIZE + room + 1);
    this.length += room;
    const start = this.length;
    this.length += this.bytes.write(value, start);
    this.fixLength(start, room);
  }

  /** Measured first, so that no more room is made than it takes. */
  private longText(value: string): void {
    const size = Buffer.byteLength(value);
    this.varint(size);
    this.reserve(size);
    this.bytes.write(value, this.length, size, "utf8");
    this.length += size;
  }

  /** Opens a sub-message behind its tag. `hint` is the length it will probably have. */
  begin(hint = 0): void {
    const room = varintSize(hint);
    this.reserve(room);
    this.length += room;
    this.openMessages.push(this.length, room);
  }

  /** Closes the sub-message opened last. */
  end(): void {
    const room = this.openMessages.pop()!;
    const start = this.openMessages.pop()!;
    this.fixLength(start, room);
  }

  /** The bytes from `start` on are a message behind a length of `room` bytes that is not right any more. */
  fixLength(start: number, room: number): void {
    const size = this.length - start;
    const needed = varintSize(size);
    if (needed !== room) {
      this.reserve(needed);
      this.bytes.copyWithin(start - room + needed, start, this.length);
      this.length += needed - room;
    }
    putVarint(this.bytes, start - room, size);
  }

  /** Puts other bytes in the place of [from, to) of what was already written. */
  replace(from: number, to: number, insert: Uint8Array): void {
    this.reserve(insert.length);
    this.bytes.copyWithin(from + insert.length, to, this.length);
    this.bytes.set(insert, from);
    this.length += insert.length - (to - from);
  }

  /** A short text in place if it is ASCII; false, with nothing written, if it is not. */
  private writeShortAscii(value: string): boolean {
    const { length } = value;
    this.reserve(length + 1);
    const { bytes } = this;
    let at = this.length;
    bytes[at++] = length;
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i);
      if (code > 127) return false;
      bytes[at++] = code;
    }
    this.length = at;
    return true;
  }
}

/** Below this a loop beats the call of a built-in, with a view of the source to be made for it. */
const SHORT_COPY = 48;

/** Up to here writing a text at once beats measuring it first, which takes as long again. */
const LONG_TEXT = 4096;

/** The most bytes of UTF-8 that one of a text's UTF-16 units takes. */
const MAX_CHARACTER_SIZE = 3;

/** The same within one buffer, where no view is needed. */
const SHORT_MOVE = 24;

const TWO_TO_32 = 2 ** 32;

const scratch = new DataView(new ArrayBuffer(8));
