/** Kinds of bytes in UTF-8 text, as bits in one table, so that a detector tests a byte with one load. */
export const DIGIT = 1;
export const UPPER = 2;
export const LOWER = 4;
export const HEX = 8;
/** Letters, digits, `-` and `_`: base64url. */
export const BASE64URL = 16;
/** Characters of a bearer token or an API key. */
export const TOKEN = 32;
/** Characters of the local part of an e-mail address. The detector itself handles non-ASCII bytes. */
export const EMAIL_LOCAL = 64;
/** Characters of a host name. */
export const HOST = 128;
/** Characters of an unquoted secret: everything but spaces, quotes, commas, semicolons, `&` and `\\`. */
export const SECRET = 256;
/** Characters of a word: letters, digits and `_`. */
export const WORD = 512;
/** Characters of a name of several words: letters, digits, `_`, `-` and `.`. */
export const NAME = 8192;
/** Separators between the groups of a number. */
export const SEPARATOR = 1024;
/** Characters of base64 in either alphabet, except the `=` at its end. */
export const BASE64 = 16384;
/** Characters of one part of a URL with its escapes: a path segment, or a name and a value of the query. */
export const URL_PART = 32768;
/** A bracket. `TAG_START` is the one that begins a tag. */
export const BRACKET = 65536;
export const TAG_START = 131072;
/** Characters of a hash of a password with its salt, and those of one whose parameters have commas between them. */
export const PASSWORD_HASH = 262144;
export const PARAMETER_HASH = 524288;
/** Characters of a text in quotes or in apostrophes: everything but those and `\\`. */
export const IN_QUOTES = 2048;
export const IN_APOSTROPHES = 4096;

export const LETTER = UPPER | LOWER;
export const ALNUM = UPPER | LOWER | DIGIT;

export const CHARACTER_BITS: Uint32Array = characterBits();

function characterBits(): Uint32Array {
  const bits = new Uint32Array(256);
  const add = (characters: string, bit: number) => {
    for (const c of characters) bits[c.charCodeAt(0)]! |= bit;
  };
  const digits = "0123456789";
  const upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const lower = upper.toLowerCase();
  const alnum = digits + upper + lower;
  add(digits, DIGIT);
  add(upper, UPPER);
  add(lower, LOWER);
  add(`${digits}abcdefABCDEF`, HEX);
  add(`${alnum}-_`, BASE64URL);
  add(`${alnum}-_.~+/=`, TOKEN);
  add(`${alnum}._%+-`, EMAIL_LOCAL);
  add(`${alnum}.-`, HOST);
  const except = (characters: string, bit: number) => {
    for (let c = 0; c < 256; c++) if (!characters.includes(String.fromCharCode(c))) bits[c]! |= bit;
  };
  except(" \t\r\n\"'`,;\\&", SECRET);
  except('"\\', IN_QUOTES);
  except("'\\", IN_APOSTROPHES);
  add(`${alnum}_`, WORD);
  add(`${alnum}_-.`, NAME);
  add(`${alnum}+/-_`, BASE64);
  add(`${alnum}./+=$_-`, PASSWORD_HASH | PARAMETER_HASH);
  add(",", PARAMETER_HASH);
  add("<>(){}[]|", BRACKET);
  add("<", TAG_START);
  add(`${alnum}-._~%!*()+@:$='`, URL_PART);
  add(" -./()", SEPARATOR);
  for (let c = 128; c < 256; c++) bits[c]! |= URL_PART;
  // Numbers copied from documents contain non-breaking, thin and zero-width spaces, and hyphens and dashes.
  for (const c of "\u00a0\u2009\u202f\u200b\u2060\u00ad\u2010\u2011\u2012\u2013")
    for (const byte of Buffer.from(c)) bits[byte]! |= SEPARATOR;
  return bits;
}

/** Whether the byte before `p`, but not before `floor`, has one of these bits. */
export function isBefore(b: Uint8Array, p: number, floor: number, bits: number): boolean {
  return p > floor && (CHARACTER_BITS[b[p - 1]!]! & bits) !== 0;
}

