import { looksSecret, proposeSecret } from "../secrets/assigned-secret.js";
import { assigned } from "../secrets/assigned-value.js";
import { CHARACTER_BITS, DIGIT, hasTextAt, isAt, LETTER, latin1, runEnd } from "../text/characters.js";
import { ASSIGNED_SECRET } from "../text/detectors.js";
import { COMMON_FORM, FORM, LABEL, SIGN } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { columnLabel, mayBeInColumn } from "./columns.js";
import { AUTHORIZATION_LABEL, BIRTH_LABEL, NO_LABEL, PASSWORD_LABEL, SECRET_LABEL } from "./label-words.js";
import { findLabelledValue } from "./labelled-value.js";
import { label, labelBefore, mayFollowLabel } from "./labels.js";

/** Bytes of a value before its first digit. */
const VALUE_BYTES = new Uint8Array(256);
for (let c = 33; c < 127; c++) VALUE_BYTES[c] = "\"'`=:,;()[]{}<>|#\\&".includes(String.fromCharCode(c)) ? 0 : 1;
/** Bytes before a value that does not follow `=` or `:`. Those signs are anchors of the scan themselves. */
const BEFORE_VALUE = new Uint8Array(256);
for (const c of " \t\n\"'`([#|>,;") BEFORE_VALUE[c.charCodeAt(0)] = 1;
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
  if (start <= matches.floor || BEFORE_VALUE[b[start - 1]!] === 0) return NOT_FOUND;
  if (triedStart === start && triedScan === matches.scan) return NOT_FOUND;
  const isInColumn = mayBeInColumn(b, start);
  if (!isInColumn && !mayFollowLabel(b, start)) return NOT_FOUND;
  triedScan = matches.scan;
  triedStart = start;
  let kind = isInColumn ? columnLabel(b, start) : NO_LABEL;
  const isColumn = kind !== NO_LABEL;
  if (isColumn) label.isQuoted = QUOTES[b[start - 1]!] === 1;
  else kind = labelBefore(b, start, matches.lastEnd);
  if (kind === NO_LABEL) return NOT_FOUND;
  if (isColumn) label.monthAt = -1;
  const evidence = LABEL | (label.hasSign || label.isQuoted || isColumn ? SIGN : 0);
  if (kind >= BIRTH_LABEL) return findLabelledValue(b, kind, label.monthAt < 0 ? start : label.monthAt, evidence);
  if (label.monthAt >= 0 || !matches.isEnabled(ASSIGNED_SECRET)) return NOT_FOUND;
  assigned.read(b, label.isQuoted ? start - 1 : start);
  if (kind === PASSWORD_LABEL) return isPassword(b) ? proposeSecret(b, kind, evidence, false) : NOT_FOUND;
  if (kind !== SECRET_LABEL && kind !== AUTHORIZATION_LABEL) return NOT_FOUND;
  assigned.cut(b, true);
  if (hasTextAt(b, label.start, matches.end, "AUTH ")) return proposeSecret(b, PASSWORD_LABEL, evidence | FORM, false); // Redis
  return isToken(b) ? proposeSecret(b, kind, evidence | COMMON_FORM, false) : NOT_FOUND;
}

/** Returns the start of the value around the digit at `p`. */
function valueStart(b: Uint8Array, p: number): number {
  const floor = Math.max(matches.lastEnd, p - MAX_BACK);
  let start = p;
  while (start > floor) {
    const c = b[start - 1]!;
    if (VALUE_BYTES[c] === 1) start--;
    else if (c > 127 && start - 2 >= floor && b[start - 2]! >= 0xc3 && b[start - 2]! < 0xe0) start -= 2;
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
  for (let p = start; p < stop; p++)
    if ((CHARACTER_BITS[b[p]!]! & LETTER) !== 0 || b[p]! > 127) return !isUnit(b, start, stop);
  const size = runEnd(b, start, stop, DIGIT) - start;
  return size === stop - start && size >= (label.hasLink ? 4 : 6);
}

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
  if (/^[\da-f]{8}-[\da-f]{4}-/i.test(text)) return hasTextAt(b, start - 6, start, "token ");
  return /[a-z]/i.test(text) && !/^[a-z]+(?:[-_./][a-z\d]{1,8}){2,}$|^\w+\.\w+\.\w+\(|^https?:|^\//i.test(text);
}
