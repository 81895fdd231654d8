import type { WireWriter } from "../bytes/writer.js";
import { ENDS_PLAIN_TEXT, endsPlainText } from "./json-cursor.js";

const QUOTE = 34;

/**
 * Writes the text [p, end) of `b`, whose view is `from`, as a JSON string, four bytes at a time while nothing needs
 * escaping. Invalid UTF-8 stays as it is.
 */
export function writeText(b: Uint8Array, from: DataView, p: number, end: number, out: WireWriter): void {
  out.reserve(end - p + 2);
  out.bytes[out.length++] = QUOTE;
  writeEscaped(b, from, p, end, out);
  out.byte(QUOTE);
}

/** The same without quotes. */
export function writeEscaped(b: Uint8Array, from: DataView, p: number, end: number, out: WireWriter): void {
  out.reserve(end - p);
  let { bytes, view: to } = out;
  let at = out.length;
  while (p < end) {
    if (p <= end - 4) {
      const word = from.getInt32(p, true);
      if (!endsPlainText(word)) {
        to.setInt32(at, word, true);
        p += 4;
        at += 4;
        continue;
      }
    }
    const code = b[p++]!;
    if (ENDS_PLAIN_TEXT[code] === 0) bytes[at++] = code;
    else {
      out.length = at;
      writeAscii(ESCAPES[code] ?? `\\${String.fromCharCode(code)}`, out);
      out.reserve(end - p);
      ({ bytes, view: to } = out);
      at = out.length;
    }
  }
  out.length = at;
}

/** The JSON escapes of the control characters. */
const ESCAPES: readonly string[] = Array.from({ length: 32 }, (_, code) =>
  JSON.stringify(String.fromCharCode(code)).slice(1, -1),
);

/** Writes an ASCII text unchanged. */
export function writeAscii(text: string, out: WireWriter): void {
  const { length } = text;
  out.reserve(length);
  const { bytes } = out;
  let at = out.length;
  for (let i = 0; i < length; i++) bytes[at++] = text.charCodeAt(i);
  out.length = at;
}

/** Writes bytes as a string of hexadecimal digits. */
export function writeHex(b: Uint8Array, start: number, end: number, out: WireWriter): void {
  out.byte(QUOTE);
  writeHexDigits(b, start, end, out);
  out.byte(QUOTE);
}

/** The same without quotes. */
export function writeHexDigits(b: Uint8Array, start: number, end: number, out: WireWriter): void {
  out.reserve(2 * (end - start));
  const { bytes } = out;
  let at = out.length;
  for (let i = start; i < end; i++) {
    const byte = b[i]!;
    bytes[at++] = HEX[byte >> 4]!;
    bytes[at++] = HEX[byte & 15]!;
  }
  out.length = at;
}

const HEX = Buffer.from("0123456789abcdef");
