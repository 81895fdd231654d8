import { ArchiveError } from "./archive-source.js";

/** Every top-level field of an OTLP request is a resource with its records: field 1, with a length. */
const RESOURCE_TAG = 0x0a;
const MAX_LENGTH_BYTES = 5;

/**
 * Cuts the bytes of a long OTLP request into shorter requests of about `pieceBytes`, between resources, while they
 * arrive. A resource stays whole, so it must fit into `maxBytes`.
 */
export class RequestCutter {
  private readonly pieceBytes: number;
  private readonly maxBytes: number;
  private parts: Uint8Array[] = [];
  private size = 0;
  /** The bytes at the start of the parts that are known to be whole fields. */
  private whole = 0;
  /** Nothing can be cut before so many bytes have arrived. */
  private needed: number;

  constructor(pieceBytes: number, maxBytes: number) {
    this.pieceBytes = pieceBytes;
    this.maxBytes = maxBytes;
    this.needed = pieceBytes;
  }

  *push(chunk: Uint8Array): Generator<Uint8Array> {
    this.parts.push(chunk);
    this.size += chunk.length;
    if (this.size >= this.needed) yield* this.cut();
  }

  /** Returns the rest. Throws an `ArchiveError` if it ends inside a field. */
  *end(): Generator<Uint8Array> {
    yield* this.cut();
    if (this.whole > 0) yield this.joined().subarray(0, this.whole);
    if (this.size > this.whole) throw new ArchiveError("it ends in the middle of a resource", { fault: "truncated" });
  }

  private *cut(): Generator<Uint8Array> {
    const bytes = this.joined();
    let start = 0;
    let end = this.whole;
    for (;;) {
      const next = fieldEnd(bytes, end);
      if (next === undefined) {
        this.needed = Math.max(end - start + MAX_LENGTH_BYTES + 1, this.pieceBytes);
        break;
      }
      if (next - end > this.maxBytes)
        throw new ArchiveError(`a resource with its records is larger than ${this.maxBytes} bytes`, {
          fault: "too_large",
        });
      if (next > bytes.length) {
        this.needed = Math.max(next - start, this.pieceBytes);
        break;
      }
      end = next;
      if (end - start < this.pieceBytes) continue;
      yield bytes.subarray(start, end);
      start = end;
    }
    this.parts = [bytes.subarray(start)];
    this.size = bytes.length - start;
    this.whole = end - start;
  }

  private joined(): Uint8Array {
    if (this.parts.length !== 1) this.parts = [Buffer.concat(this.parts, this.size)];
    return this.parts[0]!;
  }
}

/** The end of the field at `at`, which may be beyond the bytes; undefined if its head is not complete. */
function fieldEnd(bytes: Uint8Array, at: number): number | undefined {
  if (at >= bytes.length) return undefined;
  if (bytes[at] !== RESOURCE_TAG) throw new ArchiveError("it is not an OTLP request", { fault: "damaged" });
  let length = 0;
  for (let i = 0; i < MAX_LENGTH_BYTES; i++) {
    const byte = bytes[at + 1 + i];
    if (byte === undefined) return undefined;
    length += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return at + 2 + i + length;
  }
  throw new ArchiveError("it is not an OTLP request", { fault: "damaged" });
}
