import { CHARACTER_BITS, LETTER, LOWER, openingMarkSize, UPPER, WORD } from "../text/characters.js";
import { matches } from "../text/matches.js";
import { work } from "../text/work.js";
import {
  BEFORE_JOINT,
  buildLabelTrie,
  eachLabel,
  FOLDED,
  FREE,
  JOINT,
  type LabelTrie,
  NEEDS_SIGN,
  ROOT,
} from "./label-trie.js";
import {
  ACCOUNT_LABEL,
  ASIDE,
  CARD_LABEL,
  ID_LINK,
  LINK,
  MONTH,
  NO_LABEL,
  NUMBER_LINK,
  OTHER_LABEL,
  SECRET_LABEL,
  SOME_ACCOUNT_LABEL,
} from "./label-words.js";

/** Built when the first text needs it: most texts before values end in no label, and `endings` rules them out. */
let builtTrie: LabelTrie | undefined;

function labelTrie(): LabelTrie {
  builtTrie ??= buildLabelTrie();
  return builtTrie;
}

/** Built when the first text is read: an agent that masks nothing does without it. */
let builtEndings: Uint8Array | undefined;

/** Tells whether any label ends with three bytes of these classes. */
function labelEndings(): Uint8Array {
  builtEndings ??= buildEndings();
  return builtEndings;
}

const CLASS_COUNT = 32;
const DIGIT_CLASS = 27;
/** The class of each byte: letters by themselves, digits together, bytes of other scripts in four classes. */
const CLASSES = Uint8Array.from({ length: 256 }, (_, c) => {
  if (c >= 128) return 28 + (c & 3);
  if ((CHARACTER_BITS[c]! & LETTER) !== 0) return (c | 32) - 96;
  return c >= 48 && c <= 57 ? 27 : 0;
});

function buildEndings(): Uint8Array {
  const endings = new Uint8Array(CLASS_COUNT ** 3);
  eachLabel((word, length) => {
    if (addEnding(endings, word, length, true)) addEnding(endings, word, length, false);
  });
  return endings;
}

/** Adds how a label ends. Returns whether it has joints among its last bytes. */
function addEnding(endings: Uint8Array, word: Uint8Array, length: number, keepsJoints: boolean): boolean {
  let index = 0;
  let size = 0;
  let hasJoints = false;
  for (let i = length - 1; i >= 0 && size < 3; i--) {
    const isJoint = word[i] === JOINT;
    hasJoints ||= isJoint;
    if (!isJoint || keepsJoints) index |= (isJoint ? 0 : CLASSES[word[i]!]!) << (5 * size++);
  }
  if (size === 3) endings[index] = 1;
  else for (let first = 0; first < CLASS_COUNT; first++) endings[(first << 10) | index] = 1;
  return hasJoints;
}

/** Bytes that may stand between a label and its value, besides words. */
const BETWEEN = new Uint8Array(256);
for (const c of " \t\"'`\\=:<>|()[]#{-_.") BETWEEN[c.charCodeAt(0)] = 1;
/** Those of them that assign a value to a name. */
const SIGNS = new Uint8Array(256);
for (const c of "=:>|#") SIGNS[c.charCodeAt(0)] = 1;
const QUOTES = new Uint8Array(256);
for (const c of "\"'`") QUOTES[c.charCodeAt(0)] = 1;

/** Whether a label may end before `p`, perhaps with signs and quotes between them. */
export function mayFollowLabel(b: Uint8Array, p: number): boolean {
  let q = p - 1;
  if (b[q] === 10 && (b[q - 1] === 10 || b[q - 1] === 13)) return true;
  const least = Math.max(2, p - MAX_BETWEEN);
  for (; q > least; q--) {
    if (b[q] === 41) return true;
    const mark = b[q]! > 127 ? openingMarkSize(b, q + 1, 0) : 0;
    if (mark > 0) q -= mark - 1;
    else if (BETWEEN[b[q]!] === 0) break;
  }
  if (q === least && BETWEEN[b[q]!] === 1) return true;
  if (CLASSES[b[q]!] === DIGIT_CLASS && (SIGNS[b[q + 1]!] === 1 || QUOTES[b[q + 1]!] === 1))
    q -= CLASSES[b[q - 1]!] === DIGIT_CLASS ? 2 : 1;
  if (CLASSES[b[q]!] === DIGIT_CLASS && b[q - 1] === 32) q -= 2;
  if (q < 3 || endsLikeLabel(b, q)) return true;
  const isCode = b[q - 2] === 32 && q > 5 && isCapital(b, q) && isCapital(b, q - 1); // the code of a state
  return isCode && endsLikeLabel(b, q - 3);
}

