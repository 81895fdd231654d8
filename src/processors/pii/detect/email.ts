import { APOSTROPHE, COLON, DASH, DOT, PERCENT, PLUS, SLASH } from "./text/ascii.js";
import {
  ALNUM,
  CHARACTER_BITS,
  EMAIL_LOCAL,
  HOST,
  hasAny,
  hasTextAt,
  LETTER,
  LOWER,
  latin1,
} from "./text/characters.js";
import { EMAIL } from "./text/detectors.js";
import { OTHER_THING, UNIQUE_FORM } from "./text/evidence.js";
import { endsMask, matches, NOT_FOUND } from "./text/matches.js";
import { TEXT_COST, work } from "./text/work.js";

/** A set of ASCII words that is searched by bytes, ignoring case, without making strings. */
class AsciiWords {
  /** The words by their length and first letter. */
  private readonly words: (Uint8Array[] | undefined)[] = [];

  constructor(words: readonly string[]) {
    for (const word of words) {
      const bytes = Buffer.from(word.toLowerCase());
      const at = slotOf(bytes.length, bytes[0]!);
      this.words[at] = [...(this.words[at] ?? []), bytes];
    }
  }

  /** Whether [start, end) is one of the words. */
  has(b: Uint8Array, start: number, end: number): boolean {
    const alike = this.words[slotOf(end - start, b[start]!)];
    if (alike !== undefined) for (const word of alike) if (isWord(b, start, word)) return true;
    return false;
  }
}

function slotOf(length: number, first: number): number {
  return (length << 5) | (first & 31);
}

function isWord(b: Uint8Array, start: number, word: Uint8Array): boolean {
  for (let i = 0; i < word.length; i++) {
    const c = b[start + i]!;
    if ((c >= 65 && c <= 90 ? c | 32 : c) !== word[i]) return false;
  }
  return true;
}

const MAX_LOCAL_LENGTH = 64;
const MAX_HOST_LENGTH = 253;

/** Suffixes of file names and systemd units that are not top-level domains. */
const NON_DOMAINS = new AsciiWords(
  (
    "png jpg jpeg gif svg webp ico bmp js mjs cjs ts tsx jsx css scss map json yml yaml xml htm html txt log csv tgz gz tar " +
    "jar war dll exe service socket timer slice scope mount target localdomain"
  ).split(" "),
);

/** Finds an e-mail address around the `@` at `at`. */
export function findEmail(b: Uint8Array, at: number): number {
  const hostStart = at + 1;
  const end = hostEnd(b, hostStart);
  work.spent += end - at;
  if (end === hostStart || !isHost(b, hostStart, end)) return NOT_FOUND;
  const start = localStart(b, at);
  work.spent += at - start;
  if (start === at) return NOT_FOUND;
  if (end < matches.end && b[end] === COLON && latin1(b, start, at) === "git") return NOT_FOUND; // git@host:path
  if (isPrincipal(b, start, hostStart, end)) return NOT_FOUND;
  return matches.propose(EMAIL, start, end, UNIQUE_FORM | (isMessageId(b, start, at) ? OTHER_THING : 0));
}

/** Whether it is the name of a service in Kerberos: `host/web01.corp.example@CORP.EXAMPLE`. */
function isPrincipal(b: Uint8Array, start: number, hostStart: number, end: number): boolean {
  if (start - 2 < matches.floor || b[start - 1] !== SLASH || (CHARACTER_BITS[b[start - 2]!]! & LETTER) === 0)
    return false;
  return !hasAny(b, hostStart, end, LOWER);
}

