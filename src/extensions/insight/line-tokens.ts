/**
 * Cuts a log line into tokens, and tells those that vary from line to line (numbers, ids, addresses) from words. Works
 * on bytes, and leaves the tokens of the last line in arrays, so that nothing is allocated per line.
 */

export const MAX_TOKENS = 48;
const MAX_LINE_BYTES = 512;
/** A longer token is no word. */
const MAX_WORD = 40;
/** So many letters that are all hexadecimal digits are an id. */
const MIN_HEX = 8;

const WORD = 0;
const DELIMITER = 1;
const DIGIT = 2;
/** Control characters and `@`: what contains them is no word. */
const STRANGE = 3;

const CLASSES = new Uint8Array(256);
for (let c = 0; c < 32; c++) CLASSES[c] = STRANGE;
for (const c of "\t\r ,;:=()[]{}<>\"'|") CLASSES[c.charCodeAt(0)] = DELIMITER;
for (const c of "0123456789") CLASSES[c.charCodeAt(0)] = DIGIT;
CLASSES["@".charCodeAt(0)] = STRANGE;
CLASSES[127] = STRANGE;

const HEX = new Uint8Array(256);
for (const c of "0123456789abcdefABCDEF-") HEX[c.charCodeAt(0)] = 1;

const [QUOTE, EQUALS, COLON, COMMA, SEMICOLON, BAR, SLASH, SPACE, NEWLINE] = [34, 61, 58, 44, 59, 124, 47, 32, 10];

/** A token with its delimiters; without the token itself if it varies. */
export const tokenHashes = new Int32Array(MAX_TOKENS);
/** The token itself. */
export const valueHashes = new Int32Array(MAX_TOKENS);
/** 1 if the token varies. */
export const varies = new Uint8Array(MAX_TOKENS);
/** The range of the token in the bytes. */
export const tokenStarts = new Int32Array(MAX_TOKENS);
export const tokenEnds = new Int32Array(MAX_TOKENS);
/** The number of tokens of the last line, and the end of what was read of it. */
export let tokenCount = 0;
export let lineEnd = 0;
/** A hash of all delimiters: lines of the same pattern have the same. */
export let shapeHash = 0;
/** A hash of the line without what varies. */
export let lineHash = 0;

const VARIABLE = 0x5bd1e995;
const PRIME = 0x01000193;

/** Reads the first line of the text in [start, end). */
export function readTokens(b: Uint8Array, start: number, end: number): void {
  let p = start;
  while (p < end && (b[p] === NEWLINE || b[p] === SPACE)) p++;
  const limit = Math.min(end, p + MAX_LINE_BYTES);
  let count = 0;
  let delimiters = 0;
  let delimiterCount = 0;
  let shape = 17;
  let line = 17;
  while (p < limit) {
    const c = b[p]!;
    if (c === NEWLINE) break;
    if (CLASSES[c] === DELIMITER) {
      const close = c === QUOTE && isQuoteOfPhrase(b, start, p) ? endOfPhrase(b, p + 1, limit) : -1;
      delimiters = Math.imul(delimiters ^ c, PRIME) ^ c;
      delimiterCount++;
      if (close < 0) {
        p++;
        continue;
      }
      if (count === MAX_TOKENS) break;
      shape = Math.imul(shape ^ delimiters, PRIME);
      tokenHashes[count] = delimiters ^ VARIABLE;
      valueHashes[count] = hashRange(b, p + 1, close);
      varies[count] = 1;
      tokenStarts[count] = p + 1;
      tokenEnds[count] = close;
      line = Math.imul(line ^ tokenHashes[count]!, PRIME);
      count++;
      delimiters = 0;
      delimiterCount = 0;
      p = close;
      continue;
    }
    const from = p;
    let value = 0x811c9dc5 | 0;
    let seen = 0;
    let hex = 1;
    for (; p < limit; p++) {
      const each = b[p]!;
      const kind = CLASSES[each]!;
      if (each === COLON && isInUrl(b, p, from, limit)) {
        seen |= STRANGE;
        continue;
      }
      if (kind === DELIMITER || each === NEWLINE) break;
      seen |= kind;
      hex &= HEX[each]!;
      value = Math.imul(value ^ each, PRIME);
    }
    const size = p - from;
    const isVariable = seen !== WORD || size > MAX_WORD || (hex === 1 && size >= MIN_HEX && p - from > 0);
    if (isVariable && count > 0 && varies[count - 1] === 1 && delimiterCount === 1 && isJoining(b[from - 1]!)) {
      valueHashes[count - 1] = Math.imul(valueHashes[count - 1]! ^ value, PRIME);
      tokenEnds[count - 1] = p;
      delimiters = 0;
      delimiterCount = 0;
      continue;
    }
    if (count === MAX_TOKENS) break;
    shape = Math.imul(shape ^ delimiters, PRIME);
    tokenHashes[count] = isVariable ? delimiters ^ VARIABLE : Math.imul(delimiters ^ value, PRIME) ^ size;
    valueHashes[count] = value;
    varies[count] = isVariable ? 1 : 0;
    tokenStarts[count] = from;
    tokenEnds[count] = p;
    line = Math.imul(line ^ tokenHashes[count]!, PRIME);
    count++;
    delimiters = 0;
    delimiterCount = 0;
  }
  tokenCount = count;
  lineEnd = p;
  shapeHash = Math.imul(shape ^ count, PRIME) | 0;
  lineHash = (line ^ Math.imul(count, VARIABLE)) | 0;
}

/** Whether the colon at `p` belongs to a URL that starts at `from`: behind its scheme, or in front of its port. */
function isInUrl(b: Uint8Array, p: number, from: number, limit: number): boolean {
  if (p + 2 >= limit) return false;
  if (b[p + 1] === SLASH) return b[p + 2] === SLASH && p > from;
  if (CLASSES[b[p + 1]!] !== DIGIT) return false;
  for (let at = from; at < p - 2; at++) if (b[at] === COLON) return true;
  return false;
}

/** Values that are joined by one of these are one value, such as a time, an address with its port or a list. */
function isJoining(c: number): boolean {
  return c === COLON || c === COMMA || c === SEMICOLON || c === BAR;
}

/** Whether a quote opens a text in quotes, as in access logs, and not the value of a key. */
function isQuoteOfPhrase(b: Uint8Array, start: number, p: number): boolean {
  return p === start || (b[p - 1] === SPACE && (p < start + 2 || (b[p - 2] !== EQUALS && b[p - 2] !== COLON)));
}

/** Returns the end of a text in quotes if it has a space, or -1: a single word is a token like others. */
function endOfPhrase(b: Uint8Array, p: number, limit: number): number {
  let hasSpace = false;
  for (; p < limit && b[p] !== NEWLINE; p++) {
    if (b[p] === QUOTE) return hasSpace ? p : -1;
    if (b[p] === SPACE) hasSpace = true;
  }
  return -1;
}

function hashRange(b: Uint8Array, start: number, end: number): number {
  let value = 0x811c9dc5 | 0;
  for (let p = start; p < end; p++) value = Math.imul(value ^ b[p]!, PRIME);
  return value;
}
