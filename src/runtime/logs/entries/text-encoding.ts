/** How the text of a file is written in bytes. */
export interface TextEncoding {
  /** No text at all: the Collector's `nop`. */
  readonly isBinary: boolean;
  /** Bytes that are valid need not be decoded. */
  readonly isUtf8: boolean;
  /** What is not valid is kept as bytes, and not replaced. */
  readonly keepsInvalid: boolean;
  readonly newlineSize: number;
  readonly byteOrderMark: Buffer | undefined;
  /** Behind the next end of a line from `from` on, of which there must be one. */
  lineEnd(bytes: Buffer, from: number): number;
  /** Behind the last end of a line; 0 without one. */
  lastLineEnd(bytes: Buffer): number;
  /** The last place up to `to` where no character is cut, if there is one behind `from`. */
  boundary(bytes: Buffer, from: number, to: number): number;
  decode(bytes: Uint8Array): string;
}

/** Undefined for an encoding that is not known. */
export function textEncoding(name: string): TextEncoding | undefined {
  const key = name.toLowerCase().replace(/_/g, "-");
  if (key === "nop" || key === "") return { ...oneByte("latin1"), isBinary: true };
  if (key === "utf-8" || key === "utf8") return utf8(false);
  if (key === "utf-8-raw") return utf8(true);
  if (key === "ascii" || key === "us-ascii") return ascii();
  if (key === "utf-16le" || key === "utf-16") return utf16("utf-16le", Buffer.from([0xff, 0xfe]));
  if (key === "utf-16be") return utf16("utf-16be", Buffer.from([0xfe, 0xff]));
  try {
    return oneByte(key);
  } catch {
    return undefined;
  }
}

/** Encodings in which a line feed is one byte that is part of no other character: all but UTF-16 and UTF-32. */
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
      // A character has at most three bytes behind its first.
      while (at > to - 3 && at > from && (bytes[at]! & 0xc0) === 0x80) at--;
      return at > from && (bytes[at]! & 0xc0) !== 0x80 ? at : to;
    },
  };
}

/** What is above 127 is no ASCII, and is replaced. */
function ascii(): TextEncoding {
  const decode = (bytes: Uint8Array) =>
    Buffer.from(bytes)
      .toString("latin1")
      .replace(/[\x80-\xff]/g, "\ufffd");
  return { ...oneByte("latin1"), decode };
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
