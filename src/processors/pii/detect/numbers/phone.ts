import { OTHER_LABEL, PHONE_LABEL } from "../labels/label-words.js";
import { labelBefore, mayFollowLabel } from "../labels/labels.js";
import { BLANK, CLOSE_PAREN, DASH, DOT, ONE, OPEN_PAREN, PLUS, SLASH, ZERO } from "../text/ascii.js";
import { ALNUM, isBefore, latin1 } from "../text/characters.js";
import { HINT_PHONE, PHONE } from "../text/detectors.js";
import {
  AMONG_NUMBERS,
  COMMON_FORM,
  FORM,
  GROUPED,
  KEY,
  LABEL,
  OTHER_THING,
  PLACE,
  UNIQUE_FORM,
} from "../text/evidence.js";
import { labelWords } from "../text/lookback.js";
import { matches } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { CLOSING, groups, groupValue, MIXED, OPENING } from "./digit-groups.js";

/**
 * Finds phone numbers with a country code after `+` or `00`, North American numbers in three groups, and grouped
 * numbers that begin with the trunk prefix 0. Any other number of 7 to 15 digits counts only if a word or the key says
 * that it is a phone number.
 */
const PHONE_WORDS = labelWords([
  ..."phone,\\btel\\b,telef,tél,mobile,\\bmob\\b,\\bcell\\b,cellular,\\bfax\\b,whatsapp,\\bsms\\b,msisdn,\\bgsm\\b,handy,rufnummer,móvil".split(
    ",",
  ),
  ..."celular,cellulare,numéro,mobil,\\bwa_id,caller,call from,جوال,هاتف,मोबाइल,फ़ोन,puhelin,telefoon,\\btlf\\b,komórk,电话,手机,電話,携帯,전화,휴대폰,елефон,мобил,dial(?:ed|led|ing)?\\b".split(
    ",",
  ),
  ..."call (?:me|us|him|her|them|back)\\b".split(","),
  ..."al numero,al número,au numéro,an nummer,to number,на номер,para o número,naar nummer,na numer,للرقم,κινητ,τηλ,เบอร์,điện thoại,e164,sip/,sip:".split(
    ",",
  ),
]);

/** The maximum length of a number with each one- or two-digit country code. All other codes have three digits. */
const MAX_DIGITS_BY_CODE: Readonly<Record<number, number>> = {
  1: 11,
  7: 11,
  20: 12,
  27: 11,
  30: 12,
  31: 11,
  32: 11,
  33: 11,
  34: 11,
  36: 11,
  39: 13,
  40: 11,
  41: 11,
  43: 13,
  44: 12,
  45: 10,
  46: 12,
  47: 10,
  48: 11,
  49: 14,
  51: 11,
  52: 13,
  53: 11,
  54: 13,
  55: 13,
  56: 11,
  57: 12,
  58: 12,
  60: 12,
  61: 11,
  62: 14,
  63: 12,
  64: 12,
  65: 10,
  66: 11,
  81: 12,
  82: 12,
  84: 12,
  86: 13,
  90: 12,
  91: 12,
  92: 12,
  93: 11,
  94: 11,
  95: 12,
  98: 12,
};

/** The first two digits of three-digit country codes. */
const THREE_DIGIT_CODE_PREFIXES = new Set([
  21, 22, 23, 24, 25, 26, 27, 28, 29, 35, 37, 38, 42, 50, 59, 67, 68, 69, 80, 85, 87, 88, 96, 97, 99,
]);

/** Finds a phone number that begins with group `i`, and returns the group after it, or 0. */
export function findPhone(b: Uint8Array, i: number): number {
  const start = groups.starts[i]!;
  const { floor } = matches;
  if (start > floor && b[start - 1] === PLUS)
    return isBefore(b, start - 1, floor, ALNUM) || b[start - 2] === PLUS ? 0 : international(b, i, 0);
  if (i + 1 === groups.count && !isLabelled(b, i)) return 0; // an id, a time: all other forms have more groups
  return national(b, i) || bracketed(b, i) || labelled(b, i);
}

