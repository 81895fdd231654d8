import { isUtf8 } from "node:buffer";
import type { WireWriter } from "#otlp/bytes";

/** For shorter texts a loop is faster than calling built-ins. */
const SHORT_TEXT = 64;

/** Writes a length and the unchecked text [start, end). Invalid UTF-8 becomes U+FFFD. */
export function writeUtf8(out: WireWriter, b: Uint8Array, start: number, end: number): void {
  const size = end - start;
  if (size < SHORT_TEXT) {
    out.reserve(size + 1);
    const { bytes, length } = out;
    bytes[length] = size;
    let at = length + 1;
    let any = 0;
    for (let p = start; p < end; p++) {
      const byte = b[p]!;
      any |= byte;
      bytes[at++] = byte;
    }
    if (any < 128 || isUtf8(b.subarray(start, end))) {
      out.length = at;
      return;
    }
  } else if (isUtf8(b.subarray(start, end))) {
    out.varint(size);
    return out.copy(b, start, end);
  }
  out.text(Buffer.prototype.utf8Slice.call(b, start, end));
}
