import { appendLength, appendSnappy, maxSnappyBytes, writeCopies, writeLiterals } from "#codecs/compression";
import { copyView, viewOf } from "#otlp/bytes";

const LENGTH_BYTES = 5;

/**
 * Builds a Snappy block piece by piece, for callers that know which bytes repeat: from literals, from copies of earlier
 * bytes, or from pieces that were built before. Distances count bytes before compression, so a piece is valid in any
 * block after the same bytes.
 */
export class SnappyBlockWriter {
  /** Bytes before compression. */
  length = 0;
  /** The compressed bytes written so far. `reserve` may replace the buffer. */
  bytes: Buffer;
  end = LENGTH_BYTES;
  private view: DataView;

  constructor(capacity = 16_384) {
    this.bytes = Buffer.allocUnsafeSlow(capacity);
    this.view = viewOf(this.bytes);
  }

  /** Makes room for this many more compressed bytes. */
  reserve(size: number): void {
    if (this.end + size <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.end + size));
    grown.set(this.bytes.subarray(0, this.end));
    this.bytes = grown;
    this.view = viewOf(grown);
  }

  /** Writes these bytes unchanged. */
  literals(source: Uint8Array, start: number, end: number): void {
    if (start === end) return;
    this.reserve(end - start + LENGTH_BYTES);
    this.end = writeLiterals(source, start, end, this.bytes, this.end);
    this.length += end - start;
  }

  /** Writes a number as eight bytes, little endian. */
  double(value: number): void {
    this.reserve(9);
    const { view, end } = this;
    view.setUint8(end, (8 - 1) << 2);
    view.setFloat64(end + 1, value, true);
    this.end = end + 9;
    this.length += 8;
  }

  /** Copies `length` bytes, at least four, from `offset` bytes back, which is at most `MAX_SNAPPY_OFFSET`. */
  copy(offset: number, length: number): void {
    this.reserve(3 * Math.ceil(length / 60) + 3);
    this.end = writeCopies(offset, length, this.bytes, this.end);
    this.length += length;
  }

  /** Appends a part of an earlier `bytes` that stands for `length` bytes before compression. */
  piece(piece: DataView, length: number): void {
    const size = piece.byteLength;
    this.reserve(size);
    copyView(piece, 0, this.view, this.end, size);
    this.end += size;
    this.length += length;
  }

  /** Compresses bytes without prior knowledge, searching for repeats within them. */
  compress(source: Uint8Array): void {
    this.reserve(maxSnappyBytes(source.length));
    this.end = appendSnappy(source, this.bytes, this.end);
    this.length += source.length;
  }

  /** Returns the whole block. The writer must not be used again. */
  finish(): Buffer {
    const head = Buffer.alloc(LENGTH_BYTES);
    const size = appendLength(this.length, head, 0);
    const start = LENGTH_BYTES - size;
    this.bytes.set(head.subarray(0, size), start);
    return this.bytes.subarray(start, this.end);
  }
}