/** Whether the three bytes up to `p` are how some label ends. */
function endsLikeLabel(b: Uint8Array, p: number): boolean {
  return labelEndings()[(CLASSES[b[p - 2]!]! << 10) | (CLASSES[b[p - 1]!]! << 5) | CLASSES[b[p]!]!] === 1;
}

/** The label that was found last. */
export const label = {
  kind: NO_LABEL,
  start: 0,
  /** Whether a sign such as `=` or `:` stands between the label and the value. */
  hasSign: false,
  /** Whether quotes stand directly before the value. */
  isQuoted: false,
  /** Whether a word such as `is` stands between them. */
  hasLink: false,
  /** Whether a word such as `number` or `#` stands between them. */
  hasNumber: false,
  /** The start of a code of two capitals between the label and the value, or -1. */
  codeAt: -1,
  /** The start of the name of a month that belongs to the value, or -1. */
  monthAt: -1,
};

/** Work units of a lookup, and of each byte of a label. */
const LOOKUP_COST = 60;
const BYTE_COST = 5;
/** The most words between a label and its value. */
const MAX_LINKS = 5;
const MAX_BETWEEN = 12;
/** A line of dots may lead from a label to its value. */
const MAX_DOTS = 64;
/** The most letters in a bracket between a label and its sign: `ID number (SA): ...`. */
const MAX_ASIDE = 16;

/**
 * Looks for the label of the value that begins at `p`, not before `floor`: reads backwards over the signs and words that
 * connect them, to a word of the table. Returns its kind, and leaves the details in `label`.
 */
export function labelBefore(b: Uint8Array, p: number, floor: number): number {
  work.spent += LOOKUP_COST;
  label.hasSign = label.hasLink = false;
  label.isQuoted = p > floor && QUOTES[b[p - 1]!] === 1;
  label.monthAt = label.codeAt = -1;
  label.kind = NO_LABEL;
  let isId = false;
  let hasCode = false;
  label.hasNumber = false;
  let end = skipDigits(b, skipBetween(b, p, floor), floor);
  for (let words = 0; words <= MAX_LINKS; words++) {
    const kind = labelEndingAt(b, end, floor);
    if (kind === NO_LABEL && !hasCode && isCountryCode(b, end, floor)) {
      hasCode = true;
      label.codeAt = end - 2;
      end -= 3;
      continue;
    }
    if (kind === ASIDE && !label.hasSign && !label.hasLink) break;
    if (kind !== LINK && kind !== NUMBER_LINK && kind !== ID_LINK && kind !== MONTH && kind !== ASIDE) {
      label.kind = endedBy(kind, isId);
      break;
    }
    if (kind === MONTH) {
      if (label.hasSign || label.hasLink) break;
      label.monthAt = found;
    } else if (kind === ID_LINK) isId = true;
    else if (kind === LINK) label.hasLink = true;
    else if (kind === NUMBER_LINK) label.hasNumber = true;
    const next = skipSibling(b, skipBetween(b, afterNamespace(b, found, floor), floor), floor);
    if (next === found && !isCapital(b, found) && (CHARACTER_BITS[b[found]!]! & LETTER) !== 0 && kind !== MONTH) {
      // A link inside a word is a link only after a label, as in accountno.
      if (labelEndingAt(b, found, floor) === NO_LABEL) break;
    }
    end = next;
  }
  return label.kind;
}

/** Skips the namespace before the name of an XML element: `<ns2:Number>`. */
function afterNamespace(b: Uint8Array, p: number, floor: number): number {
  if (p - 1 <= floor || b[p - 1] !== 58) return p;
  const least = Math.max(floor, p - MAX_BETWEEN);
  let q = p - 1;
  while (q > least && (CHARACTER_BITS[b[q - 1]!]! & WORD) !== 0) q--;
  return q > floor && b[q - 1] === 60 ? q : p;
}

