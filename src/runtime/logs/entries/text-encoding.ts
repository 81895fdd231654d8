/** How the bytes of a file encode text. */
export interface TextEncoding {
  /** Not text at all: the Collector's `nop`. */
  readonly isBinary: boolean;
  /** Whether valid bytes need no decoding. */
  readonly isUtf8: boolean;
  /** Whether invalid text is kept as bytes instead of being replaced. */
  readonly keepsInvalid: boolean;
  readonly newlineSize: number;
  readonly byteOrderMark: Buffer | undefined;
  /** The position after the next end of line from `from` on. There must be one. */
  lineEnd(bytes: Buffer, from: number): number;
  /** The position after the last end of line; 0 if there is none. */
  lastLineEnd(bytes: Buffer): number;
  /** The last position up to `to` that splits no character, if there is one after `from`. */
  boundary(bytes: Buffer, from: number, to: number): number;
  decode(bytes: Uint8Array): string;
}

/** Returns undefined for an unknown encoding. */
export function textEncoding(name: string): TextEncoding | undefined {
  const key = name.toLowerCase().replace(/_/g, "-");
  if (key === "nop") return { ...oneByte("latin1"), isBinary: true };
  if (UTF8_NAMES.includes(key)) return utf8(false);
  if (key === "utf-8-raw" || key === "utf8-raw") return utf8(true);
  if (LATIN1_NAMES.includes(key)) return { ...oneByte("latin1"), decode: (bytes) => latin1(bytes) };
  if (WINDOWS_1252_NAMES.includes(key)) return { ...oneByte("windows-1252"), decode: windows1252 };
  if (["utf-16le", "utf-16", "utf16"].includes(key)) return utf16("utf-16le", Buffer.from([0xff, 0xfe]));
  if (key === "utf-16be") return utf16("utf-16be", Buffer.from([0xfe, 0xff]));
  try {
    return oneByte(key);
  } catch {
    return undefined;
  }
}

/** Encodings in which a line feed is a single byte that occurs in no other character: all but UTF-16 and UTF-32. */
function oneByte(name: string): TextEncoding {
  const decoder = new TextDecoder(name);
  return {
    isBinary: false,
    isUtf8: false,
    keepsInvalid: false,
    newlineSize: 1,
    byteOrderMark: undefined,
    lineEnd: (bytes, from) => bytes.indexOf(10, from) + 1,
    lastLineEnd: (bytes) => bytes.lastIndexOf(10) + 1,
    boundary: (_bytes, _from, to) => to,
    decode: (bytes) => decoder.decode(bytes),
  };
}

function utf8(keepsInvalid: boolean): TextEncoding {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return {
    ...oneByte("utf-8"),
    isUtf8: true,
    keepsInvalid,
    byteOrderMark: Buffer.from([0xef, 0xbb, 0xbf]),
    decode: (bytes) => decoder.decode(bytes),
    boundary(bytes, from, to) {
      if (to >= bytes.length) return bytes.length;
      let at = to;
      // A character has at most three bytes after its first.
      while (at > to - 3 && at > from && (bytes[at]! & 0xc0) === 0x80) at--;
      return at > from && (bytes[at]! & 0xc0) !== 0x80 ? at : to;
    },
  };
}

/** As in the Collector, ASCII is read as UTF-8, which it is a part of. */
const UTF8_NAMES = ["utf-8", "utf8", "ascii", "us-ascii", ""];
const LATIN1_NAMES = ["iso-8859-1", "latin1", "l1"];
const WINDOWS_1252_NAMES = ["windows-1252", "cp1252"];

/** TextDecoder reads Latin-1 as Windows-1252, and Node.js 20 the other way round. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/** The characters of the bytes from 0x80 to 0x9f. Five bytes have none and stay what they are in Latin-1. */
const WINDOWS_1252 = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";

function windows1252(bytes: Uint8Array): string {
  return latin1(bytes).replace(/[\x80-\x9f]/g, (char) => WINDOWS_1252[char.charCodeAt(0) - 0x80]!);
}

function utf16(name: string, byteOrderMark: Buffer): TextEncoding {
  const decoder = new TextDecoder(name, { ignoreBOM: true });
  const newline = Buffer.from(name === "utf-16le" ? [10, 0] : [0, 10]);
  const isAligned = (at: number) => at % 2 === 0;
  return {
    ...oneByte("latin1"),
    newlineSize: 2,
    byteOrderMark,
    decode: (bytes) => decoder.decode(bytes),
    lineEnd(bytes, from) {
      let at = bytes.indexOf(newline, from);
      while (at >= 0 && !isAligned(at)) at = bytes.indexOf(newline, at + 1);
      return at + 2;
    },
    lastLineEnd(bytes) {
      let at = bytes.lastIndexOf(newline);
      while (at > 0 && !isAligned(at)) at = bytes.lastIndexOf(newline, at - 1);
      return at < 0 || !isAligned(at) ? 0 : at + 2;
    },
    boundary: (_bytes, from, to) => Math.max(from + 2, to - (to % 2)),
  };
}
