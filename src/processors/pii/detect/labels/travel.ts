import { SLASH } from "../text/ascii.js";
import { latin1 } from "../text/characters.js";
import { DATE_OF_BIRTH, PASSPORT } from "../text/detectors.js";
import { FORM, LABEL, SIGN } from "../text/evidence.js";
import { matches, NOT_FOUND, RULED_OUT } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";

/** The passport in a message of an airline: `DOCS/P/GBR/545334927/GBR/12MAR84/F`, up to its number. */
const DOCUMENT_BEFORE = /DOC[SO]?\b[^\n]{0,16}\/P\/[A-Z]{3}\/[A-Z]{0,3}$/;
const NUMBER = /^[A-Z\d]{6,10}(?=[/ ]|$)/;
const BIRTH = /^\/[A-Z]{3}\/(\d{2}(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)\d{2})(?=\/)/;
const MAX_BEFORE = 32;
const MAX_NUMBER = 24;

/** Finds the passport number whose first digit is at `p`, and the date of birth behind it. */
export function findTravelDocument(b: Uint8Array, p: number): number {
  const start = startAfterSlash(b, p);
  if (start < 0 || !matches.isEnabled(PASSPORT)) return RULED_OUT;
  work.spent += 2 * TEXT_COST;
  if (!DOCUMENT_BEFORE.test(latin1(b, Math.max(matches.lastEnd, start - MAX_BEFORE), start))) return NOT_FOUND;
  const text = latin1(b, start, Math.min(matches.end, start + MAX_NUMBER));
  const number = NUMBER.exec(text)?.[0];
  if (number === undefined) return NOT_FOUND;
  const found = matches.propose(PASSPORT, start, start + number.length, FORM | LABEL | SIGN);
  const birth = BIRTH.exec(text.slice(number.length));
  if (birth === null || found < 0 || !matches.isEnabled(DATE_OF_BIRTH)) return found;
  const at = start + number.length + "/GBR/".length;
  return matches.propose(DATE_OF_BIRTH, at, at + birth[1]!.length, FORM | LABEL | SIGN);
}

/** Returns the start of the number if a slash and a country stand before it, and otherwise -1. */
function startAfterSlash(b: Uint8Array, p: number): number {
  for (let start = p; start >= p - 3 && start >= matches.lastEnd; start--)
    if (b[start - 1] === SLASH) return b[start - 5] === SLASH && b[start - 7] === SLASH ? start : -1;
  return -1;
}
