import { isUtf8 } from "node:buffer";
import { StringDecoder } from "node:string_decoder";

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

const PIECE_BYTES = 1024 * 1024;

/** The bytes with U+FFFD in place of what is no UTF-8. Stops after every megabyte that has to be replaced. */
export function* validUtf8<Bytes extends Uint8Array>(bytes: Bytes): Generator<void, Bytes | Buffer> {
  if (isUtf8(bytes)) return bytes;
  const decoder = new StringDecoder("utf8");
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    pieces.push(Buffer.from(decoder.write(bytes.subarray(at, at + PIECE_BYTES))));
    yield;
  }
  return Buffer.concat([...pieces, Buffer.from(decoder.end())]);
}

const CAPACITY = 8;

/**
 * Decodes a range of bytes into a text to look things up by; equal bytes give equal texts. The most recent texts are
 * cached, because values repeat: counting by an attribute takes 300 ns per record with the cache and 420 ns without.
 */
export class RecentTexts {
  private readonly bytes: Uint8Array;
  private readonly starts: number[] = [];
  private readonly texts: string[] = [];
  private next = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get(start: number, end: number): string {
    const size = end - start;
    for (let i = 0; i < this.texts.length; i++) {
      if (this.texts[i]!.length === size && this.sameBytes(start, this.starts[i]!, size)) return this.texts[i]!;
    }
    const text = Buffer.prototype.latin1Slice.call(this.bytes, start, end);
    this.starts[this.next] = start;
    this.texts[this.next] = text;
    this.next = (this.next + 1) % CAPACITY;
    return text;
  }

  private sameBytes(a: number, b: number, size: number): boolean {
    const { bytes } = this;
    for (let i = size - 1; i >= 0; i--) if (bytes[a + i] !== bytes[b + i]) return false; // values differ at their ends
    return true;
  }
}

/** An ASCII text prepared for writing four bytes at a time. */
export interface FixedText {
  readonly length: number;
  readonly words: Int32Array;
}

export function fixedText(text: string): FixedText {
  const bytes = Buffer.from(text.padEnd(Math.ceil(text.length / 4) * 4));
  const words = Int32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readInt32LE(4 * i));
  return { length: text.length, words };
}

/** Writes the text at `at` and may overwrite up to three bytes after it; returns the position after the text. */
export function putFixedText(to: DataView, at: number, { length, words }: FixedText): number {
  for (let i = 0; i < words.length; i++) to.setInt32(at + 4 * i, words[i]!, true);
  return at + length;
}