function national(b: Uint8Array, i: number): number {
  const start = groups.starts[i]!;
  if (b[start] !== ZERO) return northAmerican(b, i);
  if (b[start + 1] === ZERO && groups.size(i) > 1) {
    if (isPadded(b, start)) return 0;
    return i + 1 < groups.count || isLabelled(b, i) ? international(b, i, 2) : 0;
  }
  return trunkPrefixed(b, i);
}

/** Finds a number after `+`, or one whose first `skipped` digits are `00`. */
function international(b: Uint8Array, i: number, skipped: number): number {
  const code = countryCode(b, i, skipped);
  if (code === 0 || (skipped > 0 && arePairs(i))) return 0;
  const isOnePiece = skipped === 0 && groups.size(i) >= MIN_ONE_PIECE;
  const maxDigits = isOnePiece ? MAX_DIGITS : (MAX_DIGITS_BY_CODE[code] ?? 13) + skipped;
  let end = i;
  let digits = 0;
  while (end < groups.count && digits + groups.size(end) <= maxDigits) {
    digits += isTrunkZero(b, end) ? 0 : groups.size(end);
    end++;
    if (digits >= 10 + skipped && end === i + 1) break; // in one piece
    if (!isPhoneSeparator(groups.separators[end - 1]!) && groups.separators[end - 1] !== OPENING) break;
  }
  if (digits < 8 + skipped || !isDetachedAfter(end)) return 0;
  if (skipped === 0) return addPhone(b, i, end, UNIQUE_FORM);
  if (end === i + 2 && groups.separators[i] === DOT && !isLabelled(b, i)) return 0; // a number with a decimal point
  const among = i > 0 && groups.separators[i - 1] === BLANK ? AMONG_NUMBERS : 0;
  return addPhone(b, i, end, FORM | GROUPED | among);
}

/** Whether bytes are written in hex from group `i` on: pairs of digits, more than a number has after `00`. */
function arePairs(i: number): boolean {
  let end = i;
  while (end < groups.count && groups.size(end) === 2) end++;
  return end - i >= MIN_PAIRS;
}

const MIN_PAIRS = 7;

/** A `+` and this many digits in one piece are a phone number, even if it is longer than the country's. */
const MIN_ONE_PIECE = 10;
const MAX_DIGITS = 15;

/** Whether group `i` is the (0) of +44 (0)20 7946 0958. */
function isTrunkZero(b: Uint8Array, i: number): boolean {
  return groups.size(i) === 1 && b[groups.starts[i]!] === ZERO;
}

/** Returns the country code after the first `skipped` digits, or 0 if there is none. */
function countryCode(b: Uint8Array, i: number, skipped: number): number {
  let code = 0;
  let digits = -skipped;
  for (let k = i; k < groups.count; k++) {
    for (let p = groups.starts[k]!; p < groups.ends[k]!; p++) {
      if (++digits <= 0) continue;
      code = code * 10 + b[p]! - 48;
      if (digits === 1 ? code === 1 || code === 7 : digits === 2 && MAX_DIGITS_BY_CODE[code] !== undefined) return code;
      if (digits === 3) return THREE_DIGIT_CODE_PREFIXES.has(Math.floor(code / 10)) ? code : 0;
    }
  }
  return 0;
}

/** Finds 3-3-4 digits, perhaps after a 1. Neither the area code nor the exchange begins with 0 or 1. */
function northAmerican(b: Uint8Array, i: number): number {
  const first = groups.size(i) === 1 && b[groups.starts[i]!] === ONE ? i + 1 : i;
  if (first + 3 > groups.count || groups.size(first) !== 3 || groups.size(first + 1) !== 3) return 0;
  if (groups.size(first + 2) !== 4 || !isDetachedAfter(first + 3)) return 0;
  if (groupValue(b, first) < 200 || groupValue(b, first + 1) < 200) return 0;
  const between = groups.separators[first]!;
  const next = groups.separators[first + 1]!;
  if (
    between === CLOSING || between === CLOSE_PAREN
      ? !isPhoneSeparator(next) || next === CLOSING
      : between !== next || !isPhoneSeparator(between)
  )
    return 0;
  if (between === BLANK && !isOpen(b, first) && (i > 0 || first + 3 < groups.count)) return 0; // among other numbers
  if (between !== BLANK || isOpen(b, first)) return addPhone(b, i, first + 3, FORM | GROUPED);
  return addPhone(b, i, first + 3, COMMON_FORM | GROUPED | (standsAlone(b, i, first + 3) ? PLACE : 0));
}

