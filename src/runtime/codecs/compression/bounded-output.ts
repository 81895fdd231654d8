type DecompressFault = "corrupt" | "too_large" | "no_room";

/** The bytes could not be decompressed, or not within their bounds. */
export class DecompressError extends Error {
  override readonly name = "DecompressError";
  readonly fault: DecompressFault;

  constructor(fault: DecompressFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

/** Limits for a decompression. */
export interface DecompressBounds {
  /** The maximum size of the output in bytes. */
  readonly limit: number;
  /**
   * Asks for memory for this many more bytes; false means there is none. The caller that provides this function
   * releases them.
   */
  reserve(bytes: number): boolean;
}

const FIRST_BYTES = 16 * 1024;

/**
 * The output of our own decoders. It grows with the written data, never with the size that the input claims, and
 * reserves new bytes before it grows. Earlier output stays in place, so repeats can be copied from it.
 */
export class BoundedOutput {
  /** The first `length` bytes are written; room made by `ensure` follows them. */
  bytes: Buffer = Buffer.alloc(0);
  length = 0;
  private readonly bounds: DecompressBounds;

  constructor(bounds: DecompressBounds) {
    this.bounds = bounds;
  }

  /** Makes room for this many more bytes, or throws a `DecompressError`. */
  ensure(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const { limit } = this.bounds;
    if (needed > limit) throw tooLarge(limit);
    const size = Math.min(limit, Math.max(needed, this.bytes.length * 2, FIRST_BYTES));
    if (!this.bounds.reserve(size - this.bytes.length)) throw noRoom();
    const grown = Buffer.allocUnsafeSlow(size);
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  /** Appends `from[start, end)`. */
  append(from: Uint8Array, start: number, end: number): void {
    this.ensure(end - start);
    appendBytes(this.bytes, this.length, from, start, end);
    this.length += end - start;
  }

  /**
   * Appends `count` bytes starting `offset` bytes back. The range may overlap with its own output, which repeats it.
   */
  repeat(offset: number, count: number, floor = 0): void {
    if (offset <= 0 || offset > this.length - floor)
      throw new RangeError("it repeats bytes before the start of the output");
    this.ensure(count);
    const { bytes, length } = this;
    if (offset >= count && count > COPY_LOOP_BYTES) bytes.copyWithin(length, length - offset, length - offset + count);
    else for (let to = length, from = length - offset; to < length + count; ) bytes[to++] = bytes[from++]!;
    this.length = length + count;
  }

  /** Appends a byte `count` times. */
  fill(value: number, count: number): void {
    this.ensure(count);
    this.bytes.fill(value, this.length, this.length + count);
    this.length += count;
  }

  written(): Buffer {
    return this.bytes.subarray(0, this.length);
  }
}

/** Up to this length a loop is faster than a call. */
const COPY_LOOP_BYTES = 48;

/** Copies `from[start, end)` to `to`, which must have room for it. */
export function appendBytes(to: Uint8Array, at: number, from: Uint8Array, start: number, end: number): void {
  if (end - start > COPY_LOOP_BYTES) to.set(from.subarray(start, end), at);
  else for (let i = start, j = at; i < end; ) to[j++] = from[i++]!;
}

export function tooLarge(limit: number): DecompressError {
  return new DecompressError("too_large", `the request is larger than ${limit} bytes when unpacked`);
}

export function noRoom(): DecompressError {
  return new DecompressError("no_room", "no room for the unpacked request");
}
