import { CARD_LABEL, OTHER_LABEL } from "../labels/label-words.js";
import { labelBefore } from "../labels/labels.js";
import { PERCENT, SLASH } from "../text/ascii.js";
import { DIGIT, latin1, runEnd } from "../text/characters.js";
import { HINT_LABEL_SHIFT, PAYMENT_CARD } from "../text/detectors.js";
import {
  AMONG_NUMBERS,
  CHECKSUM,
  COMMON_FORM,
  FORM,
  GROUPED,
  KEY,
  LABEL,
  OTHER_THING,
  PLACE,
  WRONG_CHECKSUM,
} from "../text/evidence.js";
import { labelWords } from "../text/lookback.js";
import { matches } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { groups } from "./digit-groups.js";

/**
 * Each issuer's range of first digits (from and to), how many digits that range compares, and the lengths of its
 * numbers.
 */
const RANGES: readonly (readonly [from: number, to: number, digits: number, lengths: readonly number[]])[] = [
  [4, 4, 1, [16, 19]], // Visa
  [51, 55, 2, [16]], // Mastercard
  [2221, 2720, 4, [16]],
  [34, 34, 2, [15]], // American Express
  [37, 37, 2, [15]],
  [6011, 6011, 4, [16, 19]], // Discover
  [644, 649, 3, [16, 19]],
  [65, 65, 2, [16, 19]],
  [300, 305, 3, [14, 16]], // Diners Club
  [3095, 3095, 4, [14, 16]],
  [36, 36, 2, [14, 16]],
  [38, 39, 2, [14, 16]],
  [3528, 3589, 4, [16]], // JCB
  [62, 62, 2, [16, 17, 18, 19]], // UnionPay
  [2200, 2204, 4, [16]], // Mir
  [9792, 9792, 4, [16]], // Troy
  ...[5018, 5020, 5038, 5612, 5893, 6304, 6759, 6761, 6762, 6763, 6799].map(
    (first) => [first, first, 4, [16, 18, 19]] as const, // Maestro
  ),
  ...[5041, 5066, 5067, 5090, 6277, 6362, 6363].map((first) => [first, first, 4, [16]] as const), // Elo
  ...[6062, 6370, 6375, 6376].map((first) => [first, first, 4, [16]] as const), // Hipercard
  ...[5060, 5061].map((first) => [first, first, 4, [16, 18, 19]] as const), // Verve
  [508, 508, 3, [16]], // RuPay
];

/** Ranges that many other numbers begin like: these need the groups of a card, or a label. */
const COMMON_RANGES: typeof RANGES = [
  [4, 4, 1, [13]], // old numbers of Visa
  [1, 1, 1, [15]], // UATP
  [50, 50, 2, [12, 13, 14, 15, 16, 17, 18, 19]], // Maestro, Elo, RuPay, Verve
  [56, 69, 2, [12, 13, 14, 15, 16, 17, 18, 19]], // Maestro, RuPay, Hipercard
  [81, 82, 2, [16]], // RuPay, UnionPay
];

/** The same ranges, extended to the first four digits. */
const byFirstFour = (ranges: typeof RANGES) =>
  ranges.map(([from, to, digits, lengths]) => {
    const scale = 10 ** (4 - digits);
    return { lowest: from * scale, highest: (to + 1) * scale - 1, lengths };
  });
const ISSUERS = byFirstFour(RANGES);
const COMMON_ISSUERS = byFirstFour(COMMON_RANGES);

/**
 * Bit mask of the lengths that a number beginning with these four digits may have without a label. The lowest bit
 * stands for length 12.
 */
const LENGTHS_BY_FIRST_FOUR = new Uint8Array(10_000);
for (const { lowest, highest, lengths } of ISSUERS) {
  const mask = lengths.reduce((bits, length) => bits | (1 << (length - 12)), 0);
  for (let first4 = lowest; first4 <= highest; first4++) LENGTHS_BY_FIRST_FOUR[first4]! |= mask;
}

const CARD_WORDS = labelWords(["card", "\\bpan\\b", "\\bcc\\b", "karte", "carte", "tarjeta", "uatp", "maestro"]);

/** Groups of digits as printed on cards. */
const GROUPINGS: readonly (readonly number[])[] = [
  [4, 4, 4, 4, 3],
  [4, 4, 4, 4],
  [4, 6, 5],
  [4, 6, 4],
  [4, 5, 6],
  [4, 4, 4],
];

/**
 * Finds a card number that begins with group `i`, and returns the group after it, or 0. The group must not be attached
 * to anything before it.
 */
export function findPaymentCard(b: Uint8Array, i: number): number {
  const size = groups.size(i);
  if (size !== 4 && (size < 12 || size > 19)) return 0;
  const first = b[groups.starts[i]!]! - 48;
  if (first === 0 || first === 7) return 0;
  if (size !== 4) return addIfCard(b, i, i + 1);
  work.spent += GROUPING_COST;
  for (const sizes of GROUPINGS) {
    if (!groups.haveSizes(i, sizes, " -.")) continue;
    const next = addIfCard(b, i, i + sizes.length);
    if (next !== 0) return next;
  }
  return 0;
}

/** Work units of comparing four digits and what follows with all groupings. */
const GROUPING_COST = 100;