/** Whether no words stand on either side of the number, so that it is no row of numbers in a sentence. */
function standsAlone(b: Uint8Array, from: number, to: number): boolean {
  const { floor, end } = matches;
  const start = groups.starts[from]!;
  const stop = groups.ends[to - 1]!;
  return (start === floor || ALONE[b[start - 1]!] === 1) && (stop === end || ALONE[b[stop]!] === 1);
}

const ALONE = new Uint8Array(256);
for (const c of "\n\r\t\"'`()[]{}<>|,;=:.") ALONE[c.charCodeAt(0)] = 1;

/** Finds an area code in brackets, perhaps after a 1 or an 8, and the rest in groups. */
function bracketed(b: Uint8Array, i: number): number {
  const isBehind = groups.size(i) === 1 && groups.separators[i] === OPENING && i + 1 < groups.count;
  const area = isBehind ? i + 1 : i;
  if (!isOpen(b, area) || groups.size(area) < 2 || groups.size(area) > 5) return 0;
  if (groups.separators[area] !== CLOSING && groups.separators[area] !== CLOSE_PAREN) return 0;
  let end = area + 1;
  let digits = groups.size(area);
  while (end < groups.count && groups.size(end) > 1 && digits + groups.size(end) <= 11) {
    digits += groups.size(end++);
    if (!isPhoneSeparator(groups.separators[end - 1]!)) break;
  }
  return digits >= 9 && isDetachedAfter(end) ? addPhone(b, i, end, FORM | GROUPED | PLACE) : 0;
}

function isOpen(b: Uint8Array, i: number): boolean {
  const start = groups.starts[i]!;
  return start > matches.floor && b[start - 1] === OPEN_PAREN;
}

/** Finds 0 and nine or more digits in groups. All separators must be equal, except the first. */
function trunkPrefixed(b: Uint8Array, i: number): number {
  if (groups.size(i) < 2 || groups.size(i) > 5 || i + 1 >= groups.count) return 0;
  if (groups.haveSizes(i, [5, 4], "-")) return 0; // a ZIP code
  let end = i + 1;
  let digits = groups.size(i);
  const between = groups.separators[i + 1]!;
  while (end < groups.count && groups.size(end) > 1 && digits + groups.size(end) <= 12) {
    const before = groups.separators[end - 1]!;
    if (end > i + 1 ? before !== between : !isPhoneSeparator(before) && before !== SLASH && !isSpacedSlash(b, i)) break;
    digits += groups.size(end++);
  }
  const among = i > 0 && groups.separators[i - 1] === BLANK ? AMONG_NUMBERS : 0;
  return digits >= 9 && isDetachedAfter(end) ? addPhone(b, i, end, FORM | GROUPED | among) : 0;
}

/** Whether a slash between spaces follows group `i`: 0171 / 480 22 96. */
function isSpacedSlash(b: Uint8Array, i: number): boolean {
  return b[groups.ends[i]!] === BLANK && b[groups.ends[i]! + 1] === SLASH && b[groups.ends[i]! + 2] === BLANK;
}

/** Whether country, network, area and cell of a mobile network begin with group `i`: 262-01-7936-20732. */
function isCell(b: Uint8Array, i: number): boolean {
  if (i + 4 !== groups.count || groups.size(i) !== 3 || groups.size(i + 1) > 3 || groups.size(i + 3) < 4) return false;
  return groups.separators[i] === DASH && groups.separators[i + 1] === DASH && groupValue(b, i) >= 200;
}

