import { ALNUM, CHARACTER, HOST, LETTER, LOCAL, latin1, stands } from "./characters.js";
import { EMAIL } from "./detectors.js";
import { matches, NOTHING } from "./match.js";
import { Words } from "./words.js";

const LONGEST_LOCAL = 64;
const LONGEST_HOST = 253;

/** What follows the last dot of a file or a unit and is nobody's top-level domain. */
const NO_DOMAINS = new Words(
  (
    "png jpg jpeg gif svg webp ico bmp js mjs cjs ts tsx jsx css scss map json yml yaml xml htm html txt log csv tgz gz tar " +
    "jar war dll exe service socket timer slice scope mount target local internal localdomain"
  ).split(" "),
);

/** An e-mail address around the `@` at `at`, which may be written `%40`: `size` is its length. */
export function findEmail(b: Uint8Array, at: number, size: number): number {
  const start = localStart(b, at);
  if (start === at) return NOTHING;
  const hostStart = at + size;
  const end = hostEnd(b, hostStart);
  if (end === hostStart || !isHost(b, hostStart, end)) return NOTHING;
  if (end < matches.end && b[end] === COLON && latin1(b, start, at) === "git") return NOTHING; // git@host:path
  return matches.add(EMAIL, start, end);
}

function localStart(b: Uint8Array, at: number): number {
  const floor = Math.max(matches.last, at - LONGEST_LOCAL);
  let p = at;
  let ascii = false;
  while (p > floor) {
    const c = b[p - 1]!;
    if (c > 127) {
      const lead = leadOf(b, p - 1, floor);
      if (!isLetter(b[lead]!, ascii)) break;
      p = lead;
      continue;
    }
    const isName = (CHARACTER[c]! & LOCAL) !== 0 || (c === APOSTROPHE && isInside(b, p - 1, floor));
    if (!isName) break;
    ascii ||= (CHARACTER[c]! & ALNUM) !== 0;
    p--;
  }
  if (p > matches.floor && b[p - 1] === STAR) return at; // treated already
  while (p < at && (b[p] === DOT || b[p] === DASH || b[p] === PERCENT || b[p] === PLUS)) p++;
  return p;
}

/** An apostrophe between letters: o'brien. */
function isInside(b: Uint8Array, p: number, floor: number): boolean {
  return p > floor && (CHARACTER[b[p - 1]!]! & LETTER) !== 0 && (CHARACTER[b[p + 1]!]! & LETTER) !== 0;
}

function hostEnd(b: Uint8Array, start: number): number {
  const limit = Math.min(matches.end, start + LONGEST_HOST);
  let p = start;
  let ascii = false;
  while (p < limit) {
    const c = b[p]!;
    if (c > 127) {
      if (!isLetter(c, ascii)) break;
      p++;
      while (p < limit && (b[p]! & 0xc0) === 0x80) p++;
      continue;
    }
    if ((CHARACTER[c]! & HOST) === 0) break;
    ascii = c !== DOT && (ascii || (CHARACTER[c]! & ALNUM) !== 0);
    p++;
  }
  while (p > start && (b[p - 1] === DOT || b[p - 1] === DASH)) p--;
  return p;
}

/**
 * May a character that is not ASCII be part of the name? Of the scripts that are written with blanks between words, yes;
 * of others only where no ASCII letters are, since there the address begins or ends without a blank.
 */
function isLetter(lead: number, beside: boolean): boolean {
  return lead >= 0xc3 && (lead < 0xe0 || !beside);
}

function leadOf(b: Uint8Array, p: number, floor: number): number {
  while (p > floor && (b[p]! & 0xc0) === 0x80) p--;
  return p;
}

/** Labels, and a top-level domain of letters behind the last dot. */
function isHost(b: Uint8Array, start: number, end: number): boolean {
  let dot = -1;
  for (let p = start; p < end; p++) {
    if (b[p] !== DOT) continue;
    if (p === start || b[p - 1] === DOT) return false;
    dot = p;
  }
  if (dot < 0 || end - dot < 3) return false;
  for (let p = dot + 1; p < end; p++) {
    const c = b[p]!;
    if (c < 128 && (CHARACTER[c]! & LETTER) === 0) return stands(b, dot + 1, end, "xn--");
  }
  return !NO_DOMAINS.has(b, dot + 1, end);
}

const DOT = 46;
const DASH = 45;
const PLUS = 43;
const PERCENT = 37;
const STAR = 42;
const COLON = 58;
const APOSTROPHE = 39;
