/** Decodes UTF-8; invalid bytes become U+FFFD. */
export function decodeText(b: Uint8Array, start: number, end: number): string {
  if (end - start > SHORT_TEXT) return utf8(b, start, end);
  let text = "";
  for (let i = start; i < end; i++) {
    const code = b[i]!;
    if (code > 127) return utf8(b, start, end);
    text += String.fromCharCode(code);
  }
  return text;
}

function utf8(b: Uint8Array, start: number, end: number): string {
  return Buffer.prototype.utf8Slice.call(b, start, end);
}

/** Below this length a loop is faster than a built-in. */
const SHORT_TEXT = 24;
