import { appendLength, appendSnappy, maxSnappyBytes, writeCopies, writeLiterals } from "#codecs";
import { copyView, viewOf } from "#otlp/bytes";

const LENGTH_BYTES = 5;

/**
 * A block of Snappy that is put together piece by piece, by who knows what repeats: literals, copies of what lies a number of
 * bytes back, or pieces that were put together before. Distances are counted in the bytes before compression, so that a
 * piece can stand in any block behind the same bytes.
 */
export class SnappyBlockWriter {
  /** Bytes before compression. */
  length = 0;
  /** What has been written of the compressed form; may be another buffer after `reserve`. */
  bytes: Buffer;
  end = LENGTH_BYTES;
  private view: DataView;

  constructor(capacity = 16_384) {
    this.bytes = Buffer.allocUnsafeSlow(capacity);
    this.view = viewOf(this.bytes);
  }

  /** Makes sure that so many more compressed bytes fit. */
  reserve(size: number): void {
    if (this.end + size <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.end + size));
    grown.set(this.bytes.subarray(0, this.end));
    this.bytes = grown;
    this.view = viewOf(grown);
  }

  /** These bytes as they are. */
  literals(source: Uint8Array, start: number, end: number): void {
    if (start === end) return;
    this.reserve(end - start + LENGTH_BYTES);
    this.end = writeLiterals(source, start, end, this.bytes, this.end);
    this.length += end - start;
  }

  /** A number as eight bytes, the lowest first. */
  double(value: number): void {
    this.reserve(9);
    const { view, end } = this;
    view.setUint8(end, (8 - 1) << 2);
    view.setFloat64(end + 1, value, true);
    this.end = end + 9;
    this.length += 8;
  }

  /** So many bytes, at least four, that lie `offset` back, which is at most `MAX_SNAPPY_OFFSET`. */
  copy(offset: number, length: number): void {
    this.reserve(3 * Math.ceil(length / 60) + 3);
    this.end = writeCopies(offset, length, this.bytes, this.end);
    this.length += length;
  }

  /** What `bytes` had from one place to another, and stands for so many bytes before compression. */
  piece(piece: DataView, length: number): void {
    const size = piece.byteLength;
    this.reserve(size);
    copyView(piece, 0, this.view, this.end, size);
    this.end += size;
    this.length += length;
  }

  /** Bytes of which nothing is known: repeats within them are looked for. */
  compress(source: Uint8Array): void {
    this.reserve(maxSnappyBytes(source.length));
    this.end = appendSnappy(source, this.bytes, this.end);
    this.length += source.length;
  }

  /** The whole block. The writer is not to be used again. */
  finish(): Buffer {
    const head = Buffer.alloc(LENGTH_BYTES);
    const size = appendLength(this.length, head, 0);
    const start = LENGTH_BYTES - size;
    this.bytes.set(head.subarray(0, size), start);
    return this.bytes.subarray(start, this.end);
  }
}
