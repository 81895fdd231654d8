import { TextDecoder } from "node:util";
import { decodeEucKr, decodeGbk, withoutPrivateUse } from "./double-byte-text.js";
import { codePageDecoder } from "./ibm-code-pages.js";

/** Text in encodings other than UTF-8. */

type CharsetDecoder = (bytes: Buffer) => string;

/**
 * Encodings that the Encoding Standard treats as windows-1252 but that are separate here, and those it does not name.
 */
const OWN_DECODERS: Readonly<Record<string, CharsetDecoder>> = {
  "": decodeUtf8,
  ascii: decodeUtf8,
  "us-ascii": decodeUtf8,
  csascii: decodeUtf8,
  nop: decodeUtf8,
  utf16: (bytes) => standardDecoder("utf-16le")!(bytes),
  ...Object.fromEntries(latin1Names().map((name) => [name, decodeLatin1])),
  "hz-gb-2312": decodeHz,
  "windows-1252": decodeWindows1252,
  cp1252: decodeWindows1252,
};

/** The registered names of ISO 8859-1, and the standard's names for it. */
function latin1Names(): string[] {
  return "iso-8859-1 iso_8859-1 iso_8859-1:1987 iso8859-1 iso88591 iso-ir-100 latin1 l1 ibm819 cp819 csisolatin1".split(
    " ",
  );
}

function decodeLatin1(bytes: Buffer): string {
  return bytes.toString("latin1");
}

/** Characters 0x80 to 0x9f, which the runtime's own decoder treats as control characters. */
const WINDOWS_1252 = "€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ";

function decodeWindows1252(bytes: Buffer): string {
  return bytes.toString("latin1").replace(/[\x80-\x9f]/g, (c) => WINDOWS_1252[c.charCodeAt(0) - 0x80]!);
}

/** Decodes ASCII and UTF-8. */
function decodeUtf8(bytes: Buffer): string {
  return bytes.toString("utf8");
}

const decoders = new Map<string, CharsetDecoder | undefined>();
const MAX_NAMES = 256;

/** Returns undefined for an unknown encoding. A byte order mark is text like any other. */
export function charsetDecoder(name: string): CharsetDecoder | undefined {
  if (Object.hasOwn(OWN_DECODERS, name)) return OWN_DECODERS[name];
  if (!decoders.has(name)) {
    if (decoders.size >= MAX_NAMES) decoders.clear();
    decoders.set(name, standardDecoder(name) ?? codePageDecoder(name));
  }
  return decoders.get(name);
}

function standardDecoder(name: string): CharsetDecoder | undefined {
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(name, { ignoreBOM: true });
  } catch {
    return undefined;
  }
  const { encoding } = decoder;
  if (encoding === "gbk") return decodeGbk;
  if (encoding === "euc-kr") return decodeEucKr;
  if (encoding === "gb18030" || encoding === "big5" || encoding === "shift_jis") return withoutPrivateUse(encoding);
  // For unassigned bytes of single-byte encodings the standard has control characters and the runtime private-use ones.
  const hasGaps = /^(windows|iso-8859)-/.test(encoding);
  return (bytes) => {
    const text = decoder.decode(bytes);
    return hasGaps ? text.replace(/[\x80-\x9f\uf8c0-\uf8ff]/g, "\ufffd") : text;
  };
}

const INVALID = "\ufffd";
const TILDE = 0x7e;

/**
 * HZ (RFC 1843): ASCII, in which ~{ starts Chinese characters of two bytes each and ~} ends them; ~~ is a tilde, and a
 * tilde before the end of a line is dropped with it.
 */
function decodeHz(bytes: Uint8Array): string {
  let text = "";
  let isChinese = false;
  for (let i = 0; i < bytes.length; i++) {
    const first = bytes[i]!;
    const second = bytes[i + 1];
    if (first === TILDE && second !== undefined) {
      i++;
      if (second === 0x7b || second === 0x7d) isChinese = second === 0x7b;
      else if (second === TILDE) text += "~";
      else if (second !== 0x0a) text += INVALID;
    } else if (!isChinese) text += first < 0x80 && first !== TILDE ? String.fromCharCode(first) : INVALID;
    else if (first >= 0x80 || second === undefined || second > 0x80) text += INVALID;
    else {
      i++;
      text += pairText(first, second);
    }
  }
  return text;
}

/** The character set is GBK's without the upper bits. */
function pairText(first: number, second: number): string {
  if (first < 0x21 || first >= TILDE || second < 0x21 || second > TILDE) return INVALID;
  return decodeGbk(Uint8Array.of(first | 0x80, second | 0x80));
}
