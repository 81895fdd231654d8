import { findEmail } from "../email.js";
import { findAfterLabel } from "../labels/after-label.js";
import { NO_LABEL } from "../labels/label-words.js";
import { labelBefore, mayFollowLabel } from "../labels/labels.js";
import { findTravelDocument } from "../labels/travel.js";
import { BLANK, DASH, DOT, PLUS } from "../text/ascii.js";
import {
  CHARACTER_BITS,
  DIGIT,
  EMAIL_LOCAL,
  isAt,
  isBefore,
  LETTER,
  runEnd,
  SEPARATOR,
  WORD,
} from "../text/characters.js";
import {
  ASSIGNED_SECRET,
  DEVICE_ID,
  EMAIL,
  GEO_LOCATION,
  HINT_LABEL_SHIFT,
  HINT_NATIONAL_ID,
  HINT_PHONE,
  HINT_SSN,
  IPV4,
  MAC,
  NATIONAL_ID,
  PAYMENT_CARD,
  PHONE,
  SSN,
} from "../text/detectors.js";
import { followsLabel } from "../text/lookback.js";
import { matches, NOT_FOUND, RULED_OUT } from "../text/matches.js";
import { work } from "../text/work.js";
import { findSimCard, mayBeSimCard } from "./device-numbers.js";
import { groups } from "./digit-groups.js";
import { findIpv4, findPlainIpv4 } from "./ipv4.js";
import { findMac } from "./mac.js";
import { findSpacedNino } from "./national/lettered-ids.js";
import { findNationalId, isEnabled, mayBeNationalId } from "./national/national-ids.js";
import { findPaymentCard, mayBeCard } from "./payment-card.js";
import { findPhone } from "./phone.js";
import { findNamedCode, findNmea, findPosition, mayBeNamedBehind } from "./positions.js";
import { findSsn } from "./ssn.js";

/** Work units that the detectors spend on each group of digits. */
const GROUP_COST = 50;

/** Searches a word whose first digit is at `p`, and returns where the scan continues, as `findNumbers` does. */
type FindInWord = (b: Uint8Array, p: number) => number;

/**
 * Where the scan continues. `findNumbers` and `findInWord` return `~position` if nothing was found, whatever the digits
 * are (see RULED_OUT), and the position itself if that is not sure.
 */
export function positionOf(next: number): number {
  return next < 0 ? ~next : next;
}

/** Continues at `next`, after detectors with this answer. */
function continueAfter(answer: number, next: number): number {
  return answer === RULED_OUT ? next : positionOf(next);
}

/** Finds everything that consists of digits, starting with the digit at `p`. Returns where the scan continues. */
export function findNumbers(b: Uint8Array, p: number, findInWord: FindInWord): number {
  const { floor, end } = matches;
  const digitsEnd = runEnd(b, p + 1, end, DIGIT);
  if (isQuantity(b, p, digitsEnd)) return ~digitsEnd;
  const whole = b[p - 1] === PLUS && b[digitsEnd] !== DOT ? findDialled(b, p) : findEmailAround(b, digitsEnd);
  if (whole >= 0) return whole;
  const labelled = findAfterLabel(b, p);
  if (labelled >= 0) return labelled;
  const document = findTravelDocument(b, p);
  if (document >= 0) return document;
  let answer = Math.max(whole, labelled, document);
  if (isBefore(b, p, floor, WORD)) return continueAfter(answer, findInWord(b, p));
  const named = findNamedBehind(b, p, digitsEnd);
  if (named >= 0) return named;
  answer = Math.max(answer, named);
  if (!isAt(b, digitsEnd, end, SEPARATOR | WORD)) return continueAfter(answer, findInNumber(b, p, digitsEnd));
  // IP addresses are checked first: they are the most common match, and an address is never one of the other kinds.
  if (b[digitsEnd] === DOT && hasSecondDot(b, digitsEnd) && matches.isEnabled(IPV4)) {
    answer = NOT_FOUND;
    const address = findPlainIpv4(b, p);
    if (address >= 0) return address;
  }
  if (isAt(b, p + 1, end, DIGIT)) {
    const found = findPairs(b, p);
    if (found >= 0) return found;
    answer = Math.max(answer, found);
  }
  const stop = endIfTooShort(b, p, end);
  if (stop > 0) return continueAfter(answer, isAt(b, stop, end, LETTER) ? findInWord(b, p) : ~stop); // 7c9f
  return positionOf(findInGroupsAt(b, p, findInWord));
}