const MIN_ID_DIGITS = 5;
const ID_BEFORE =
  /(?:call|message|content|correlation|reply|thread)-?_?(?:id|to)["']?(?:[:=] ?["']?<?| <)$|(?:references|in-reply-to): ?<?$/i;

/** Whether the local part is an id of a call or a message, which is written like an address: `Call-ID: 8f3a...@sbc.local`. */
function isMessageId(b: Uint8Array, start: number, at: number): boolean {
  let digits = 0;
  for (let p = start; p < at; p++) if (b[p]! >= 48 && b[p]! <= 57) digits++;
  if (digits < MIN_ID_DIGITS) return false;
  work.spent += TEXT_COST;
  return ID_BEFORE.test(latin1(b, Math.max(matches.floor, start - 24), start));
}

function localStart(b: Uint8Array, at: number): number {
  const floor = Math.max(matches.lastEnd, at - MAX_LOCAL_LENGTH);
  let p = at;
  while (p > floor && (CHARACTER_BITS[b[p - 1]!]! & EMAIL_LOCAL) !== 0) p--;
  if (p > floor && (b[p - 1]! > 127 || b[p - 1] === APOSTROPHE)) p = foreignLocalStart(b, at, floor);
  if (endsMask(b, p)) return at; // masked before
  while (p < at && (b[p] === DOT || b[p] === DASH || b[p] === PERCENT || b[p] === PLUS)) p++;
  return p;
}

/** Does the same as `localStart` for addresses with apostrophes or non-ASCII characters in them or before them. */
function foreignLocalStart(b: Uint8Array, at: number, floor: number): number {
  let p = at;
  let ascii = false;
  while (p > floor) {
    const c = b[p - 1]!;
    if (c > 127) {
      const lead = leadByteAt(b, p - 1, floor);
      if (!isNameLetter(b[lead]!, ascii)) break;
      p = lead;
      continue;
    }
    const isName = (CHARACTER_BITS[c]! & EMAIL_LOCAL) !== 0 || (c === APOSTROPHE && isBetweenLetters(b, p - 1, floor));
    if (!isName) break;
    ascii ||= (CHARACTER_BITS[c]! & ALNUM) !== 0;
    p--;
  }
  return p;
}

/** Whether the apostrophe at `p` stands between letters, as in o'brien. */
function isBetweenLetters(b: Uint8Array, p: number, floor: number): boolean {
  return p > floor && (CHARACTER_BITS[b[p - 1]!]! & LETTER) !== 0 && (CHARACTER_BITS[b[p + 1]!]! & LETTER) !== 0;
}

function hostEnd(b: Uint8Array, start: number): number {
  const limit = Math.min(matches.end, start + MAX_HOST_LENGTH);
  let p = start;
  while (p < limit && (CHARACTER_BITS[b[p]!]! & HOST) !== 0) p++;
  if (p < limit && b[p]! > 127) p = foreignHostEnd(b, start, limit);
  while (p > start && (b[p - 1] === DOT || b[p - 1] === DASH)) p--;
  return p;
}

/** Does the same as `hostEnd` for hosts with non-ASCII characters in them or after them. */
function foreignHostEnd(b: Uint8Array, start: number, limit: number): number {
  let p = start;
  let ascii = false;
  while (p < limit) {
    const c = b[p]!;
    if (c > 127) {
      if (!isNameLetter(c, ascii)) break;
      p++;
      while (p < limit && (b[p]! & 0xc0) === 0x80) p++;
      continue;
    }
    if ((CHARACTER_BITS[c]! & HOST) === 0) break;
    ascii = c !== DOT && (ascii || (CHARACTER_BITS[c]! & ALNUM) !== 0);
    p++;
  }
  return p;
}

/**
 * Whether a non-ASCII character can be part of the address. In scripts that put spaces between words it can. In other
 * scripts it can only where the address has no ASCII letters: next to those, an address begins or ends without a space.
 */
function isNameLetter(lead: number, hasAscii: boolean): boolean {
  return lead >= 0xc3 && (lead < 0xe0 || !hasAscii);
}

function leadByteAt(b: Uint8Array, p: number, floor: number): number {
  while (p > floor && (b[p]! & 0xc0) === 0x80) p--;
  return p;
}

/**
 * Checks the labels and the top-level domain, which must be letters. It reads backwards from the end, so most bytes are
 * read once.
 */
function isHost(b: Uint8Array, start: number, end: number): boolean {
  let dot = end - 1;
  let isWord = true;
  while (dot > start && b[dot] !== DOT) {
    const c = b[dot--]!;
    if (c < 128 && (CHARACTER_BITS[c]! & LETTER) === 0) isWord = false;
  }
  if (dot <= start || end - dot < 3) return false;
  for (let p = dot - 1; p >= start; p--) if (b[p] === DOT && (p === start || b[p + 1] === DOT)) return false;
  return isWord ? !NON_DOMAINS.has(b, dot + 1, end) : hasTextAt(b, dot + 1, end, "xn--");
}
