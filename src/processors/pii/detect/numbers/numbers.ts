import { findAfterLabel } from "../labels/after-label.js";
import { mayFollowLabel } from "../labels/labels.js";
import { findTravelDocument } from "../labels/travel.js";
import { BLANK, DASH, DOT, PLUS } from "../text/ascii.js";
import { CHARACTER_BITS, DIGIT, isAt, isBefore, LETTER, runEnd, SEPARATOR, WORD } from "../text/characters.js";
import {
  ASSIGNED_SECRET,
  DEVICE_ID,
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
import { matches, NOT_FOUND } from "../text/matches.js";
import { work } from "../text/work.js";
import { findSimCard, mayBeSimCard } from "./device-numbers.js";
import { groups } from "./digit-groups.js";
import { findIpv4, findPlainIpv4 } from "./ipv4.js";
import { findMac } from "./mac.js";
import { findSpacedNino } from "./national/lettered-ids.js";
import { findNationalId, isEnabled, mayBeNationalId } from "./national/national-ids.js";
import { findPaymentCard, mayBeCard } from "./payment-card.js";
import { findPhone } from "./phone.js";
import { findNamedCode, findNmea, findPosition } from "./positions.js";
import { findSsn } from "./ssn.js";

/** Work units that the detectors spend on each group of digits. */
const GROUP_COST = 50;

/** Searches a word whose first digit is at `p`, and returns the position where the scan continues. */
export type FindInWord = (b: Uint8Array, p: number) => number;

/**
 * Finds everything that consists of digits, starting with the digit at `p`. Returns the position where the scan
 * continues.
 */
export function findNumbers(b: Uint8Array, p: number, findInWord: FindInWord): number {
  const { floor, end } = matches;
  const labelled = findAfterLabel(b, p);
  if (labelled !== NOT_FOUND) return labelled;
  const document = findTravelDocument(b, p);
  if (document !== NOT_FOUND) return document;
  if (isBefore(b, p, floor, WORD)) return findInWord(b, p);
  const digitsEnd = runEnd(b, p + 1, end, DIGIT);
  const named = findNamedBehind(b, p, digitsEnd);
  if (named !== NOT_FOUND) return named;
  if (!isAt(b, digitsEnd, end, SEPARATOR | WORD)) return findInNumber(b, p, digitsEnd);
  // IP addresses are checked first: they are the most common match, and an address is never one of the other kinds.
  if (b[digitsEnd] === DOT && hasSecondDot(b, digitsEnd) && matches.isEnabled(IPV4)) {
    const address = findPlainIpv4(b, p);
    if (address !== NOT_FOUND) return address;
  }
  if (isAt(b, p + 1, end, DIGIT)) {
    const found = findPairs(b, p);
    if (found !== NOT_FOUND) return found;
  }
  const stop = endIfTooShort(b, p, end);
  if (stop > 0) return isAt(b, stop, end, LETTER) ? findInWord(b, p) : stop; // 7c9f
  groups.read(b, p, end);
  work.spent += GROUP_COST * groups.count;
  if (groups.digits < 8 && groups.count < 4) return groups.wordAt < 0 ? groups.resumeAt : findInWord(b, groups.wordAt);
  for (let i = 0; i < groups.count; ) i = findInGroups(b, i);
  if (groups.wordAt < matches.lastEnd) return Math.max(groups.resumeAt, matches.lastEnd);
  return findInWord(b, groups.wordAt);
}

/** Finds positions and one-time codes, which have their names behind them, or none. */
function findNamedBehind(b: Uint8Array, p: number, stop: number): number {
  if (stop - p <= 3) return matches.isEnabled(GEO_LOCATION) ? findPosition(b, p, stop) : NOT_FOUND;
  const position = b[stop] === DOT && matches.isEnabled(GEO_LOCATION) ? findNmea(b, p, stop) : NOT_FOUND;
  return position === NOT_FOUND && matches.isEnabled(ASSIGNED_SECRET) ? findNamedCode(b, p, stop) : position;
}

/** Whether the second number of an IP address ends shortly after the dot at `p`. */
function hasSecondDot(b: Uint8Array, p: number): boolean {
  return b[p + 2] === DOT || b[p + 3] === DOT || b[p + 4] === DOT;
}

/** Searches a number without separators that nothing is attached to. Most such numbers are ids and times. */
function findInNumber(b: Uint8Array, p: number, stop: number): number {
  const size = stop - p;
  if (size < 8 || size > MAX_DIGITS) return stop;
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
  if (sign === DASH && b[p + 5] === DASH && matches.isEnabled(MAC)) return findMac(b, p + 2);
  if (b[p + 4] === DOT && b[p + 9] === DOT && matches.isEnabled(MAC)) return findMac(b, p + 4);
  const isSpaced = sign === BLANK && b[p + 5] === BLANK && b[p - 1] === BLANK;
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
    if (findSimCard(b, groups.starts[i]!, groups.ends[i]!) !== NOT_FOUND) return i + 1;
  }
  if (matches.isEnabled(PAYMENT_CARD)) next = findPaymentCard(b, i);
  if (next === 0 && matches.isEnabled(SSN)) next = findSsn(b, i);
  if (next === 0 && matches.isEnabled(NATIONAL_ID)) next = findNationalId(b, i);
  if (next === 0 && matches.isEnabled(PHONE)) next = findPhone(b, i);
  return next === 0 ? i + 1 : next;
}
