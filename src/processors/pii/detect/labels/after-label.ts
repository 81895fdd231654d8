import { findSentCode, findSomeKey, looksSecret, proposeSecret } from "../secrets/assigned-secret.js";
import { assigned } from "../secrets/assigned-value.js";
import {
  ALNUM,
  CHARACTER_BITS,
  DIGIT,
  hasTextAt,
  isAt,
  LETTER,
  latin1,
  openingMarkSize,
  runEnd,
} from "../text/characters.js";
import { ASSIGNED_SECRET, PAYMENT_CARD } from "../text/detectors.js";
import { COMMON_FORM, FORM, LABEL, PLACE, SIGN } from "../text/evidence.js";
import { matches, NOT_FOUND, RULED_OUT } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { columnLabel, mayBeInColumn } from "./columns.js";
import {
  AUTHORIZATION_LABEL,
  BIRTH_LABEL,
  CODE_WORD_LABEL,
  DEVICE_LABEL,
  HEALTH_LABEL,
  LICENCE_LABEL,
  NATIONAL_LABEL,
  NO_LABEL,
  OTHER_LABEL,
  PASSPORT_LABEL,
  PASSWORD_LABEL,
  SECRET_LABEL,
  SOME_KEY_LABEL,
} from "./label-words.js";
import { findLabelledValue } from "./labelled-value.js";
import { label, labelBefore, mayFollowLabel } from "./labels.js";
import { findOperand } from "./operands.js";
import { findInSegment, findIssued, findSuccessor, findZone } from "./segments.js";
import { findInSentence } from "./sentence.js";

/** Bytes of a value before its first digit. */
const VALUE_BYTES = new Uint8Array(256);
for (let c = 33; c < 127; c++) VALUE_BYTES[c] = "\"'`=:,;()[]{}<>|#\\&".includes(String.fromCharCode(c)) ? 0 : 1;
/** The kind of those that separate elements of a message as well. */
const IN_MESSAGE = 2;
for (const c of "*+~") VALUE_BYTES[c.charCodeAt(0)] = IN_MESSAGE;
/** Bytes before a value that does not follow `=` or `:`. Those signs are anchors of the scan themselves. */
const BEFORE_VALUE = new Uint8Array(256);
for (const c of " \t\n\"'`([#|<>,;~") BEFORE_VALUE[c.charCodeAt(0)] = 1;
for (let c = 128; c < 256; c++) BEFORE_VALUE[c] = 1;

const QUOTES = new Uint8Array(256);
for (const c of "\"'`") QUOTES[c.charCodeAt(0)] = 1;

/** Work units of looking for the start of a value. */
const VALUE_COST = 10;
const MAX_BACK = 48;
let triedScan = -1;
let triedStart = -1;

/**
 * Finds a value whose first digit is at `p` and that a label before it announces without `=` or `:`: `passport C01X00T47`,
 * `DOB 07/04/1999`, `password is hunter2`. Each value is tried once.
 */
export function findAfterLabel(b: Uint8Array, p: number): number {
  const start = valueStart(b, p);
  let answer = RULED_OUT;
  if (elementAt > start || (b[start - 1] === 58 && b[start - 5] === 43)) {
    answer = findInElementOfSegment(b, start);
    if (answer >= 0) return answer;
  }
  if (b[p - 1] === 45 || b[p - 1] === 95) answer = Math.max(answer, findGlued(b, p));
  if (answer >= 0) return answer;
  if (start <= matches.floor) return Math.max(answer, start === p ? findIssued(b, start) : findAtFloor(b, start, p));
  if (IN_PASSWORD[b[start - 1]!] === 1) answer = Math.max(NOT_FOUND, findSpecialPassword(b, start));
  if (answer >= 0 || BEFORE_VALUE[b[start - 1]!] === 0) return answer;
  if (triedStart === start && triedScan === matches.scan) return answer;
  return Math.max(answer, findAnnounced(b, start, p));
}

/** Finds a value that begins where the text does, with a letter. */
function findAtFloor(b: Uint8Array, start: number, p: number): number {
  if ((CHARACTER_BITS[b[start]!]! & DIGIT) === 0) return RULED_OUT;
  return b[start] === b[p] ? findIssued(b, start) : NOT_FOUND;
}

/** Finds the value at `start` that a label, a column or a sentence announces. */
function findAnnounced(b: Uint8Array, start: number, p: number): number {
  const code = findCardCode(b, p);
  if (code >= 0) return code;
  const isInColumn = mayBeInColumn(b, start);
  triedScan = matches.scan;
  triedStart = start;
  if (!isInColumn && !mayFollowLabel(b, start)) {
    const sentence = mayEndSentence(b, start) ? findInSentence(b, start) : RULED_OUT;
    return sentence < 0 ? Math.max(sentence, findUnlabelled(b, start)) : sentence;
  }
  const found = findLabelled(b, start, isInColumn);
  return isInColumn ? Math.max(NOT_FOUND, found) : found;
}

