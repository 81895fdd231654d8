/** Decodes UTF-8; invalid bytes become U+FFFD. */
export function decodeText(b: Uint8Array, start: number, end: number): string {
  if (end - start > SHORT_TEXT) return utf8(b, start, end);
  let text = "";
  let p = start;
  if (end - p >= 8) {
    const bits = b[p]! | b[p + 1]! | b[p + 2]! | b[p + 3]! | b[p + 4]! | b[p + 5]! | b[p + 6]! | b[p + 7]!;
    if (bits > 127) return utf8(b, start, end);
    text = String.fromCharCode(b[p]!, b[p + 1]!, b[p + 2]!, b[p + 3]!, b[p + 4]!, b[p + 5]!, b[p + 6]!, b[p + 7]!);
    p += 8;
  }
  for (; p < end; p++) {
    const code = b[p]!;
    if (code > 127) return utf8(b, start, end);
    text += String.fromCharCode(code);
  }
  return text;
}

function utf8(b: Uint8Array, start: number, end: number): string {
  return Buffer.prototype.utf8Slice.call(b, start, end);
}

/** Up to this length it is faster to put a text together than to call a built-in; each part of it is an object. */
const SHORT_TEXT = 12;