/** Searches the groups of digits from `p` on. */
function findInGroupsAt(b: Uint8Array, p: number, findInWord: FindInWord): number {
  const { end } = matches;
  groups.read(b, p, end);
  work.spent += GROUP_COST * groups.count;
  if (groups.digits < 8 && groups.count < 4) return groups.wordAt < 0 ? groups.resumeAt : findInWord(b, groups.wordAt);
  for (let i = 0; i < groups.count; ) i = findInGroups(b, i);
  if (groups.wordAt < matches.lastEnd) return Math.max(groups.resumeAt, matches.lastEnd);
  return findInWord(b, groups.wordAt);
}

/** Finds the e-mail address whose local part contains the digits before `p`. Nothing else need be looked for in it. */
function findEmailAround(b: Uint8Array, p: number): number {
  const limit = Math.min(matches.end, p + MAX_LOCAL);
  let at = p;
  while (at < limit && (CHARACTER_BITS[b[at]!]! & EMAIL_LOCAL) !== 0) at++;
  if (at >= limit || b[at] !== AT || !matches.isEnabled(EMAIL)) return RULED_OUT;
  work.spent += at - p;
  return findEmail(b, at);
}

const AT = 64;
const MAX_LOCAL = 32;

/** Finds the phone number whose `+` stands before `p`, after a space or the like. */
function findDialled(b: Uint8Array, p: number): number {
  const { floor, end } = matches;
  if (!matches.isEnabled(PHONE) || (p - 1 > floor && MAY_PRECEDE_PLUS[b[p - 2]!] === 0)) return RULED_OUT;
  groups.read(b, p, end);
  work.spent += GROUP_COST;
  return findPhone(b, 0) === 0 ? NOT_FOUND : matches.lastEnd;
}

const MAY_PRECEDE_PLUS = new Uint8Array(256);
for (const c of " \t\n\"'=:(,;<") MAY_PRECEDE_PLUS[c.charCodeAt(0)] = 1;

/**
 * Whether the number [p, stop) is one of the many between two words, or at the end, that can be nothing else than a
 * quantity: too short for all detectors but those that need a label, and without a label. With one or two digits it
 * could only be the day of a date.
 */
function isQuantity(b: Uint8Array, p: number, stop: number): boolean {
  const { floor, end, count } = matches;
  if (b[p - 1] !== BLANK || count > 0 || stop - p > MAX_QUANTITY || p - 1 <= floor) return false;
  if (stop < end && (b[stop] !== BLANK || !isAt(b, stop + 1, end, LETTER))) return false;
  if (stop - p <= 2) return MAY_PRECEDE_QUANTITY[b[p - 2]!] === 1 && !isDay(b, stop);
  if (!isBefore(b, p - 1, floor, LETTER)) return false;
  return !mayBeNamedBehind(b, stop) && (!mayFollowLabel(b, p) || labelBefore(b, p, floor) === NO_LABEL);
}

/** Bytes before the space in front of a number of one or two digits: ASCII, but neither digits nor quotes. */
const MAY_PRECEDE_QUANTITY = new Uint8Array(256);
for (let c = 33; c < 127; c++) MAY_PRECEDE_QUANTITY[c] = "\"'`0123456789".includes(String.fromCharCode(c)) ? 0 : 1;

/** Longer numbers may be something by their digits alone. */
const MAX_QUANTITY = 7;

/** Whether a word and a number follow at `p`, as in `12 May 1990` and `12 de mayo de 1990`. */
function isDay(b: Uint8Array, p: number): boolean {
  const monthAt = skipLink(b, p + 1);
  let q = monthAt;
  while (q < matches.end && ((CHARACTER_BITS[b[q]!]! & LETTER) !== 0 || b[q]! > 127)) q++;
  if (q - monthAt < 3 || q - monthAt > MAX_MONTH) return false;
  while (q < matches.end && MONTH_ENDS[b[q]!] === 1) q++;
  return isAt(b, skipLink(b, q), matches.end, DIGIT);
}

/** The most bytes of the name of a month. */
const MAX_MONTH = 20;
const MONTH_ENDS = new Uint8Array(256);
for (const c of ".,- ") MONTH_ENDS[c.charCodeAt(0)] = 1;

/** Skips `de` or `of` and a space at `p`. */
function skipLink(b: Uint8Array, p: number): number {
  const isLink = (b[p] === 100 && b[p + 1] === 101) || (b[p] === 111 && b[p + 1] === 102);
  return isLink && b[p + 2] === BLANK ? p + 3 : p;
}

