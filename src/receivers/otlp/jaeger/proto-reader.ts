import { FIXED32, FIXED64, highHalf, LENGTH_DELIMITED, lowHalf, VARINT, varintHalves } from "#otlp/bytes";
import { MalformedError } from "#otlp/signals";

const MAX_VARINT_BYTES = 10;

/**
 * Reads untrusted protobuf in place and checks every field as it is read. Each message counts towards the limit of
 * elements.
 */
export class ProtoReader {
  readonly bytes: Buffer;
  /** Results of the last `field` call: the tag and the start of the value, after its length if it has one. */
  protected tag = 0;
  protected valueStart = 0;
  private elementsLeft: number;

  constructor(bytes: Buffer, maxElements: number) {
    this.bytes = bytes;
    this.elementsLeft = maxElements;
  }

  /** Reads a number; only its small values have a meaning. */
  protected integer(at: number): number {
    const byte = this.bytes[at]!;
    if (byte < 128) return byte;
    varintHalves(this.bytes, at);
    return highHalf * 2 ** 32 + lowHalf;
  }

  protected element(): void {
    this.elementsLeft -= 1;
    if (this.elementsLeft < 0) throw new MalformedError("no request of Jaeger: it holds too many spans and tags", -1);
  }

  /**
   * Reads the unchecked field at `p` of a message that ends at `to`. Sets `tag`, and `valueStart` to the start of the
   * value (after its length if it has one). Returns the position after the field; throws a `MalformedError` if there is
   * no valid field.
   */
  protected field(p: number, to: number): number {
    const { bytes } = this;
    const at = p;
    let tag = bytes[p++]!;
    if (tag > 127) {
      p = varintEnd(bytes, at, to);
      varintHalves(bytes, at);
      if (highHalf !== 0) throw malformed(at);
      tag = lowHalf;
    }
    if (tag < 8) throw malformed(at);
    let start = p;
    switch (tag & 7) {
      case VARINT:
        p = p < to && bytes[p]! < 128 ? p + 1 : varintEnd(bytes, p, to);
        break;
      case FIXED64:
        p += 8;
        break;
      case LENGTH_DELIMITED: {
        if (p < to && bytes[p]! < 128) {
          start = p + 1;
          p = start + bytes[p]!;
        } else {
          start = varintEnd(bytes, p, to);
          varintHalves(bytes, p);
          p = start + highHalf * 2 ** 32 + lowHalf;
        }
        break;
      }
      case FIXED32:
        p += 4;
        break;
      default:
        throw malformed(at);
    }
    if (p > to) throw malformed(at);
    this.tag = tag;
    this.valueStart = start;
    return p;
  }
}

/** The position after the varint at `p`, which must be complete. */
function varintEnd(bytes: Buffer, p: number, to: number): number {
  const last = Math.min(p + MAX_VARINT_BYTES, to);
  for (let at = p; at < last; at++) if (bytes[at]! < 128) return at + 1;
  throw malformed(p);
}

function malformed(at: number): MalformedError {
  return new MalformedError("no request of Jaeger: the protobuf cannot be read", at);
}