function endedBy(kind: number, isId: boolean): number {
  if (kind === NO_LABEL || (foundNeedsSign && !label.hasSign && !label.hasNumber)) return NO_LABEL;
  if (kind === OTHER_LABEL && label.hasLink) return NO_LABEL; // too far away to speak against a value
  label.start = found;
  if (kind === SOME_ACCOUNT_LABEL && label.hasNumber) return ACCOUNT_LABEL;
  if (isId && foundNeedsSign && kind !== SECRET_LABEL) return OTHER_LABEL;
  const isOther = isId && (kind === ACCOUNT_LABEL || kind === CARD_LABEL);
  return isOther ? OTHER_LABEL : kind;
}

/** Whether a code of two capitals ends at `p`, such as that of a state: `driver license CA H9589953`. */
function isCountryCode(b: Uint8Array, p: number, floor: number): boolean {
  return p - 3 > floor && b[p - 3] === 32 && isCapital(b, p - 2) && isCapital(b, p - 1) && b[p] === 32;
}

/**
 * Skips the single digit that says how a router keeps a password (`secret 5 ...`), and digits that number a name
 * (`password2=`).
 */
function skipDigits(b: Uint8Array, p: number, floor: number): number {
  if (p - 2 < floor || CLASSES[b[p - 1]!] !== DIGIT_CLASS) return p;
  if (b[p] === 32 && b[p - 2] === 32) return p - 2;
  if (SIGNS[b[p]!] === 0 && !(label.hasSign && QUOTES[b[p]!] === 1)) return p;
  return CLASSES[b[p - 2]!] === DIGIT_CLASS ? p - 2 : p - 1;
}

/** Skips the comma or the end of the line between members of an object: `"type":"PASSPORT","number":`. */
function skipSibling(b: Uint8Array, p: number, floor: number): number {
  if (!label.hasSign || p - 3 < floor || (b[p - 1] !== 44 && b[p - 1] !== 10)) return p;
  if (b[p - 1] === 10) return isValueBefore(b, p - 1, floor) ? p - 1 : p; // the next line of YAML
  if (QUOTES[b[p]!] === 0) return isValueBefore(b, p - 1, floor) ? p - 1 : p;
  const end = b[p - 2] === 125 ? p - 2 : p - 1; // the end of an object before the comma
  return QUOTES[b[end - 1]!] === 1 || b[end - 1] === 92 ? skipBetween(b, end, floor) : p;
}

const MAX_MEMBER = 40;

/** Whether a word that ends before `p` is the value of a name: `type=PASSPORT`, `name: DB_PASSWORD`. */
function isValueBefore(b: Uint8Array, p: number, floor: number): boolean {
  let q = p;
  while (q > floor && p - q < MAX_MEMBER && (CHARACTER_BITS[b[q - 1]!]! & WORD) !== 0) q--;
  const sign = b[q - 1] === 32 ? q - 2 : q - 1;
  return q < p && sign >= floor && SIGNS[b[sign]!] === 1;
}

/** Returns the end of the word before the signs, quotes and spaces that end at `p`. */
function skipBetween(b: Uint8Array, p: number, floor: number): number {
  let least = Math.max(floor, p - MAX_BETWEEN);
  let q = p;
  while (q > least) {
    const c = b[q - 1]!;
    const mark = c > 127 ? openingMarkSize(b, q, least) : 0;
    if (mark > 0) {
      label.isQuoted = label.hasSign = true;
      q -= mark;
    } else if (c === 46 && q - 2 >= floor && b[q - 2] === 46 && p - q < MAX_DOTS) {
      least = Math.max(floor, --q - MAX_BETWEEN);
      label.hasSign = true;
    } else if (
      (c === 41 || (c === 93 && QUOTES[b[q - 2]!] === 0)) &&
      q < p &&
      labelEndingAt(b, q - 1, floor) === NO_LABEL
    )
      q = asideStart(b, q, floor);
    else if (BETWEEN[c] === 1) {
      if (SIGNS[c] === 1) label.hasSign = true;
      if (c === 35) label.hasNumber = true;
      q--;
    } else if (c > 127 && q - 3 >= least && isWideSign(b, q - 3)) {
      label.hasSign = true;
      q -= 3;
    } else if (c === 10 && isFormData(b, q, least)) {
      label.hasSign = true;
      q -= b[q - 2] === 13 ? 4 : 2;
    } else break;
  }
  work.spent += p - q;
  return q;
}

