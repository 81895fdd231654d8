import { copyView, fieldTag, putVarint, stepOver, varintSize, viewOf } from "./wire.js";

/**
 * A growing buffer of wire bytes.
 *
 * Sub-messages are written forwards: `begin` leaves room for the length, and `end` fills it in and moves the body only
 * if the length takes more or fewer bytes than expected. Callers that know the likely size pass it as a hint, so the
 * body almost never moves.
 */
export class WireWriter {
  bytes: Buffer;
  length = 0;
  /** Bytes of the source, at the end of the buffer, that are still to be taken or skipped. */
  sourceRemaining = 0;
  private source: Uint8Array | undefined;
  private dataView: DataView | undefined;
  private replacedUpTo = 0;
  private readonly openMessages: number[] = [];

  constructor(capacity = 1024) {
    this.bytes = Buffer.allocUnsafeSlow(Math.max(capacity, 64));
  }

  /**
   * A writer for a changed form of `source`, which is placed in the same buffer after `room` free bytes. So
   * `takeSource` moves bytes within one buffer, at a third of the cost of copying them from another one.
   */
  static rewriting(source: Uint8Array, room: number): WireWriter {
    const writer = new WireWriter(source.length + room);
    writer.bytes.set(source, writer.bytes.length - source.length);
    writer.source = source;
    writer.sourceRemaining = source.length;
    return writer;
  }

  /** Forgets everything written, including unfinished sub-messages, and keeps the buffer. */
  clear(): void {
    this.length = 0;
    if (this.openMessages.length > 0) this.openMessages.length = 0;
  }

  /** The data written next replaces the source up to this position; `copy` may still read from it. */
  replaceUpTo(position: number): void {
    this.replacedUpTo = position;
  }

  /** Makes room for `size` more bytes. */
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

  /** A view of `bytes`, for writing several bytes at a time. It changes after `reserve`. */
  get view(): DataView {
    this.dataView ??= viewOf(this.bytes);
    return this.dataView;
  }

  /** Copies the next `size` bytes of the source unchanged. */
  takeSource(size: number): void {
    const { bytes, length } = this;
    const from = bytes.length - this.sourceRemaining;
    if (size < SHORT_MOVE) for (let i = 0; i < size; i++) bytes[length + i] = bytes[from + i]!;
    else bytes.copyWithin(length, from, from + size);
    this.length = length + size;
    this.sourceRemaining -= size;
  }

  /**
   * Copies the source up to the end of the last of `count` ordered ranges and replaces each range with `insert`. The
   * parts between them are mostly short.
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

  /** Skips the next `size` bytes of the source. */
  skipSource(size: number): void {
    this.sourceRemaining -= size;
  }