function findLabelled(b: Uint8Array, start: number, isInColumn: boolean): number {
  let kind = isInColumn ? columnLabel(b, start) : NO_LABEL;
  const isColumn = kind !== NO_LABEL;
  if (isColumn) label.isQuoted = QUOTES[b[start - 1]!] === 1;
  else kind = labelBefore(b, start, matches.lastEnd);
  if (kind === NO_LABEL) {
    const sentence = findInSentence(b, start);
    return sentence < 0 ? Math.max(sentence, findUnlabelled(b, start)) : sentence;
  }
  if (kind === OTHER_LABEL) return RULED_OUT;
  return Math.max(NOT_FOUND, findOfKind(b, start, kind, isColumn));
}

/** Finds the value at `start` behind a label of this kind. */
function findOfKind(b: Uint8Array, start: number, kind: number, isColumn: boolean): number {
  if (kind === CODE_WORD_LABEL) return findSentCode(b, start);
  if (isColumn) label.monthAt = -1;
  const evidence = LABEL | (label.hasSign || label.isQuoted || isColumn ? SIGN : 0);
  if (kind === SOME_KEY_LABEL) return findSomeKey(b, start);
  if (kind >= BIRTH_LABEL) return findLabelledValue(b, kind, labelledStart(kind, start), evidence);
  if (label.monthAt >= 0 || !matches.isEnabled(ASSIGNED_SECRET)) return NOT_FOUND;
  assigned.read(b, label.isQuoted ? quoteBefore(b, start) : start);
  if (kind === PASSWORD_LABEL) return isPassword(b) ? proposeSecret(b, kind, evidence, false) : NOT_FOUND;
  if (kind !== SECRET_LABEL && kind !== AUTHORIZATION_LABEL) return NOT_FOUND;
  assigned.cut(b, true);
  if (hasTextAt(b, label.start, matches.end, "AUTH ") || isRouterSecret(b, start))
    return proposeSecret(b, PASSWORD_LABEL, evidence | FORM, false); // Redis, and the config of a router
  return isToken(b) ? proposeSecret(b, kind, evidence | COMMON_FORM, false) : NOT_FOUND;
}

/** The start of the value, with the name of a month or the letters of a national number: `SR 61 33 22 D`. */
function labelledStart(kind: number, start: number): number {
  if (label.monthAt >= 0) return label.monthAt;
  return (kind === NATIONAL_LABEL || kind === HEALTH_LABEL) && label.codeAt >= 0 ? label.codeAt : start;
}

const MIN_GLUED_DIGITS = 6;
const MIN_DEVICE_DIGITS = 14;

/** Finds the number behind a dash and its label: `imsi-262018489357340`, `MRN-5526827`. */
function findGlued(b: Uint8Array, p: number): number {
  const digits = runEnd(b, p, matches.end, DIGIT) - p;
  if (digits < MIN_GLUED_DIGITS || !mayFollowLabel(b, p)) return RULED_OUT;
  const kind = labelBefore(b, p, matches.lastEnd);
  if (kind === DEVICE_LABEL ? digits < MIN_DEVICE_DIGITS : !GLUED.has(kind)) return RULED_OUT;
  return findLabelledValue(b, kind, kind === HEALTH_LABEL ? label.start : p, LABEL | SIGN);
}

const GLUED = new Set([HEALTH_LABEL, NATIONAL_LABEL, PASSPORT_LABEL, LICENCE_LABEL]);

/** Finds a value that something else than a label announces: a command, the format of a message, another value. */
function findUnlabelled(b: Uint8Array, start: number): number {
  const birth = followsGender(b, start)
    ? Math.max(NOT_FOUND, findLabelledValue(b, BIRTH_LABEL, start, LABEL | PLACE))
    : RULED_OUT;
  if (birth >= 0) return birth;
  const isApart = b[start - 1] === 124 || b[start - 1] === 126 || b[start - 1] === 32;
  const issued = isApart ? findIssued(b, start) : RULED_OUT;
  if (issued >= 0) return issued;
  const successor = findSuccessor(b, start);
  const answer = Math.max(birth, issued, successor);
  if (successor >= 0 || !hasLetter(b, start)) return answer;
  const zone = findZone(b, start);
  if (zone >= 0 || b[start - 1] === 124) return Math.max(answer, zone);
  return Math.max(answer, zone, findOperand(b, start));
}