/**
 * Whether a word continues before `p`. An escape such as `%3D` or `\\n` that ends there is not part of a word, although
 * it ends with a letter or a digit.
 */
export function isInWord(b: Uint8Array, p: number, floor: number): boolean {
  if (!isBefore(b, p, floor, ALNUM)) return false;
  if (p - floor >= 3 && b[p - 3] === 37 && (CHARACTER_BITS[b[p - 2]!]! & CHARACTER_BITS[b[p - 1]!]! & HEX) !== 0)
    return false;
  const c = b[p - 1]!;
  return !(p - floor >= 2 && b[p - 2] === 92 && (c === 110 || c === 114 || c === 116));
}

/** Whether the byte at `p` has one of these bits. */
export function isAt(b: Uint8Array, p: number, end: number, bits: number): boolean {
  return p < end && (CHARACTER_BITS[b[p]!]! & bits) !== 0;
}

/** Returns the position after the bytes from `p` on that all have one of these bits. */
export function runEnd(b: Uint8Array, p: number, end: number, bits: number): number {
  while (p < end && (CHARACTER_BITS[b[p]!]! & bits) !== 0) p++;
  return p;
}

/** Whether any byte in [p, end) has one of these bits. */
export function hasAny(b: Uint8Array, p: number, end: number, bits: number): boolean {
  for (; p < end; p++) if ((CHARACTER_BITS[b[p]!]! & bits) !== 0) return true;
  return false;
}

/** Returns [start, end) as text, with one character for each byte. */
export function latin1(b: Uint8Array, start: number, end: number): string {
  return Buffer.prototype.latin1Slice.call(b, start, end);
}

/** Whether this ASCII text stands at `p`. */
export function hasTextAt(b: Uint8Array, p: number, end: number, text: string): boolean {
  if (p < 0 || p + text.length > end) return false;
  for (let i = 0; i < text.length; i++) if (b[p + i] !== text.charCodeAt(i)) return false;
  return true;
}

/** Quotation marks that are no ASCII characters, as people type them: “x”, „x“, «x», 「x」, 【x】. */
const PAIRS: Readonly<Record<string, string>> = {
  "“": "”",
  "„": "“",
  "‘": "’",
  "‚": "‘",
  "«": "»",
  "‹": "›",
  "「": "」",
  "『": "』",
  "《": "》",
  "【": "】",
  "（": "）",
};
const PAIR_BYTES = Object.entries(PAIRS).map(([open, close]) => [Buffer.from(open), Buffer.from(close)] as const);
/** The last bytes of opening marks, which rule out most positions. */
const LAST_BYTES = new Uint8Array(256);
for (const [open] of PAIR_BYTES) LAST_BYTES[open[open.length - 1]!] = 1;
const MAX_QUOTED = 80;

/** Returns the size of the opening mark that ends before `p`, or 0. */
export function openingMarkSize(b: Uint8Array, p: number, floor: number): number {
  if (p - 2 < floor || LAST_BYTES[b[p - 1]!] === 0) return 0;
  for (const [open] of PAIR_BYTES) if (hasBytes(b, p - open.length, open)) return open.length;
  return 0;
}

/** Returns the position of the mark that closes the one before `p`, or -1. */
export function closingMarkAt(b: Uint8Array, p: number, end: number): number {
  const limit = Math.min(end, p + MAX_QUOTED);
  for (const [open, close] of PAIR_BYTES) {
    if (!hasBytes(b, p - open.length, open)) continue;
    for (let q = p; q + close.length <= limit; q++) if (hasBytes(b, q, close)) return q;
  }
  return -1;
}

function hasBytes(b: Uint8Array, p: number, bytes: Uint8Array): boolean {
  if (p < 0) return false;
  for (let i = 0; i < bytes.length; i++) if (b[p + i] !== bytes[i]) return false;
  return true;
}