/** Whether a colon or equals sign as wide as a Chinese character is at `p`. */
function isWideSign(b: Uint8Array, p: number): boolean {
  return b[p] === 0xef && b[p + 1] === 0xbc && (b[p + 2] === 0x9a || b[p + 2] === 0x9d);
}

/** Returns the start of the bracket that ends before `p`, or the position before it if it is none. */
function asideStart(b: Uint8Array, p: number, floor: number): number {
  const least = Math.max(floor, p - MAX_ASIDE);
  for (let q = p - 2; q > least; q--) if (b[q] === 40 || b[q] === 91) return q;
  return p - 1;
}

/** Whether the empty line of a part of a form ends before `p`, after the quotes of its name. */
function isFormData(b: Uint8Array, p: number, least: number): boolean {
  if (p - 3 >= least && b[p - 2] === 10) return b[p - 3] === 34;
  return p - 5 >= least && b[p - 2] === 13 && b[p - 3] === 10 && b[p - 4] === 13 && b[p - 5] === 34;
}

/** Start of the label that `labelEndingAt` found, and whether it needs a sign. */
let found = 0;
let foundNeedsSign = false;

/** Returns the kind of the longest label that ends before `end`, ignoring case. */
export function labelEndingAt(b: Uint8Array, end: number, floor: number): number {
  if (end - floor < 2) return NO_LABEL;
  const third = end - 3 >= floor ? CLASSES[b[end - 3]!]! : 0;
  const ending = (third << 10) | (CLASSES[b[end - 2]!]! << 5) | CLASSES[b[end - 1]!]!;
  if (labelEndings()[ending] === 0) return NO_LABEL;
  const trie = labelTrie();
  let node = ROOT;
  let kind = NO_LABEL;
  let p = end - 1;
  for (; p >= floor; p--) {
    const c = b[p]!;
    if (CLASSES[c] === DIGIT_CLASS) matches.readsDigits = true; // some labels contain digits
    let next = trie.child(node, FOLDED[c]!);
    const isJoint = next === ROOT && (trie.flags[node]! & BEFORE_JOINT) !== 0;
    if (isJoint && (c === 95 || c === 45 || c === 46 || c === 32)) {
      if (--p < floor) break;
      if (CLASSES[b[p]!] === DIGIT_CLASS) matches.readsDigits = true;
      next = trie.child(node, FOLDED[b[p]!]!);
    }
    if (next === ROOT) break;
    node = next;
    const flags = trie.flags[node]!;
    if (trie.kinds[node] === NO_LABEL || !((flags & FREE) !== 0 || isWordStart(b, p, floor))) continue;
    kind = trie.kinds[node]!;
    found = p;
    foundNeedsSign = (flags & NEEDS_SIGN) !== 0;
  }
  work.spent += BYTE_COST * (end - p);
  return kind;
}

function isWordStart(b: Uint8Array, p: number, floor: number): boolean {
  if (p <= floor) return true;
  const c = b[p]!;
  const before = b[p - 1]!;
  if (c >= 0xd6) return true; // scripts with prefixes, or without spaces between words
  if (before > 127) return before >= 0x80 && c < 128; // after a Chinese character, a word begins
  return (CHARACTER_BITS[before]! & LETTER) === 0 || ((CHARACTER_BITS[before]! & LOWER) !== 0 && isCapital(b, p));
}

function isCapital(b: Uint8Array, p: number): boolean {
  return (CHARACTER_BITS[b[p]!]! & UPPER) !== 0;
}

/** Returns the kind of label that a key is, or NO_LABEL. */
export function labelOfKey(key: string): number {
  const b = Buffer.from(`${key}=`);
  const kind = labelBefore(b, b.length, 0);
  return label.monthAt < 0 ? kind : NO_LABEL;
}