/** Whether an issuer has numbers of this size that begin like the one at `p`. */
export function mayBeCard(b: Uint8Array, p: number, size: number): boolean {
  return size >= 12 && size <= 19 && ((LENGTHS_BY_FIRST_FOUR[firstFour(b, p)]! >> (size - 12)) & 1) === 1;
}

function firstFour(b: Uint8Array, p: number): number {
  return (b[p]! - 48) * 1000 + (b[p + 1]! - 48) * 100 + (b[p + 2]! - 48) * 10 + b[p + 3]! - 48;
}

function addIfCard(b: Uint8Array, from: number, to: number): number {
  if (!groups.isDetachedAfter(to) && groups.separators[to - 1] !== SLASH) return 0;
  const form = formOf(b, from, to);
  if (form === 0) return 0;
  work.spent += LUHN_COST;
  const checksum = passesLuhn(b, from, to) ? CHECKSUM : WRONG_CHECKSUM;
  if (checksum === WRONG_CHECKSUM && !matches.isThorough) return 0;
  const start = groups.starts[from]!;
  const stop = groups.ends[to - 1]!;
  const stripe = stripeEnd(b, stop);
  const grouped = to - from > 1 ? GROUPED : 0;
  const among = grouped !== 0 && (from > 0 || to < groups.count) ? AMONG_NUMBERS : 0;
  const evidence = form | checksum | grouped | among | rowEvidence(b, from, to) | labelEvidence(b, from);
  return matches.propose(PAYMENT_CARD, start, stripe, stripe > stop ? evidence | PLACE : evidence) < 0 ? 0 : to;
}

/** More groups of four before or behind it are a row of numbers, unless they are cards too. */
function rowEvidence(b: Uint8Array, from: number, to: number): number {
  if (to - from === 1) return 0;
  const isAfterNumber = from > 0 && groups.size(from - 1) === 4 && groups.ends[from - 1] !== matches.lastEnd;
  const isBeforeNumber = to < groups.count && groups.size(to) === 4 && !isCardNext(b, to);
  return isAfterNumber || isBeforeNumber ? OTHER_THING : 0;
}

function isCardNext(b: Uint8Array, i: number): boolean {
  return i + 4 <= groups.count && formOf(b, i, i + 4) !== 0 && passesLuhn(b, i, i + 4);
}

/** Work units of verifying the digits of a card. */
const LUHN_COST = 80;

/** Whether an issuer has numbers that begin like this one and are as long. */
function formOf(b: Uint8Array, from: number, to: number): number {
  const first4 = firstFour(b, groups.starts[from]!); // its group has four digits or more
  const length = groups.total(from, to);
  if (isIssued(ISSUERS, first4, length)) return FORM;
  return isIssued(COMMON_ISSUERS, first4, length) ? COMMON_FORM : 0;
}

/** The evidence in the key and in the words before the number. */
function labelEvidence(b: Uint8Array, from: number): number {
  if (matches.hints >> HINT_LABEL_SHIFT === CARD_LABEL) return KEY;
  if (from > 0) return 0;
  const kind = labelBefore(b, groups.starts[0]!, matches.lastEnd);
  if (kind === CARD_LABEL || groups.followsWord(b, from, CARD_WORDS)) return LABEL;
  return kind === OTHER_LABEL ? OTHER_THING : 0;
}

function isIssued(issuers: typeof ISSUERS, first4: number, length: number): boolean {
  return issuers.some(
    ({ lowest, highest, lengths }) => first4 >= lowest && first4 <= highest && lengths.includes(length),
  );
}

/** Every second digit from the end is doubled, and counts as the sum of its digits. */
function passesLuhn(b: Uint8Array, from: number, to: number): boolean {
  let sum = 0;
  let isDoubled = false;
  for (let i = to - 1; i >= from; i--) {
    for (let p = groups.ends[i]! - 1; p >= groups.starts[i]!; p--) {
      const digit = b[p]! - 48;
      sum += isDoubled ? DOUBLED[digit]! : digit;
      isDoubled = !isDoubled;
    }
  }
  return sum % 10 === 0;
}

const DOUBLED = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9];

/**
 * The rest of a magnetic stripe, behind the number of its card: `^DOE/JANE^28052010000` on the first track, and
 * `=28052010000` on the second one, for which chips write `D28052010000F`.
 */
const STRIPE = /^(?:\^[^^?"\n]{2,26}\^\d{4,60}|[=Dd]\d{7,20}F{0,2}(?![A-Za-z\d]))/;
const MAX_STRIPE = 90;
/** The bytes between the number and the rest. */
const SIGNS = new Uint8Array(256);
for (const c of "^=Dd") SIGNS[c.charCodeAt(0)] = 1;

/** Returns the end of the magnetic stripe whose card number ends before `p`, or `p`. */
export function stripeEnd(b: Uint8Array, p: number): number {
  if (p >= matches.end || SIGNS[b[p]!] === 0) return p;
  work.spent += TEXT_COST;
  return p + (STRIPE.exec(latin1(b, p, Math.min(matches.end, p + MAX_STRIPE)))?.[0].length ?? 0);
}

const MIN_CARD = 12;

/** Whether the `%` at `p` begins a first track, as in `%B4111111111111111^`, and not the escape of a byte. */
export function beginsStripe(b: Uint8Array, p: number): boolean {
  return (
    b[p] === PERCENT &&
    b[p + 1] === 66 &&
    runEnd(b, p + 2, Math.min(matches.end, p + 2 + MIN_CARD), DIGIT) === p + 2 + MIN_CARD
  );
}