/** Finds positions and one-time codes, which have their names behind them, or none. */
function findNamedBehind(b: Uint8Array, p: number, stop: number): number {
  if (stop - p <= 3) return matches.isEnabled(GEO_LOCATION) ? findPosition(b, p, stop) : RULED_OUT;
  const position = b[stop] === DOT && matches.isEnabled(GEO_LOCATION) ? findNmea(b, p, stop) : RULED_OUT;
  if (position >= 0 || !matches.isEnabled(ASSIGNED_SECRET)) return position;
  return Math.max(position, findNamedCode(b, p, stop));
}

/** Whether the second number of an IP address ends shortly after the dot at `p`. */
function hasSecondDot(b: Uint8Array, p: number): boolean {
  return b[p + 2] === DOT || b[p + 3] === DOT || b[p + 4] === DOT;
}

/** Searches a number without separators that nothing is attached to. Most such numbers are ids and times. */
function findInNumber(b: Uint8Array, p: number, stop: number): number {
  const size = stop - p;
  if (size < 8 || size > MAX_DIGITS) return ~stop;
  work.spent += GROUP_COST;
  if (isPlainNumber(b, p, size)) return stop;
  groups.set(p, stop);
  findInGroups(b, 0);
  return stop;
}

/** No detector finds a longer number without separators. */
const MAX_DIGITS = 20;

/**
 * Whether a number of this size cannot be a card or national number by its digits, and neither a sign, a word nor the
 * key before it says that it is sensitive.
 */
export function isPlainNumber(b: Uint8Array, p: number, size: number): boolean {
  if (mayBeSimCard(b, p, size)) return false;
  if (
    (matches.hints & NUMBER_HINTS) !== 0 ||
    matches.hints >= 1 << HINT_LABEL_SHIFT ||
    b[p - 1] === PLUS ||
    mayBeCard(b, p, size)
  )
    return false;
  return !mayBeNationalId(b[p]!, size) && !followsLabel(b, p) && !mayFollowLabel(b, p);
}

const NUMBER_HINTS = HINT_PHONE | HINT_SSN | HINT_NATIONAL_ID;

/** Searches pairs of digits: a hardware address, or 12 34 56 with letters around it. */
function findPairs(b: Uint8Array, p: number): number {
  const sign = b[p + 2];
  const isDashed = sign === DASH && b[p + 5] === DASH;
  const isDotted = b[p + 4] === DOT && b[p + 9] === DOT;
  const isSpaced = sign === BLANK && b[p + 5] === BLANK && b[p - 1] === BLANK;
  if (!isDashed && !isDotted && !isSpaced) return RULED_OUT;
  if (isDashed && matches.isEnabled(MAC)) return findMac(b, p + 2);
  if (isDotted && matches.isEnabled(MAC)) return findMac(b, p + 4);
  return isSpaced && matches.isEnabled(NATIONAL_ID) && isEnabled("gb") ? findSpacedNino(b, p) : NOT_FOUND;
}

/**
 * Returns the position where the digits end if there are too few of them for any detector, as in most numbers, and
 * otherwise 0. It reads only as far as that takes; the scan reads the rest again from the next digit on.
 */
function endIfTooShort(b: Uint8Array, p: number, end: number): number {
  let digits = 0;
  let dots = 0;
  let stop = p;
  for (; p < end; p++) {
    const c = b[p]!;
    const bits = CHARACTER_BITS[c]!;
    if ((bits & DIGIT) !== 0) {
      if (++digits === 8) return 0;
      stop = p + 1;
    } else if ((bits & SEPARATOR) === 0) break;
    else if (c === DOT && ++dots === 3) return 0;
  }
  return stop;
}

/** Searches the groups from `i` on, and returns the group to continue with. */
export function findInGroups(b: Uint8Array, i: number): number {
  let next = 0;
  if (i + 4 <= groups.count && matches.isEnabled(IPV4)) next = findIpv4(b, i);
  if (next !== 0) return next;
  if (groups.isAttachedBefore(b, i, matches.floor)) return i + 1;
  if (mayBeSimCard(b, groups.starts[i]!, groups.size(i)) && matches.isEnabled(DEVICE_ID)) {
    if (findSimCard(b, groups.starts[i]!, groups.ends[i]!) >= 0) return i + 1;
  }
  if (matches.isEnabled(PAYMENT_CARD)) next = findPaymentCard(b, i);
  if (next === 0 && matches.isEnabled(SSN)) next = findSsn(b, i);
  if (next === 0 && matches.isEnabled(NATIONAL_ID)) next = findNationalId(b, i);
  if (next === 0 && matches.isEnabled(PHONE)) next = findPhone(b, i);
  return next === 0 ? i + 1 : next;
}
