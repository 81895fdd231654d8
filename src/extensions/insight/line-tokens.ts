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
const [BACKSLASH, DOT, DASH, UNDERSCORE, QUESTION_MARK] = [92, 46, 45, 95, 63];

/** A token with its delimiters; without the token itself if it varies. */
export const tokenHashes = new Int32Array(MAX_TOKENS);
/** The token itself. */
export const valueHashes = new Int32Array(MAX_TOKENS);
/** 1 if the token varies. */
export const varies = new Uint8Array(MAX_TOKENS);
/** 1 if the token looks like a name: it has a dot, a dash or the like inside, or it is the value of a key. */
export const isName = new Uint8Array(MAX_TOKENS);
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
      // Several spaces are padding: they count as one.
      if (c !== SPACE || p === start || b[p - 1] !== SPACE) {
        delimiters = Math.imul(delimiters ^ c, PRIME) ^ c;
        delimiterCount++;
      }
      if (close < 0) {
        p++;
        continue;
      }
      if (count === MAX_TOKENS) break;
      shape = Math.imul(shape ^ delimiters, PRIME);
      tokenHashes[count] = delimiters ^ VARIABLE;
      valueHashes[count] = hashRange(b, p + 1, close);
      varies[count] = 1;
      isName[count] = 0;
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
    let names = 0;
    let isInQuery = false;
    for (; p < limit; p++) {
      const each = b[p]!;
      const kind = CLASSES[each]!;
      if (each === COLON && isInUrl(b, p, from, limit)) {
        seen |= STRANGE;
        continue;
      }
      if (each === EQUALS && isInQuery) {
        value = Math.imul(value ^ each, PRIME);
        continue;
      }
      if (kind === DELIMITER || each === NEWLINE) break;
      if (each === DOT || each === DASH || each === UNDERSCORE || each === SLASH) names++;
      else if (each === QUESTION_MARK && names > 0) isInQuery = true;
      seen |= kind;
      hex &= HEX[each]!;
      value = Math.imul(value ^ each, PRIME);
    }
    const size = p - from;
    const isVariable =
      seen !== WORD ||
      size > MAX_WORD ||
      (hex === 1 && size >= MIN_HEX && p - from > 0) ||
      (size === 3 && isDateWord(b, from, p, limit));
    if (isVariable && count > 0 && varies[count - 1] === 1 && isJoined(b, from, delimiterCount)) {
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
    isName[count] = (names > 0 && size > 1) || isValueOfKey(b, start, from) ? 1 : 0;
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
function isJoined(b: Uint8Array, from: number, delimiterCount: number): boolean {
  if (delimiterCount === 2) return b[from - 1] === SPACE && b[from - 2] === COMMA;
  const c = b[from - 1]!;
  return delimiterCount === 1 && (c === COLON || c === COMMA || c === SEMICOLON || c === BAR);
}

function isValueOfKey(b: Uint8Array, start: number, from: number): boolean {
  const at = b[from - 1] === QUOTE ? from - 2 : from - 1;
  return at >= start && b[at] === EQUALS;
}

const DATE_WORDS = new Set(
  ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    .concat(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
    .map((word) => dateKey(Buffer.from(word), 0)),
);

function dateKey(b: Uint8Array, p: number): number {
  return (b[p]! << 16) | (b[p + 1]! << 8) | b[p + 2]!;
}

/** Whether the three letters at `from` are the name of a month or a day of the week, in front of a number or another one. */
function isDateWord(b: Uint8Array, from: number, p: number, limit: number): boolean {
  if (!DATE_WORDS.has(dateKey(b, from))) return false;
  let next = p;
  while (next < limit && (b[next] === SPACE || b[next] === COMMA)) next++;
  if (next === p || next >= limit) return false;
  return CLASSES[b[next]!] === DIGIT || (next + 3 < limit && DATE_WORDS.has(dateKey(b, next)));
}

/** Whether a quote opens a text in quotes, as in access logs, and not the value of a key. */
function isQuoteOfPhrase(b: Uint8Array, start: number, p: number): boolean {
  return p === start || (b[p - 1] === SPACE && (p < start + 2 || b[p - 2] !== EQUALS));
}

/**
 * Returns the end of a text in quotes that varies as a whole, or -1. Such a text has spaces, and digits or slashes, as
 * requests and user agents have. Others are messages, whose words count; so are texts with quotes inside. Behind a colon,
 * as in JSON, only a request varies as a whole.
 */
function endOfPhrase(b: Uint8Array, p: number, limit: number): number {
  const isBehindColon = p >= 3 && b[p - 2] === SPACE && b[p - 3] === COLON;
  let hasSpace = false;
  let isVaried = false;
  for (let at = p; at < limit && b[at] !== NEWLINE; at++) {
    const c = b[at]!;
    if (c === QUOTE && b[at - 1] === BACKSLASH) return -1;
    if (c === QUOTE) return hasSpace && isVaried && (!isBehindColon || isRequest(b, p, at)) ? at : -1;
    if (c === SPACE) hasSpace = true;
    else if (c === SLASH || CLASSES[c] === DIGIT) isVaried = true;
  }
  return -1;
}

/** Whether the text ends with a version of HTTP: `GET / HTTP/1.1`. */
function isRequest(b: Uint8Array, start: number, end: number): boolean {
  let at = end - 1;
  while (at > start && b[at] !== SPACE) at--;
  return (
    at > start && b[at + 1] === 72 && b[at + 2] === 84 && b[at + 3] === 84 && b[at + 4] === 80 && b[at + 5] === SLASH
  );
}

function hashRange(b: Uint8Array, start: number, end: number): number {
  let value = 0x811c9dc5 | 0;
  for (let p = start; p < end; p++) value = Math.imul(value ^ b[p]!, PRIME);
  return value;
}