/** Whether the column before that of the value at `start` holds a gender, as in `"M";"19.08.1973"`. */
function followsGender(b: Uint8Array, start: number): boolean {
  let p = start - 1;
  const isQuoted = QUOTES[b[p]!] === 1;
  if (isQuoted) p--;
  const delimiter = b[p]!;
  if ((delimiter !== 59 && delimiter !== 44 && delimiter !== 124) || !isAt(b, start, matches.end, DIGIT)) return false;
  if (QUOTES[b[p - 1]!] === 1) p--;
  const c = b[p - 1]!;
  if ((c !== 77 && c !== 70 && c !== 87) || p - 2 < matches.lastEnd) return false; // M, F, W
  const before = b[p - 2]!;
  return before === delimiter || (QUOTES[before] === 1 && b[p - 3] === delimiter);
}

/** Whether the value at `start` begins with a letter, or has one after its first digits. */
function hasLetter(b: Uint8Array, start: number): boolean {
  return (
    (CHARACTER_BITS[b[start]!]! & LETTER) !== 0 || isAt(b, runEnd(b, start, matches.end, DIGIT), matches.end, LETTER)
  );
}

const CODE_AFTER_CARD =
  /^[^\n\d]{0,24}?[ ,;|/()-](?:cid|cvd|csc|cv[cv]2?|code|security code|pr\xc3\xbcfziffer|pruefziffer|kod|c\xc3\xb3digo|codice|crypto)[ :#=]{1,3}$/i;
const MAX_AFTER_CARD = 48;

/** Finds the code of a card that was found shortly before the digit at `p`. */
function findCardCode(b: Uint8Array, p: number): number {
  const { count, detectors, lastEnd } = matches;
  if (count === 0 || p - lastEnd > MAX_AFTER_CARD || detectors[count - 1] !== PAYMENT_CARD) return RULED_OUT;
  const stop = runEnd(b, p, matches.end, DIGIT);
  if (stop - p < 3 || stop - p > 4 || isAt(b, stop, matches.end, LETTER)) return NOT_FOUND;
  work.spent += TEXT_COST;
  const isCode = CODE_AFTER_CARD.test(latin1(b, lastEnd, p)) && matches.isEnabled(ASSIGNED_SECRET);
  return isCode ? matches.propose(ASSIGNED_SECRET, p, stop, COMMON_FORM | LABEL | PLACE) : NOT_FOUND;
}

/**
 * Finds the value of the element around the digit that `valueStart` was called for, in a message whose elements signs
 * separate.
 */
function findInElementOfSegment(b: Uint8Array, start: number): number {
  const segment = segmentStart(b, start);
  if (segment === 0) return NOT_FOUND;
  return Math.max(NOT_FOUND, b[segment - 1] === 126 ? findIssued(b, segment) : findInSegment(b, segment));
}

/** Returns the start of the element around that digit, or 0. The value begins at `start`. */
function segmentStart(b: Uint8Array, start: number): number {
  if (b[start - 1] === 58 && b[start - 5] === 43 && b[start - 2] === 57) return start; // DTM+329:
  if (elementAt <= start) return 0;
  const c = b[elementAt - 1]!;
  const isElement =
    c === 126 || (c === 42 ? b[elementAt - 4] === 42 || b[elementAt - 2] === 56 : isDocument(b, elementAt));
  return isElement ? elementAt : 0;
}

/** Whether the part of a segment that ends with the `+` before `p` may be `DOC+P:110:111`. */
function isDocument(b: Uint8Array, p: number): boolean {
  return b[p - 2] === 80 || b[p - 5] === 58;
}

/** The position after the last sign before the digit that separates elements of a message, or 0. */
let elementAt = 0;

/** Returns the start of the value around the digit at `p`, and sets `elementAt`. */
function valueStart(b: Uint8Array, p: number): number {
  const floor = Math.max(matches.lastEnd, p - MAX_BACK);
  let start = p;
  elementAt = 0;
  while (start > floor) {
    const c = b[start - 1]!;
    const kind = VALUE_BYTES[c]!;
    if (kind !== 0) {
      if (kind === IN_MESSAGE && elementAt === 0) elementAt = start;
      start--;
    } else if (c > 127 && start - 2 >= floor && b[start - 2]! >= 0xc3 && b[start - 2]! < 0xe0) start -= 2;
    else break;
  }
  work.spent += VALUE_COST + p - start;
  return start;
}

/**
 * Whether the value that was read last can be a password after a space: it has a letter, or is a number that is neither
 * a date nor a count.
 */
function isPassword(b: Uint8Array): boolean {
  const { start, stop, isQuoted } = assigned;
  if (isQuoted) return true;
  const size = runEnd(b, start, stop, DIGIT) - start;
  if (size > 0 && b[start + size]! > 127 && start + size < stop) return false; // 8文字: a quantity
  for (let p = start; p < stop; p++)
    if ((CHARACTER_BITS[b[p]!]! & LETTER) !== 0 || b[p]! > 127) return !isUnit(b, start, stop);
  return size === stop - start && size >= (label.hasLink || isRejected(b, stop) ? 4 : 6);
}

/** Whether a verb says that a short number was tried as a password. */
function isRejected(b: Uint8Array, p: number): boolean {
  work.spent += TEXT_COST;
  return /^["']? (?:was )?(?:rejected|refused|accepted|wrong|invalid|incorrect|failed|tried)\b/i.test(
    latin1(b, p, Math.min(matches.end, p + 24)),
  );
}

/** Returns the position of the quotes before the value at `start`. */
function quoteBefore(b: Uint8Array, start: number): number {
  if (QUOTES[b[start - 1]!] === 1) return start - 1;
  const space = b[start - 1] === 32 ? 1 : b[start - 1] === 0xa0 ? 2 : 0;
  return start - space - openingMarkSize(b, start - space, matches.floor);
}

/** Whether the value at `start` may be what a sentence is about: in quotes behind a word, or after a colon, a slash or >. */
function mayEndSentence(b: Uint8Array, start: number): boolean {
  if (b[start - 1] === 62) return true;
  if (QUOTES[b[start - 1]!] === 1) return b[start - 2] === 32 || b[start - 2] === 44;
  return b[start - 1] === 32 && (b[start - 2] === 58 || b[start - 2] === 47);
}

/** Whether the config of a router sets the value: `enable secret 0 x`, `username y privilege 15 secret 0 x`. */
function isRouterSecret(b: Uint8Array, start: number): boolean {
  work.spent += TEXT_COST;
  const before = latin1(b, Math.max(matches.lastEnd, start - MAX_ROUTER_LINE), start);
  // At most 64 characters.
  return /(?:^|\s)(?:enable|username \S+(?: privilege \d+)?) (?:secret|password) (?:\d )?$/.test(before);
}

const MAX_ROUTER_LINE = 64;

/** Signs that passwords contain and other values do not. */
const IN_PASSWORD = new Uint8Array(256);
for (const c of "#&<>()[]{},;|") IN_PASSWORD[c.charCodeAt(0)] = 1;

/** Finds a password with such a sign before the part that begins at `p`: `Winter#22`. */
function findSpecialPassword(b: Uint8Array, p: number): number {
  const floor = Math.max(matches.lastEnd, p - MAX_BACK);
  let start = p;
  while (start > floor && b[start - 1]! > 32 && BETWEEN_VALUES[b[start - 1]!] === 0) start--;
  work.spent += p - start;
  if (start === p || start === floor || !isAt(b, start, p, ALNUM)) return NOT_FOUND;
  if (!mayFollowLabel(b, start)) return QUOTES[b[start - 1]!] === 1 ? findInSentence(b, start) : NOT_FOUND;
  if (!matches.isEnabled(ASSIGNED_SECRET)) return NOT_FOUND;
  if (labelBefore(b, start, matches.lastEnd) !== PASSWORD_LABEL) return NOT_FOUND;
  assigned.read(b, label.isQuoted ? quoteBefore(b, start) : start);
  return proposeSecret(b, PASSWORD_LABEL, LABEL | (label.hasSign || label.isQuoted ? SIGN : 0), false);
}

/** Signs and quotes between a label and a value. */
const BETWEEN_VALUES = new Uint8Array(256);
for (const c of "\"'`=:") BETWEEN_VALUES[c.charCodeAt(0)] = 1;

/** Whether the value is a quantity such as `12ms` or `8h`, a time or a version. */
function isUnit(b: Uint8Array, start: number, stop: number): boolean {
  if (!isAt(b, start, stop, DIGIT) && stop - start > 4) return false;
  work.spent += TEXT_COST;
  return /^(?:\d[\d.,]*(?:[a-z]{1,2}|min|sec|days?|chars?)|v\d[\d.]*|\d{4}-\d\d-\d\dT[\d:.]+Z?)$/i.test(
    latin1(b, start, stop),
  );
}

const MIN_TOKEN = 16;

/** Whether the value that was read last can be a token after a space: long, with letters and digits, and no UUID. */
function isToken(b: Uint8Array): boolean {
  const { start, stop } = assigned;
  if (stop - start < MIN_TOKEN || !looksSecret(b, start, stop)) return false;
  work.spent += TEXT_COST;
  const text = latin1(b, start, Math.min(stop, start + 64));
  if (/^[\da-f]{8}-[\da-f]{4}-/i.test(text)) {
    const end = QUOTES[b[start - 1]!] === 1 ? start - 1 : start;
    return hasTextAt(b, end - 6, end, "token ");
  }
  return /[a-z]/i.test(text) && !/^[a-z]+(?:[-_./][a-z\d]{1,8}){2,}$|^\w+\.\w+\.\w+\(|^https?:|^\//i.test(text);
}