  /** The written bytes. They share memory with the writer, so use them before writing more. */
  written(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  /** Writes an unsigned integer of up to 32 bits. */
  varint(value: number): void {
    this.reserve(5);
    this.length = putVarint(this.bytes, this.length, value >>> 0);
  }

  /** Writes an integer of up to 64 bits; a negative one takes ten bytes, as in protobuf. */
  varint64(value: bigint): void {
    if (value >= 0n && value < 0x80000000n) return this.varint(Number(value));
    this.varintOfHalves(Number(BigInt.asUintN(32, value)), Number(BigInt.asUintN(32, value >> 32n)));
  }

  /** Writes an integer given as two 32-bit halves. */
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

  /** Writes a whole number that a double holds exactly; a negative one takes ten bytes. */
  varintOfNumber(value: number): void {
    this.varintOfHalves(value >>> 0, Math.floor(value / TWO_TO_32) >>> 0);
  }

  /** Writes a signed integer of up to 32 bits as protobuf's sint32. */
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

  /** Writes a whole number that a double holds exactly in eight bytes. */
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

  /** Copies the fields of the message [start, end) of other bytes, except those with these tags. */
  copyFieldsExcept(source: Uint8Array, start: number, end: number, tags: readonly number[]): void {
    let copied = start;
    for (let p = start; p < end; ) {
      const at = p;
      p = stepOver(source, p);
      if (!tags.includes(fieldTag)) continue;
      this.copy(source, copied, at);
      copied = p;
    }
    this.copy(source, copied, end);
  }

  /** Copies [from, to) of other bytes. */
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

  /** Copies `size` bytes of other memory, starting at `from`; for short ranges, where views are faster. */
  copyView(source: DataView, from: number, size: number): void {
    this.reserve(size);
    copyView(source, from, this.view, this.length, size);
    this.length += size;
  }

  /** Writes a length and then these bytes. */
  lengthDelimited(value: Uint8Array): void {
    this.varint(value.length);
    this.copy(value, 0, value.length);
  }

  /** Writes a length and then this text in UTF-8. */
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

  /** Measures the text first, so no more room is made than it needs. */
  private longText(value: string): void {
    const size = Buffer.byteLength(value);
    this.varint(size);
    this.reserve(size);
    this.bytes.write(value, this.length, size, "utf8");
    this.length += size;
  }

  /** Opens a sub-message after its tag. `hint` is its likely length. */
  begin(hint = 0): void {
    const room = varintSize(hint);
    this.reserve(room);
    this.length += room;
    this.openMessages.push(this.length, room);
  }

  /** Closes the last opened sub-message. */
  end(): void {
    const room = this.openMessages.pop()!;
    const start = this.openMessages.pop()!;
    this.fixLength(start, room);
  }

  /** Corrects the length of the message whose body starts at `start`; the old length takes `room` bytes. */
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

  /** Replaces [from, to) of the written bytes. */
  replace(from: number, to: number, insert: Uint8Array): void {
    this.reserve(insert.length);
    this.bytes.copyWithin(from + insert.length, to, this.length);
    this.bytes.set(insert, from);
    this.length += insert.length - (to - from);
  }

  /** Writes a short text in place if it is ASCII. Otherwise writes nothing and returns false. */
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

/** Below this length a loop is faster than a built-in, which needs a view of the source. */
const SHORT_COPY = 48;

/** Up to this length writing a text at once is faster than measuring it first, which doubles the time. */
const LONG_TEXT = 4096;

/** The maximum number of UTF-8 bytes for one UTF-16 unit of a text. */
const MAX_CHARACTER_SIZE = 3;

/** The same within one buffer, where no view is needed. */
const SHORT_MOVE = 24;

const TWO_TO_32 = 2 ** 32;

const scratch = new DataView(new ArrayBuffer(8));

/**
 * Transforms wire bytes in one pass from left to right.
 *
 * Nothing is copied until something changes. `copiedUpTo` is how much of the source has been copied to the output; the
 * source from there up to the current position is still to be copied unchanged. So the output position of anything not
 * yet copied is known. Code that changes something inside a message then closes that message and each one around it:
 * `closeMessage` corrects a length that has changed.
 */
export class Rewriter {
  readonly bytes: Uint8Array;
  private readonly room: number;
  private out: WireWriter | undefined;

  /** `room` is how much the bytes will probably grow. Most changes add a little. */
  constructor(bytes: Uint8Array, room: number = (bytes.length >> 2) + 512) {
    this.bytes = bytes;
    this.room = room;
  }

  get changed(): boolean {
    return this.out !== undefined;
  }

  private get copiedUpTo(): number {
    return this.out === undefined ? 0 : this.bytes.length - this.out.sourceRemaining;
  }

  /** The output position for this position of the source, which must not have been copied yet. */
  outputPosition(at: number): number {
    return this.out === undefined ? at : this.out.length + at - this.copiedUpTo;
  }

  /** Copies everything up to this position and returns the output. */
  copyTo(at: number): WireWriter {
    this.out ??= WireWriter.rewriting(this.bytes, this.room);
    const size = at - this.copiedUpTo;
    if (size > 0) this.out.takeSource(size);
    return this.out;
  }

  /** Skips the source up to this position; write a replacement to the output returned by `copyTo`. */
  skipTo(at: number): void {
    this.out!.skipSource(at - this.copiedUpTo);
  }

  /** Removes [from, to). */
  remove(from: number, to: number): void {
    this.copyTo(from);
    this.skipTo(to);
  }

  /** Removes all output since `outStart` and the source up to `at`. */
  removeSince(outStart: number, at: number): void {
    const out = this.copyTo(this.copiedUpTo + Math.max(0, outStart - (this.out?.length ?? 0)));
    out.length = outStart;
    this.skipTo(at);
  }

  /** Corrects the length of the message [start, end) whose body starts at `outStart` in the output. */
  closeMessage(start: number, end: number, outStart: number, lengthRoom: number): void {
    if (this.out === undefined) return;
    const size = this.outputPosition(end) - outStart;
    if (size === end - start) return;
    if (varintSize(size) === lengthRoom) putVarint(this.out.bytes, outStart - lengthRoom, size);
    else this.copyTo(end).fixLength(outStart, lengthRoom);
  }

  /** Returns the whole changed output. */
  finish(): Uint8Array {
    return this.copyTo(this.bytes.length).written();
  }
}