/** Finds any number that a word before it, or the key, identifies as a phone number. */
function labelled(b: Uint8Array, i: number): number {
  let end = i;
  let digits = 0;
  while (end < groups.count && digits + groups.size(end) <= 15) {
    digits += groups.size(end++);
    if (!isPhoneSeparator(groups.separators[end - 1]!) || digits >= MIN_ONE_PIECE) break;
  }
  if (
    digits < 7 ||
    !isDetachedAfter(end) ||
    isDotted(i, end) ||
    isCell(b, i) ||
    isPadded(b, groups.starts[i]!) ||
    !isLabelled(b, i)
  )
    return 0;
  return addPhone(b, i, end, FORM | (isCounted(b, groups.ends[end - 1]!) ? AMONG_NUMBERS : 0));
}

/** Whether the groups are four short numbers with dots between them: a version, or an address of a computer. */
function isDotted(from: number, to: number): boolean {
  if (to - from !== 4) return false;
  for (let i = from; i < to; i++) if (groups.size(i) > 3 || (i < to - 1 && groups.separators[i] !== DOT)) return false;
  return true;
}

/** Whether a unit follows: `mobile data usage 24322535 bytes`. */
function isCounted(b: Uint8Array, p: number): boolean {
  if (b[p] !== BLANK) return false;
  work.spent += TEXT_COST;
  return /^ (?:bytes|ms|s|sec|seconds|min|minutes|rows|items|entries|times|users|calls|messages|[kmgt]i?b|%|tac|lac|mcc|mnc|rsrp|rsrq|pci|handover|sector)\b/i.test(
    latin1(b, p, Math.min(matches.end, p + 12)),
  );
}

/** Numbers such as 000123 are never dialled. */
function isPadded(b: Uint8Array, p: number): boolean {
  return b[p] === ZERO && b[p + 1] === ZERO && b[p + 2] === ZERO;
}

function isLabelled(b: Uint8Array, i: number): boolean {
  return (matches.hints & HINT_PHONE) !== 0 || groups.followsWord(b, i, PHONE_WORDS) || followsPhoneLabel(b, i);
}

function followsPhoneLabel(b: Uint8Array, i: number): boolean {
  const start = groups.starts[i]!;
  return i === 0 && mayFollowLabel(b, start) && labelBefore(b, start, matches.lastEnd) === PHONE_LABEL;
}

/** Proposes the number, including a `+` and a bracket before it. Returns the group after it, or 0. */
function addPhone(b: Uint8Array, from: number, to: number, form: number): number {
  const end = groups.ends[to - 1]!;
  let start = groups.starts[from]!;
  const { lastEnd } = matches;
  if (start > lastEnd && b[start - 1] === PLUS) start--;
  if (
    start > lastEnd &&
    b[start - 1] === OPEN_PAREN &&
    Buffer.prototype.subarray.call(b, start, end).includes(CLOSE_PAREN)
  )
    start--;
  return matches.propose(PHONE, start, end, form | labelEvidence(b, from, form === UNIQUE_FORM)) < 0 ? 0 : to;
}

/** The evidence of the key and the label. A number that `isSure` needs no label, but may have one of something else. */
function labelEvidence(b: Uint8Array, i: number, isSure: boolean): number {
  if ((matches.hints & HINT_PHONE) !== 0) return KEY;
  const other = i === 0 && labelBefore(b, groups.starts[0]!, matches.lastEnd) === OTHER_LABEL ? OTHER_THING : 0;
  if (isSure && other === 0 && !matches.isThorough) return 0;
  return groups.followsWord(b, i, PHONE_WORDS) || followsPhoneLabel(b, i) ? LABEL | other : other;
}

function isPhoneSeparator(c: number): boolean {
  return c === BLANK || c === DASH || c === DOT || c === CLOSING || c === CLOSE_PAREN;
}

/** Whether nothing is attached to the groups before `end`. */
function isDetachedAfter(end: number): boolean {
  const between = groups.separators[end - 1]!;
  if (end > groups.count) return false;
  return between === 0 || between === BLANK || between === SLASH || between === MIXED || between === OPENING;
}
